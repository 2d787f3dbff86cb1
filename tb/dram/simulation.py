"""Runs the RTL of DRAM front-ends: row visits, reads and writes, at full speed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.runs.dram import BEATS, WRITTEN, DramResult, DramRun
from recspeed.models.spec.register_map import Counter
from recspeed.rtl.dram.dram_bus import ReadResponse, Request
from recspeed.tb.dram.bench import (
    TAG_BITS,
    read_source,
    response_sink,
    write_source,
    written_sink,
)
from recspeed.tb.dram.harness import REGISTER_STRIDE, FrontEndHarness, HarnessRegister
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome
from recspeed.tb.simulator.simulation import (
    SINK_RECORD,
    build_harness,
    check_outcome,
    dram_line,
    execute,
    item_field,
    run_folder,
)

TOPLEVEL = "front_end_harness"
CYCLES_PER_REQUEST_LIMIT = 4000
COUNTED = (
    Counter.CYCLES,
    Counter.DATA,
    *(counter for counter in Counter if counter.name.startswith("IDLE_")),
    Counter.ACTIVATES,
    Counter.READS,
    Counter.WRITES,
    Counter.REFRESHES,
)


def build_front_end(
    run: DramRun, pseudo_channels: int = 1, *, waves: bool = False
) -> toolchain.Simulator:
    """The simulator of the front-end that `run` needs, or of the two of an HBM channel."""
    harness = FrontEndHarness(run.preset, run.queue_depth, pseudo_channels)
    return build_harness(harness, TOPLEVEL, waves=waves)


def register_writes(run: DramRun, number: int = 0) -> list[tuple[int, int]]:
    """`(address, value)` of every register that `run` on front-end `number` needs, but RUN."""
    settings = run.settings
    values = {
        HarnessRegister.READ_BURSTS: int(run.reads["bursts"].sum()),
        HarnessRegister.WRITES: len(run.writes),
        HarnessRegister.OUTSTANDING: settings.outstanding,
        HarnessRegister.WRITE_BUFFER: settings.write_buffer,
        HarnessRegister.REFRESH_GROUP: settings.refresh_group,
        HarnessRegister.PER_BANK: int(settings.per_bank),
        HarnessRegister.TURNAROUND_LIMIT: settings.turnaround_limit,
        HarnessRegister.ROW_HITS: settings.row_hits,
    }
    base = number * REGISTER_STRIDE
    return [(base + register, value) for register, value in values.items()]


def cycle_limit(run: DramRun) -> int:
    """Clocks after which the watchdog ends `run`."""
    return 10_000 + CYCLES_PER_REQUEST_LIMIT * (len(run.reads) + len(run.writes))


def pack_requests(run: DramRun, requests: np.ndarray) -> np.ndarray:
    """uint64[n]: the requests as the source peer offers them, tagged with their numbers."""
    layout = Request(run.preset, TAG_BITS)
    tags = np.arange(len(requests)) % (1 << TAG_BITS)
    packed = np.zeros(len(requests), dtype=np.uint64)
    for name, values in (
        ("bank", requests["bank"]),
        ("row", requests["row"]),
        ("column", requests["column"]),
        ("bursts", requests["bursts"] - 1),
        ("tag", tags),
    ):
        packed |= values.astype(np.uint64) << np.uint64(layout[name].offset)
    return packed


def write_run(folder: Path, runs: Sequence[DramRun]) -> None:
    """Put the inputs of `runs`, one per front-end, into `folder`, in the form that peers read."""
    folder.mkdir(parents=True)
    lines = []
    always = (1 << 64) - 1
    for number, run in enumerate(runs):
        reads, writes = read_source(number), write_source(number)
        pack_requests(run, run.reads).tofile(folder / f"source_{reads}.bin")
        pack_requests(run, run.writes).tofile(folder / f"source_{writes}.bin")
        beats = int(run.writes["bursts"].sum()) * run.preset.burst_clocks
        lines += [
            f"source {reads} {run.patterns.reads}",
            f"source {writes} {run.patterns.writes}",
            f"beats {number} {run.patterns.write_data} {beats} {run.seed + 1}",
            f"sink {response_sink(number)} {always}",
            f"sink {written_sink(number)} {always}",
            dram_line(run.preset, run.seed, 0, number),
        ]
    (folder / "run.txt").write_text("\n".join(lines) + "\n")


def read_result(folder: Path, run: DramRun, outcome: RunOutcome, number: int = 0) -> DramResult:
    """Read what the peers of front-end `number` stored in `folder`."""
    responses = np.fromfile(folder / f"sink_{response_sink(number)}.bin", dtype=SINK_RECORD)
    layout = ReadResponse(run.preset, TAG_BITS)
    beats = np.zeros(len(responses), dtype=BEATS)
    beats["cycle"] = responses["cycle"]
    for name in ("tag", "burst", "beat"):
        beats[name] = item_field(responses, layout, name)
    word, bit = divmod(layout["data"].offset, 32)
    items = responses["item"].astype(np.uint64)
    for half in range(2):
        low, middle, high = (items[:, word + 2 * half + step] for step in range(3))
        value = low | (middle << np.uint64(32))
        if bit:
            value = (value >> np.uint64(bit)) | (high << np.uint64(64 - bit))
        beats["data"][:, half] = value
    completed = np.fromfile(folder / f"sink_{written_sink(number)}.bin", dtype=SINK_RECORD)
    written = np.zeros(len(completed), dtype=WRITTEN)
    written["cycle"] = completed["cycle"]
    written["tag"] = completed["item"][:, 0]
    counters = outcome.counter_sets[number]
    return DramResult(
        commands=np.fromfile(folder / f"commands_{number}.bin", dtype=COMMAND_LOG),
        beats=beats,
        written=written,
        counters={counter: counters[counter] for counter in COUNTED},
    )


def simulate_front_ends(
    runs: Sequence[DramRun],
    *,
    waves: Path | None = None,
    on_result: Callable[[int, DramResult], None] | None = None,
    timeout_seconds: float = 3600,
) -> list[DramResult]:
    """Simulate runs of one preset and queue depth, one after another in one process.

    Raises
    ------
    ChannelError, toolchain.ToolchainError
    """

    def first_of(number: int, results: tuple[DramResult, ...]) -> None:
        if on_result is not None:
            on_result(number, results[0])

    groups = [(run,) for run in runs]
    return [results[0] for results in _simulate(groups, waves, first_of, timeout_seconds)]


def simulate_hbm_channels(
    pairs: Sequence[tuple[DramRun, DramRun]],
    *,
    waves: Path | None = None,
    on_result: Callable[[int, tuple[DramResult, ...]], None] | None = None,
    timeout_seconds: float = 3600,
) -> list[tuple[DramResult, ...]]:
    """The same for both pseudo channels of an HBM channel, which share its command buses.

    Raises
    ------
    ValueError
        For a device of one command bus.
    ChannelError, toolchain.ToolchainError
    """
    return _simulate(pairs, waves, on_result, timeout_seconds)


def _simulate(
    groups: Sequence[tuple[DramRun, ...]],
    waves: Path | None,
    on_result: Callable[[int, tuple[DramResult, ...]], None] | None,
    timeout_seconds: float,
) -> list[tuple[DramResult, ...]]:
    """Simulate groups of runs, those of a group at once; one after another in one process."""
    if not groups:
        return []
    first = groups[0][0]
    if any(
        run.preset != first.preset or run.queue_depth != first.queue_depth
        for group in groups
        for run in group
    ):
        raise ValueError("runs of one simulation must share preset and queue depth")
    simulator = build_front_end(first, len(groups[0]), waves=waves is not None)
    done: list[tuple[DramResult, ...]] = []
    with run_folder(waves) as folder:
        for index, group in enumerate(groups):
            write_run(folder / str(index), group)
        limits = [max(cycle_limit(run) for run in group) for group in groups]
        planned = []
        for group, limit in zip(groups, limits, strict=True):
            writes = [register_writes(run, number) for number, run in enumerate(group)]
            planned.append(
                PlannedRun([pair for each in writes for pair in each], limit, len(group))
            )
        outcomes = execute(simulator, folder, planned, timeout_seconds)
        for index, (group, limit, outcome) in enumerate(
            zip(groups, limits, outcomes, strict=False)
        ):
            check_outcome(outcome, limit)
            done.append(
                tuple(
                    read_result(folder / str(index), run, outcome, number)
                    for number, run in enumerate(group)
                )
            )
            if on_result is not None:
                on_result(index, done[-1])
    return done
