"""Runs the RTL of DRAM front-ends: row visits, reads and writes, at full speed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.runs.dram import BEATS, WRITTEN, DramResult, DramRun
from recspeed.models.spec.register_map import Counter
from recspeed.tb.dram.streams import (
    REGISTER_STRIDE,
    TAG_BITS,
    TOPLEVEL,
    HarnessRegister,
    read_source,
    response_sink,
    write_source,
    written_sink,
)
from recspeed.tb.peers.library import parts
from recspeed.tb.peers.memory_image import dram_line
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.layouts import Layout, Layouts, item_field, pack_items
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome
from recspeed.tb.simulator.simulation import SINK_RECORD, RunFormat, simulate_runs

HARNESS = "recspeed.tb.dram.harness"
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


def front_end_generator(run: DramRun, pseudo_channels: int) -> toolchain.Generator:
    """How the harness of the front-ends that `run` needs is made."""

    def write(folder: Path) -> toolchain.Design:
        from recspeed.tb.dram.harness import write_design  # Amaranth, where there is no build yet

        return write_design(folder, run.preset, run.queue_depth, pseudo_channels)

    values = {
        "preset": run.preset.model_dump(mode="json"),
        "queue_depth": run.queue_depth,
        "pseudo_channels": pseudo_channels,
    }
    return toolchain.Generator(HARNESS, values, write)


def build_front_end(
    run: DramRun, pseudo_channels: int = 1, *, waves: bool = False
) -> toolchain.Simulator:
    """The simulator of the front-end that `run` needs, or of the two of an HBM channel.

    Raises
    ------
    ValueError
        For two pseudo channels of a device of one command bus.
    toolchain.ToolchainError
        When it cannot be built.
    """
    return toolchain.build_generated(
        TOPLEVEL,
        front_end_generator(run, pseudo_channels),
        parts("streams", "dram"),
        waves=waves,
    )


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


def plan_group(runs: Sequence[DramRun]) -> PlannedRun:
    """Registers and limit of `runs`, one per front-end."""
    writes = [pair for number, run in enumerate(runs) for pair in register_writes(run, number)]
    return PlannedRun(writes, max(cycle_limit(run) for run in runs), len(runs))


def pack_requests(layout: Layout, requests: np.ndarray) -> np.ndarray:
    """uint64[n]: the requests as the source peer offers them, tagged with their numbers."""
    fields = {name: requests[name] for name in ("bank", "row", "column")}
    tags = np.arange(len(requests)) % (1 << TAG_BITS)
    return pack_items(layout, {**fields, "bursts": requests["bursts"] - 1, "tag": tags})


def write_group(folder: Path, runs: Sequence[DramRun], layouts: Layouts) -> None:
    """Put the inputs of `runs`, one per front-end, into `folder`, in the form that peers read."""
    layout = layouts["requests"]
    lines = []
    always = (1 << 64) - 1
    for number, run in enumerate(runs):
        reads, writes = read_source(number), write_source(number)
        pack_requests(layout, run.reads).tofile(folder / f"source_{reads}.bin")
        pack_requests(layout, run.writes).tofile(folder / f"source_{writes}.bin")
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


def read_result(
    folder: Path, run: DramRun, outcome: RunOutcome, layouts: Layouts, number: int = 0
) -> DramResult:
    """Read what the peers of front-end `number` stored in `folder`."""
    responses = np.fromfile(folder / f"sink_{response_sink(number)}.bin", dtype=SINK_RECORD)
    layout = layouts["responses"]
    beats = np.zeros(len(responses), dtype=BEATS)
    beats["cycle"] = responses["cycle"]
    for name in ("tag", "burst", "beat"):
        beats[name] = item_field(responses, layout[name])
    word, bit = divmod(layout["data"][0], 32)
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


def read_group(
    folder: Path, runs: Sequence[DramRun], outcome: RunOutcome, layouts: Layouts
) -> tuple[DramResult, ...]:
    """Read what the peers of all front-ends stored in `folder`."""
    return tuple(
        read_result(folder, run, outcome, layouts, number) for number, run in enumerate(runs)
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
    """Simulate pairs of runs, those of a pair on the two pseudo channels of an HBM channel.

    The two share the channel's command buses.

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
    return simulate_runs(
        simulator,
        RunFormat(write_group, plan_group, read_group),
        groups,
        waves=waves,
        on_result=on_result,
        timeout_seconds=timeout_seconds,
    )
