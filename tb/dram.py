"""Runs a DRAM front-end's RTL alone: random row visits, reads and writes, at full speed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recspeed.models.spec.dram_run import BEATS, WRITTEN, DramResult, DramRun
from recspeed.models.spec.registers import Counter
from recspeed.models.spec.run import COMMAND_LOG
from recspeed.rtl.dram.signature import ReadResponse, Request
from recspeed.tb import toolchain
from recspeed.tb.harness.front_end_harness import (
    READ_SOURCE,
    RESPONSE_SINK,
    TAG_BITS,
    WRITE_BEATS,
    WRITE_SOURCE,
    WRITTEN_SINK,
    FrontEndHarness,
    HarnessRegister,
)
from recspeed.tb.run_plan import PlannedRun, RunOutcome
from recspeed.tb.simulation import (
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


def build_front_end(run: DramRun, *, waves: bool = False) -> toolchain.Simulator:
    """The simulator of the front-end that `run` needs."""
    return build_harness(FrontEndHarness(run.preset, run.queue_depth), TOPLEVEL, waves=waves)


def register_writes(run: DramRun) -> list[tuple[int, int]]:
    """`(address, value)` of every harness register that `run` needs, RUN excepted."""
    settings = run.settings
    return [
        (int(HarnessRegister.READ_BURSTS), int(run.reads["bursts"].sum())),
        (int(HarnessRegister.WRITES), len(run.writes)),
        (int(HarnessRegister.OUTSTANDING), settings.outstanding),
        (int(HarnessRegister.WRITE_BUFFER), settings.write_buffer),
        (int(HarnessRegister.REFRESH_GROUP), settings.refresh_group),
        (int(HarnessRegister.PER_BANK), int(settings.per_bank)),
        (int(HarnessRegister.TURNAROUND_LIMIT), settings.turnaround_limit),
        (int(HarnessRegister.ROW_HITS), settings.row_hits),
    ]


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


def write_run(folder: Path, run: DramRun) -> None:
    """Put the inputs of `run` into `folder`, in the form that the peers read."""
    folder.mkdir(parents=True)
    pack_requests(run, run.reads).tofile(folder / f"source_{READ_SOURCE}.bin")
    pack_requests(run, run.writes).tofile(folder / f"source_{WRITE_SOURCE}.bin")
    beats = int(run.writes["bursts"].sum()) * run.preset.burst_clocks
    always = (1 << 64) - 1
    (folder / "run.txt").write_text(
        f"source {READ_SOURCE} {run.patterns.reads}\n"
        f"source {WRITE_SOURCE} {run.patterns.writes}\n"
        f"beats {WRITE_BEATS} {run.patterns.write_data} {beats} {run.seed + 1}\n"
        f"sink {RESPONSE_SINK} {always}\n"
        f"sink {WRITTEN_SINK} {always}\n"
        f"{dram_line(run.preset, run.seed, 0)}\n"
    )


def read_result(folder: Path, run: DramRun, outcome: RunOutcome) -> DramResult:
    """Read what the peers stored in `folder`."""
    responses = np.fromfile(folder / f"sink_{RESPONSE_SINK}.bin", dtype=SINK_RECORD)
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
    completed = np.fromfile(folder / f"sink_{WRITTEN_SINK}.bin", dtype=SINK_RECORD)
    written = np.zeros(len(completed), dtype=WRITTEN)
    written["cycle"] = completed["cycle"]
    written["tag"] = completed["item"][:, 0]
    return DramResult(
        commands=np.fromfile(folder / "commands_0.bin", dtype=COMMAND_LOG),
        beats=beats,
        written=written,
        counters={counter: outcome.counters[counter] for counter in COUNTED},
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
    if not runs:
        return []
    first = runs[0]
    if any(run.preset != first.preset or run.queue_depth != first.queue_depth for run in runs):
        raise ValueError("runs of one simulation must share preset and queue depth")
    simulator = build_front_end(first, waves=waves is not None)
    results: list[DramResult] = []
    with run_folder(waves) as folder:
        for number, run in enumerate(runs):
            write_run(folder / str(number), run)
        planned = [PlannedRun(register_writes(run), cycle_limit(run)) for run in runs]
        outcomes = execute(simulator, folder, planned, timeout_seconds)
        for number, (run, outcome) in enumerate(zip(runs, outcomes, strict=False)):
            check_outcome(outcome, cycle_limit(run))
            results.append(read_result(folder / str(number), run, outcome))
            if on_result is not None:
                on_result(number, results[-1])
    return results
