"""One simulation of many runs on one harness: folders, the plan, the watchdog, the waveform."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.errors import ChannelError
from recspeed.tb.simulator.layouts import Layouts
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome, read_outcomes, write_plan

__all__ = ["SINK_RECORD", "ChannelError", "RunFormat", "check_outcome", "simulate_runs"]

COCOTB_MODULE = "recspeed.tb.simulator.cocotb_module"

SINK_RECORD = np.dtype([("cycle", "<i8"), ("item", "<u4", (16,))])
"""What a sink peer stores of one transfer."""

Run = TypeVar("Run")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RunFormat(Generic[Run, Result]):
    """How the runs of a block become folders of the peers (`tb/peers/session.cpp`), and results.

    Parameters
    ----------
    write
        Puts the inputs of a run into a folder, which exists and is empty.
    plan
        Registers and limit of a run.
    read
        Makes the result of a run of its folder and its outcome.
    """

    write: Callable[[Path, Run, Layouts], None]
    plan: Callable[[Run], PlannedRun]
    read: Callable[[Path, Run, RunOutcome, Layouts], Result]


@contextmanager
def _run_folder(waves: Path | None) -> Iterator[Path]:
    """A scratch folder for the runs of one simulation; its waveform, if any, moves to `waves`."""
    with tempfile.TemporaryDirectory(prefix="recspeed-") as name:
        folder = Path(name)
        try:
            yield folder
        finally:
            dump = folder / "dump.vcd"
            if waves is not None and dump.exists():
                waves.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(dump, waves)


def check_outcome(outcome: RunOutcome, cycle_limit: int) -> None:
    """Refuse a run that the watchdog ended or that broke the stream law.

    Raises
    ------
    ChannelError
    """
    if outcome.timed_out:
        raise ChannelError(
            f"the run was not done after {cycle_limit} clocks: stopped by the watchdog"
        )
    if outcome.law_violations:
        raise ChannelError(f"{outcome.law_violations} violations of the stream law")


def simulate_runs(
    simulator: toolchain.Simulator,
    form: RunFormat[Run, Result],
    runs: Sequence[Run],
    *,
    waves: Path | None = None,
    on_result: Callable[[int, Result], None] | None = None,
    timeout_seconds: float = 3600,
) -> list[Result]:
    """Simulate runs one after another in one process; a run that the watchdog ends is the last.

    Parameters
    ----------
    waves
        Where the waveform goes, if the simulator is a build with waves.
    on_result
        Called with number and result of each run, as soon as the simulation has ended.
    timeout_seconds
        Wall-clock limit of the simulation.

    Raises
    ------
    ChannelError
        When the watchdog ended a run or a stream law was broken, after the results before it.
    toolchain.ToolchainError
        When the simulation fails or takes too long.
    """
    layouts = simulator.layouts
    results: list[Result] = []
    with _run_folder(waves) as folder:
        for number, run in enumerate(runs):
            place = folder / str(number)
            place.mkdir()
            form.write(place, run, layouts)
        planned = [form.plan(run) for run in runs]
        write_plan(folder, planned)
        toolchain.simulate(
            simulator,
            COCOTB_MODULE,
            folder=folder,
            environment={"RECSPEED_RUNS": str(folder)},
            timeout_seconds=timeout_seconds,
        )
        # The last outcome may be that of a run that the watchdog ended: those behind it have none.
        for number, outcome in enumerate(read_outcomes(folder)):
            check_outcome(outcome, planned[number].cycle_limit)
            results.append(form.read(folder / str(number), runs[number], outcome, layouts))
            if on_result is not None:
                on_result(number, results[-1])
    return results
