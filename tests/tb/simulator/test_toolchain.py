"""The toolchain module: cache, errors on one line, and a watchdog that leaves no process behind."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from recspeed.tb.simulator import installation, runner, toolchain
from recspeed.tb.simulator.toolchain import Design, SimulationTimeoutError, ToolchainError

TINY = """
module tiny (input wire clk, output reg [31:0] count = 0, output wire never);
    assign never = 1'b0;
    always @(posedge clk) count <= count + 1;
endmodule
"""
MODULE = "support.cocotb_tiny"
WATCHDOG_SECONDS = 6


def source_of(folder: Path, text: str, name: str = "tiny") -> Path:
    path = folder / f"{name}.v"
    path.write_text(text)
    return path


@pytest.fixture
def tiny(tmp_path):
    return toolchain.build("tiny", Design([source_of(tmp_path, TINY)]))


def refusal(call, *arguments, **named) -> str:
    """The message of the ToolchainError that a call raises: one line."""
    with pytest.raises(ToolchainError) as caught:
        call(*arguments, **named)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_simulation_that_passes(tiny, tmp_path):
    toolchain.simulate(
        tiny,
        MODULE,
        folder=tmp_path / "run",
        test_case="counts",
        environment={"RECSPEED_SAY": "heard"},
    )
    assert (tmp_path / "run" / "said").read_text() == "heard"
    assert (tmp_path / "run" / "results.xml").exists()
    assert not (tmp_path / "run" / "dump.vcd").exists()


def test_a_build_is_made_once_and_known_by_its_content(tiny, tmp_path):
    program = tiny.folder / "tiny"
    made = program.stat().st_mtime_ns
    assert toolchain.build("tiny", Design([source_of(tmp_path, TINY)])) == tiny
    assert program.stat().st_mtime_ns == made
    key = tiny.folder.name

    def other_key(text=TINY, arguments=(), waves=False):
        return toolchain.content_key("tiny", Design([source_of(tmp_path, text)]), arguments, waves)

    assert other_key() == key
    keys = {key, other_key(TINY + "\n"), other_key(arguments=["-DX"]), other_key(waves=True)}
    assert len(keys) == 4


def test_a_build_that_fails_leaves_no_program(tmp_path):
    broken = source_of(
        tmp_path, "module broken (input clk);\n  assign nothing = ;\nendmodule\n", "broken"
    )
    said = refusal(toolchain.build, "broken", Design([broken]))
    assert said.startswith("building broken: 'verilator' ended with exit code 1: ")
    assert "rror" in said
    log = Path(said.split("(full log: ")[1].removesuffix(")"))
    assert "syntax error" in log.read_text()
    assert not list(toolchain.cache_folder().glob("broken-*/broken"))
    assert not list(toolchain.cache_folder().glob(".broken-*"))


def test_a_cocotb_test_that_fails(tiny, tmp_path):
    said = refusal(toolchain.simulate, tiny, MODULE, folder=tmp_path, test_case="fails")
    assert said.startswith("simulating tiny: fails: ")
    assert "the count is 0 and that is wrong" in said
    assert said.endswith(f"(full log: {tmp_path / 'simulation.log'})")


def test_a_simulator_that_dies(tiny, tmp_path):
    said = refusal(toolchain.simulate, tiny, MODULE, folder=tmp_path, test_case="dies")
    assert said.startswith("simulating tiny: 'tiny' ended with exit code 3: ")


def test_a_test_that_does_not_exist(tiny, tmp_path):
    said = refusal(toolchain.simulate, tiny, MODULE, folder=tmp_path, test_case="absent")
    assert said.startswith("simulating tiny: ")


def test_old_results_do_not_pass_for_new_ones(tiny, tmp_path):
    toolchain.simulate(tiny, MODULE, folder=tmp_path, test_case="counts")
    refusal(toolchain.simulate, tiny, MODULE, folder=tmp_path, test_case="dies")
    assert not (tmp_path / "results.xml").exists()


def alive(pid: int) -> bool:
    """Whether a process runs: one that is dead but not yet waited for does not count."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.parametrize("case", ["never_ends", "hangs_in_python"])
def test_the_watchdog_ends_a_simulation_and_its_process(tiny, tmp_path, case):
    with pytest.raises(SimulationTimeoutError) as caught:
        toolchain.simulate(
            tiny, MODULE, folder=tmp_path, test_case=case, timeout_seconds=WATCHDOG_SECONDS
        )
    assert str(caught.value) == (
        f"simulating tiny: stopped by the watchdog after {WATCHDOG_SECONDS} s "
        f"(full log: {tmp_path / 'simulation.log'})"
    )
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


def test_a_process_is_ended_when_the_run_is_interrupted(tiny, tmp_path, monkeypatch):
    """Ctrl-C while waiting for the simulator: the interrupt goes on, the simulator does not."""
    real = runner.subprocess.Popen

    class Interrupted(real):
        def wait(self, timeout=None):
            if timeout is None:
                return super().wait()
            while not (tmp_path / "pid").exists():
                time.sleep(0.02)
            raise KeyboardInterrupt

    monkeypatch.setattr(runner.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        toolchain.simulate(tiny, MODULE, folder=tmp_path, test_case="never_ends")
    assert not alive(int((tmp_path / "pid").read_text() or os.getpid()))


@pytest.fixture
def fresh_search():
    """Verilator is searched for anew, in this test and after it."""
    installation.verilator.cache_clear()
    yield
    installation.verilator.cache_clear()


@pytest.mark.usefixtures("fresh_search")
def test_no_verilator_at_all(monkeypatch):
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    monkeypatch.setattr(installation.shutil, "which", lambda name: None)
    assert refusal(toolchain.verilator) == (
        "no usable Verilator: found none, expected 5.036 or newer from the `verilator` package "
        "or on PATH"
    )


@pytest.mark.usefixtures("fresh_search")
@pytest.mark.parametrize(
    ("answer", "usable"),
    [("5.006 2023-01-22", False), ("5.035", False), ("5.036 2025-04-27", True), ("6.001", True)],
)
def test_a_verilator_on_path(monkeypatch, tmp_path, answer, usable):
    program = tmp_path / "verilator"
    program.write_text(f"#!/bin/sh\necho 'Verilator {answer} rev v1'\n")
    program.chmod(0o755)
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if usable:
        assert toolchain.verilator().program_folder == tmp_path
        assert "VERILATOR_ROOT" not in toolchain.verilator_environment()
    else:
        said = refusal(toolchain.verilator)
        assert said.startswith(f"no usable Verilator: found {answer.split()[0]}, expected 5.036")


@pytest.mark.usefixtures("fresh_search")
def test_the_newer_of_two_is_used(monkeypatch, tmp_path):
    program = tmp_path / "verilator"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(
        installation, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "w" / "x.py"))
    )
    monkeypatch.setattr(installation, "version", lambda name: "5.48.0")
    for answer, folder in (("5.040", tmp_path / "w" / "bin"), ("5.050", tmp_path)):
        program.write_text(f"#!/bin/sh\necho 'Verilator {answer}'\n")
        program.chmod(0o755)
        installation.verilator.cache_clear()
        assert toolchain.verilator().program_folder == folder


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("RECSPEED_CACHE", str(tmp_path / "mine"))
    assert toolchain.cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("RECSPEED_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert toolchain.cache_folder() == tmp_path / "xdg" / "recspeed"
