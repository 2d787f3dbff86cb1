"""Runs a memory channel's RTL: prepares run folders, simulates them, reads the results back."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from recspeed.models.spec.engine import EngineParameters, slot_layout
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.registers import (
    TABLE_BASE,
    TABLE_STRIDE,
    Register,
    TableRegister,
)
from recspeed.models.spec.run import COMMAND_LOG, ChannelResult, ChannelRun
from recspeed.rtl.pooling.signature import Bag, PooledBeat
from recspeed.rtl.verilog import generate
from recspeed.tb import toolchain
from recspeed.tb.harness.channel_harness import (
    BAG_SOURCE,
    INDEX_SOURCE,
    PEERS,
    POOLED_SINK,
    ChannelHarness,
)
from recspeed.tb.harness.image import memory_image
from recspeed.tb.run_plan import PlannedRun, RunOutcome, read_outcomes, write_plan

TOPLEVEL = "channel_harness"
COCOTB_MODULE = "recspeed.tb.cocotb_channel"
CYCLES_PER_LOOKUP_LIMIT = 4000
"""Watchdog: clocks that a lookup, bag or beat may take on average before a run counts as hung."""

SINK_RECORD = np.dtype([("cycle", "<i8"), ("item", "<u4", (16,))])


class ChannelError(RuntimeError):
    """A run that did not end as a run must: watchdog, or a broken stream law."""


_built: dict[tuple[str, str, bool], toolchain.Simulator] = {}
"""Simulators that this process has built, by preset, parameters and waves."""


def build_channel(
    preset: MemoryPreset, parameters: EngineParameters, *, waves: bool = False
) -> toolchain.Simulator:
    """The simulator of a channel of `preset`, from the cache where it is there.

    Within one process the Verilog is generated once.
    """
    key = (preset.model_dump_json(), parameters.model_dump_json(), waves)
    if key in _built:
        return _built[key]
    with tempfile.TemporaryDirectory(prefix="recspeed-") as scratch:
        source = Path(scratch) / f"{TOPLEVEL}.v"
        source.write_text(generate(ChannelHarness(preset, parameters), TOPLEVEL))
        _built[key] = toolchain.build(TOPLEVEL, [PEERS[0], source, PEERS[1]], waves=waves)
    return _built[key]


def register_writes(run: ChannelRun) -> list[tuple[int, int]]:
    """`(address, value)` of every register that `run` needs, RUN excepted."""
    slots, shift = slot_layout(run.parameters, run.preset, run.tables)
    writes = [
        (int(Register.BAGS), len(run.bag_lengths)),
        (int(Register.OUTSTANDING), run.settings.outstanding),
        (int(Register.REFRESH_GROUP), run.settings.refresh_group),
        (int(Register.SLOTS), slots),
        (int(Register.SLOT_SHIFT), shift),
        (int(Register.OUTPUT_FP32), int(run.settings.output == "fp32")),
    ]
    for number, table in enumerate(run.tables):
        base = TABLE_BASE + TABLE_STRIDE * number
        writes += [
            (base + TableRegister.ROWS, table.rows),
            (base + TableRegister.ELEMENTS, table.elements),
            (base + TableRegister.BURSTS, table.bursts(run.preset)),
            (base + TableRegister.BASE_ROW, table.base_row),
            (base + TableRegister.ROW_SPAN, table.row_span),
            (base + TableRegister.POLICY, int(table.policy)),
        ]
    return writes


def cycle_limit(run: ChannelRun) -> int:
    """Clocks after which the watchdog ends `run`: far beyond what any pattern but 0 needs."""
    return 10_000 + CYCLES_PER_LOOKUP_LIMIT * (len(run.indices) + len(run.bag_lengths))


def write_run(folder: Path, run: ChannelRun) -> None:
    """Put the inputs of `run` into `folder`, in the form that the peers read."""
    folder.mkdir(parents=True)
    length_position = Bag()["length"].offset
    bags = run.bag_tables.astype("<u8") | (
        run.bag_lengths.astype("<u8") << np.uint64(length_position)
    )
    bags.astype("<u8").tofile(folder / f"source_{BAG_SOURCE}.bin")
    run.indices.astype("<i8").tofile(folder / f"source_{INDEX_SOURCE}.bin")
    image = int(run.contents is not None)
    if run.contents is not None:
        memory_image(run.preset, run.tables, run.contents).tofile(folder / "image_0.bin")
    (folder / "run.txt").write_text(
        f"source {BAG_SOURCE} {run.patterns.bags}\n"
        f"source {INDEX_SOURCE} {run.patterns.indices}\n"
        f"sink {POOLED_SINK} {run.patterns.pooled}\n"
        f"dram 0 {run.preset.banks} {run.preset.bursts_per_row} {run.seed} {image}\n"
    )


def read_result(
    folder: Path, run: ChannelRun, outcome: RunOutcome, record_commands: bool
) -> ChannelResult:
    """Read what the peers stored in `folder`.

    Raises
    ------
    ChannelError
        When the watchdog ended the run or the stream law was broken.
    """
    if outcome.timed_out:
        raise ChannelError(
            f"the run was not done after {cycle_limit(run)} clocks: stopped by the watchdog"
        )
    if outcome.law_violations:
        raise ChannelError(f"{outcome.law_violations} violations of the stream law")
    records = np.fromfile(folder / f"sink_{POOLED_SINK}.bin", dtype=SINK_RECORD)
    layout = PooledBeat(run.parameters)
    words = records["item"]
    lanes = run.parameters.lanes

    def field(name: str) -> np.ndarray:
        place = layout[name]
        word, bit = divmod(place.offset, 32)
        low = words[:, word].astype(np.uint64) | (
            words[:, word + 1].astype(np.uint64) << np.uint64(32)
        )
        return ((low >> np.uint64(bit)) & np.uint64((1 << place.width) - 1)).astype(np.int64)

    commands = np.zeros(0, dtype=COMMAND_LOG)
    if record_commands:
        commands = np.fromfile(folder / "commands_0.bin", dtype=COMMAND_LOG)
    return ChannelResult(
        bag=field("bag"),
        beat=field("beat"),
        lanes=words[:, :lanes].astype(np.uint32),
        transfer_cycle=records["cycle"].astype(np.int64),
        commands=commands,
        counters=outcome.counters,
    )


@contextlib.contextmanager
def run_folder(waves: Path | None) -> Iterator[Path]:
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


def simulate_channels(
    runs: Sequence[ChannelRun],
    *,
    record_commands: bool = True,
    waves: Path | None = None,
    on_result: Callable[[int, ChannelResult], None] | None = None,
    timeout_seconds: float = 3600,
) -> list[ChannelResult]:
    """Simulate runs of one preset and one set of parameters, one after another in one process.

    Parameters
    ----------
    record_commands
        Read the command log back.
    waves
        Write a VCD waveform to this path; needs a slower build.
    on_result
        Called with number and result of each run, as soon as the simulation has ended.
    timeout_seconds
        Wall-clock limit of the simulation.

    Raises
    ------
    ChannelError, toolchain.ToolchainError
    """
    if not runs:
        return []
    first = runs[0]
    if any(run.preset != first.preset or run.parameters != first.parameters for run in runs):
        raise ValueError("runs of one simulation must share preset and parameters")
    simulator = build_channel(first.preset, first.parameters, waves=waves is not None)
    results: list[ChannelResult] = []
    with run_folder(waves) as folder:
        for number, run in enumerate(runs):
            write_run(folder / str(number), run)
        write_plan(folder, [PlannedRun(register_writes(run), cycle_limit(run)) for run in runs])
        toolchain.simulate(
            simulator,
            COCOTB_MODULE,
            folder=folder,
            environment={"RECSPEED_RUNS": str(folder)},
            timeout_seconds=timeout_seconds,
        )
        for number, (run, outcome) in enumerate(zip(runs, read_outcomes(folder), strict=False)):
            result = read_result(folder / str(number), run, outcome, record_commands)
            results.append(result)
            if on_result is not None:
                on_result(number, result)
    return results
