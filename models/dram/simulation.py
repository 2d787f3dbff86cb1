"""Golden model of a DRAM front-end alone: every command, beat and completion, and its clock.

It is written from docs/dram.md and shares nothing with the RTL.
"""

from collections.abc import Sequence

import numpy as np

from recspeed.models.dram.clock_loop import run_clocks
from recspeed.models.dram.front_end_record import MAXIMUM_QUEUE, READ, WRITE, front_ends
from recspeed.models.dram.sourced_front_end import sourced_runs
from recspeed.models.dram.stored_data import returned_words
from recspeed.models.lib.command_log import CHUNK_CLOCKS, CommandLogs
from recspeed.models.lib.endless_run import EndlessRunError, patience, standstill
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import BEATS, TAG_LIMIT, WRITTEN, DramResult, DramRun
from recspeed.models.spec.front_end import MAXIMUM_BURSTS
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter

COLUMN_READS = (CommandCode.RD, CommandCode.RDA)
COLUMN_WRITES = (CommandCode.WR, CommandCode.WRA)


def simulate_dram(run: DramRun, *, record_beats: bool = True) -> DramResult:
    """Execute `run` on one channel (HBM: pseudo channel).

    Parameters
    ----------
    run : DramRun
        The input.
    record_beats : bool
        Whether the result's `beats` are filled; without them a long run takes less memory and time.

    Raises
    ------
    ValueError
        For a request outside the device, a queue that the hardware cannot have, a pattern of other
        than 64 bits.
    EndlessRunError
        For a run that cannot end.
    """
    check_run(run)
    return simulate_in_lock_step([run], record_beats=record_beats)[0]


def simulate_in_lock_step(
    runs: Sequence[DramRun], *, record_beats: bool = True, record_commands: bool = True
) -> list[DramResult]:
    """Execute a run on each of several front-ends of one size, clock by clock side by side.

    Results are those of `simulate_dram`, run by run; without `record_commands` the results hold
    counters alone.
    """
    records = front_ends(runs)
    users, reads, writes = sourced_runs(runs)
    logs = CommandLogs(len(runs), wanted=record_commands)
    limits = np.array([patience(run.preset, run.settings.refresh_group) for run in runs])
    while not users["finished"].all():
        run_clocks(records, users, reads, writes, logs.commands, logs.served, CHUNK_CLOCKS)
        logs.keep(users["logged"])
        stands_still = users["t"] - users["progress"] > limits
        for number in np.flatnonzero(stands_still & (users["finished"] == 0))[:1]:
            raise standstill(int(users["progress"][number]), int(users["t"][number]))
    return [
        dram_result(run, records[number], users[number], logs, number, record_beats=record_beats)
        for number, run in enumerate(runs)
    ]


def dram_result(
    run: DramRun,
    fe: np.void,
    user: np.void,
    logs: CommandLogs,
    number: int,
    *,
    record_beats: bool,
) -> DramResult:
    """The result of run `number` from the records and the logs by its end.

    The front-end and its log may have gone on since then.
    """
    commands, served = logs.until(number, user["t"])
    return DramResult(
        commands=commands,
        beats=_beats(run, commands, served) if record_beats else np.zeros(0, dtype=BEATS),
        written=_written(run, commands, served),
        counters=_counters(fe, user),
    )


def check_run(run: DramRun) -> None:
    """Refuse what the hardware cannot hold, and patterns under which no run ends.

    Raises
    ------
    ValueError, EndlessRunError
        As `simulate_dram` does.
    """
    preset = run.preset
    if not 1 <= run.queue_depth <= MAXIMUM_QUEUE:
        raise ValueError(f"queues of {run.queue_depth} requests; expected 1 to {MAXIMUM_QUEUE}")
    for kind, requests in (("read", run.reads), ("write", run.writes)):
        for name, low, high in (
            ("bank", 0, preset.banks - 1),
            ("row", 0, preset.organization.rows - 1),
            ("column", 0, preset.bursts_per_row - 1),
            ("bursts", 1, MAXIMUM_BURSTS),
        ):
            outside = np.flatnonzero((requests[name] < low) | (requests[name] > high))
            for number in outside[:1]:
                raise ValueError(
                    f"{kind} {number}: {name} {requests[name][number]}; expected {low} to {high}"
                )
        beyond = np.flatnonzero(requests["column"] + requests["bursts"] > preset.bursts_per_row)
        for number in beyond[:1]:
            raise ValueError(
                f"{kind} {number}: {requests['bursts'][number]} bursts from "
                f"{requests['column'][number]} on leave the DRAM row of {preset.bursts_per_row}"
            )
    for name, needed in (("reads", run.reads), ("writes", run.writes), ("write_data", run.writes)):
        pattern = getattr(run.patterns, name)
        if not 0 <= pattern < 1 << 64:
            raise ValueError(f"pattern of {name}: {pattern:#x} exceeds 64 bits")
        if pattern == 0 and len(needed):
            raise EndlessRunError(f"the run cannot end: the pattern of {name} has no 1")


def _beats(run: DramRun, commands: np.ndarray, served: np.ndarray) -> np.ndarray:
    """The beats of all reads in the log, in order of return."""
    clocks, length = run.preset.clocks, run.preset.burst_clocks
    reads = np.flatnonzero(np.isin(commands["command"], COLUMN_READS))
    words = returned_words(run, commands, served)
    number = np.repeat(served[reads], length)
    beat = np.tile(np.arange(length), len(reads))
    beats = np.zeros(len(number), dtype=BEATS)
    beats["cycle"] = np.repeat(commands["cycle"][reads], length) + clocks.tCL + beat
    beats["tag"] = number % TAG_LIMIT
    beats["burst"] = np.repeat(commands["column"][reads], length) - run.reads["column"][number]
    beats["beat"] = beat
    beats["data"] = words.reshape(-1, 2)
    return beats


def _written(run: DramRun, commands: np.ndarray, served: np.ndarray) -> np.ndarray:
    """The completed writes, by the last burst of each."""
    writes = np.isin(commands["command"], COLUMN_WRITES)
    commands, number = commands[writes], served[writes]
    last = commands["column"] + 1 == run.writes["column"][number] + run.writes["bursts"][number]
    written = np.zeros(np.count_nonzero(last), dtype=WRITTEN)
    written["cycle"] = commands["cycle"][last] + run.preset.clocks.tCWL
    written["cycle"] += run.preset.burst_clocks - 1
    written["tag"] = number[last] % TAG_LIMIT
    return written


def _counters(fe: np.void, user: np.void) -> dict[Counter, int]:
    counters = {cause: int(fe["causes"][cause]) for cause in (Counter.DATA, *IDLE_CAUSES)}
    counters[Counter.CYCLES] = int(user["t"])
    counters[Counter.ACTIVATES] = int(fe["activates"])
    counters[Counter.READS] = int(fe["moved"][READ])
    counters[Counter.WRITES] = int(fe["moved"][WRITE])
    counters[Counter.REFRESHES] = int(user["refreshes"])
    return counters
