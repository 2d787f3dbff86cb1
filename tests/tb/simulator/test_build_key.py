"""Builds of generated designs: found by sources and parameters, without generating anything."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import memory_preset
from recspeed.tb.cluster.simulation import channel_generator
from recspeed.tb.peers.library import parts
from recspeed.tb.simulator import sources, toolchain
from recspeed.tb.simulator.design import Design, Generator

PRESET = memory_preset("hbm2-2000")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of nothing: modules of a project of its own, that import each other."""
    files = {
        "top.py": "from recspeed.rtl.a import A\nimport recspeed.rtl.b\n",
        "a.py": "from recspeed.rtl.deep import (\n    inner,\n    Other,\n)\n",
        "b.py": "def f():\n    from recspeed.rtl.late import x\n",
        "late.py": "x = 1\n",
        "deep/__init__.py": "",
        "deep/inner.py": "import os\n",
        "apart.py": "from recspeed.rtl.a import A\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    package = type(sys)("recspeed.rtl")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setattr(sources, "import_module", lambda name: package)
    return tmp_path


ROOT = "recspeed.rtl.top"


def test_imports_are_followed(project):
    found = sources.imported_files([ROOT])
    assert {str(path.relative_to(project)) for path in found.values()} == {
        "top.py",
        "a.py",
        "b.py",
        "late.py",
        "deep/__init__.py",
        "deep/inner.py",
    }


@pytest.mark.parametrize("name", ["top.py", "a.py", "b.py", "late.py", "deep/inner.py"])
def test_a_changed_source_file_changes_the_digest(project, name):
    before = sources.digest_of([ROOT])
    assert sources.digest_of([ROOT]) == before
    text = (project / name).read_text()
    (project / name).write_text(text + "#\n")
    assert sources.digest_of([ROOT]) != before
    (project / name).write_text(text)
    assert sources.digest_of([ROOT]) == before


def test_a_file_that_nothing_imports_does_not(project):
    before = sources.digest_of([ROOT])
    (project / "apart.py").write_text("")
    assert sources.digest_of([ROOT]) == before


@pytest.mark.parametrize("package", sources.GENERATORS)
def test_another_version_of_a_generator_changes_the_digest(project, monkeypatch, package):
    before = sources.digest_of([ROOT])
    real = sources.version
    monkeypatch.setattr(sources, "version", lambda name: "0.0.1" if name == package else real(name))
    assert sources.digest_of([ROOT]) != before


def test_all_that_a_harness_generates_is_in_its_digest():
    """Imported modules of the hardware and its specification are among the files that count."""
    script = (
        "import sys, recspeed.tb.{0}.harness\n"
        "from recspeed.tb.simulator.sources import imported_files\n"
        "found = imported_files(['recspeed.tb.{0}.harness'])\n"
        "print(*(name for name, module in sys.modules.items() if name not in found\n"
        "        and name.startswith('recspeed.') and not hasattr(module, '__path__')))\n"
    )
    for block in ("cluster", "dram", "collective"):
        answer = subprocess.run(
            [sys.executable, "-c", script.format(block)], capture_output=True, text=True, check=True
        ).stdout.split()
        assert answer == ["recspeed.tb.simulator.sources"], block


def key(preset=PRESET, parameters=None, peers=("streams", "dram"), **named):
    generator = channel_generator(preset, parameters or ClusterParameters())
    return toolchain.generated_key("top", generator, parts(*peers), **named)


def test_the_key_knows_every_parameter(tmp_path):
    values = PRESET.model_dump()
    values["organization"]["rows"] //= 2
    values["capacity"]["pseudo_channel_mib"] //= 2
    changed = type(PRESET).model_validate(values)
    keys = [
        key(),
        key(changed),
        key(memory_preset("hbm2e-3000")),
        key(parameters=ClusterParameters(queue_depth=4)),
        key(peers=("streams",)),
        key(waves=True),
        key(arguments=("-DX",)),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == keys[0]


def test_a_changed_peer_changes_the_key(tmp_path):
    generator = channel_generator(PRESET, ClusterParameters())
    peer = tmp_path / "peer.cpp"
    peer.write_text("int x;\n")
    before = toolchain.generated_key("top", generator, [peer])
    peer.write_text("int y;\n")
    assert toolchain.generated_key("top", generator, [peer]) != before


VERILOG = "module made (input wire clk);\nendmodule\n"


def generator_of(calls, value=0):
    """A generator that counts how often it is asked."""

    def write(folder):
        calls.append(value)
        (folder / "made.v").write_text(VERILOG)
        return Design([folder / "made.v"], {"stream": {"field": (value, 1)}})

    return Generator("recspeed.tb.simulator.layouts", {"value": value}, write)


@pytest.fixture
def built(monkeypatch):
    """Programs are not compiled: a file takes their place."""

    def build(self, *, hdl_toplevel, build_dir, log_file, **_named):
        build_dir.mkdir(parents=True)
        (build_dir / hdl_toplevel).write_text("program")

    monkeypatch.setattr("recspeed.tb.simulator.runner.VerilatorRunner.build", build)
    monkeypatch.setattr("recspeed.tb.simulator.runtime.runtime_objects", lambda *_, **__: [])


@pytest.mark.usefixtures("built")
def test_nothing_is_generated_where_the_build_exists(tmp_path):
    calls = []
    first = toolchain.build_generated("made", generator_of(calls), [], cache=tmp_path)
    again = toolchain.build_generated("made", generator_of(calls), [], cache=tmp_path)
    assert (first, calls) == (again, [0])
    assert again.layouts == {"stream": {"field": (0, 1)}}
    other = toolchain.build_generated("made", generator_of(calls, 1), [], cache=tmp_path)
    assert (other.folder != first.folder, calls) == (True, [0, 1])
    assert other.layouts == {"stream": {"field": (1, 1)}}


@pytest.mark.usefixtures("built")
def test_those_who_want_a_build_at_once_make_it_once(tmp_path):
    calls = []
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(
                lambda _: toolchain.build_generated(
                    "made", generator_of(calls), [], cache=tmp_path
                ),
                range(16),
            )
        )
    assert len(set(made)) == 1
    assert calls == [0]


def test_two_processes_build_once(tmp_path):
    """A real build, Verilator's runtime included."""
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from recspeed.tb.simulator import toolchain\n"
        "from recspeed.tb.simulator.design import Design, Generator\n"
        "cache = Path(sys.argv[1])\n"
        "def write(folder):\n"
        "    with (cache / 'calls').open('a') as file: file.write('x')\n"
        f"    (folder / 'made.v').write_text({VERILOG!r})\n"
        "    return Design([folder / 'made.v'])\n"
        "generator = Generator('recspeed.tb.simulator.layouts', {}, write)\n"
        "print(toolchain.build_generated('made', generator, [], cache=cache).folder)\n"
    )
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=600)[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0] == answers[1]
    assert (tmp_path / "calls").read_text() == "x"
    assert len([path for path in tmp_path.glob("runtime-*") if path.is_dir()]) == 1
    assert len(list(tmp_path.glob("runtime-*/verilated.o"))) == 1
