"""One simulation of many runs: what is written before, read after, refused, and left behind."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.layouts import write_layouts
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome, read_plan, write_outcomes
from recspeed.tb.simulator.simulation import ChannelError, RunFormat, simulate_runs

LAYOUTS = {"numbers": {"value": (3, 5)}}


@pytest.fixture
def simulator(tmp_path):
    """A simulator that is never started."""
    folder = tmp_path / "simulator"
    folder.mkdir()
    write_layouts(folder, LAYOUTS)
    return toolchain.Simulator(folder, "none", waves=False)


def write(folder: Path, run: int, layouts) -> None:
    assert layouts == LAYOUTS
    (folder / "input").write_text(str(run))


def plan(run: int) -> PlannedRun:
    return PlannedRun([(7, run)], cycle_limit=100 + run, counter_sets=0)


def read(folder: Path, run: int, outcome: RunOutcome, layouts) -> tuple[int, str]:
    assert layouts == LAYOUTS
    return run, (folder / "output").read_text()


FORM = RunFormat(write, plan, read)


def simulate_as(monkeypatch, outcomes, error=None):
    """Let a simulation double every input, leave a waveform, and end with `outcomes`."""

    def simulate(_simulator, _module, *, folder, environment, timeout_seconds):
        assert environment == {"RECSPEED_RUNS": str(folder)}
        for number, planned in enumerate(read_plan(folder)):
            value = int((folder / str(number) / "input").read_text())
            assert planned == plan(value)
            (folder / str(number) / "output").write_text(str(2 * value))
        (folder / "dump.vcd").write_text("waveform")
        write_outcomes(folder, outcomes)
        if error is not None:
            raise error

    monkeypatch.setattr(toolchain, "simulate", simulate)


def outcome(violations=0, timed_out=False) -> RunOutcome:
    return RunOutcome([], violations, timed_out)


def test_every_run_has_its_result(simulator, monkeypatch):
    simulate_as(monkeypatch, [outcome()] * 3)
    seen = []
    results = simulate_runs(
        simulator, FORM, [5, 6, 7], on_result=lambda number, result: seen.append((number, result))
    )
    assert results == [(5, "10"), (6, "12"), (7, "14")]
    assert seen == list(enumerate(results))


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (outcome(timed_out=True), "the run was not done after 106 clocks: stopped by the watchdog"),
        (outcome(violations=2), "2 violations of the stream law"),
    ],
)
def test_a_bad_run_ends_it_and_those_before_it_are_kept(simulator, monkeypatch, last, message):
    simulate_as(monkeypatch, [outcome(), last])
    seen = []
    with pytest.raises(ChannelError) as caught:
        simulate_runs(
            simulator, FORM, [5, 6, 7], on_result=lambda _number, result: seen.append(result)
        )
    assert str(caught.value) == message
    assert seen == [(5, "10")]


@pytest.mark.parametrize("error", [None, toolchain.ToolchainError("broken"), KeyboardInterrupt()])
def test_the_waveform_is_kept_whatever_happens(simulator, monkeypatch, tmp_path, error):
    simulate_as(monkeypatch, [outcome()], error)
    path = tmp_path / "waves" / "run.vcd"
    raised = nullcontext() if error is None else pytest.raises(type(error))
    with raised:
        simulate_runs(simulator, FORM, [1], waves=path)
    assert path.read_text() == "waveform"


def test_no_folder_is_left(simulator, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    simulate_as(monkeypatch, [outcome()])
    simulate_runs(simulator, FORM, [1])
    assert not list(tmp_path.glob("recspeed-*"))
