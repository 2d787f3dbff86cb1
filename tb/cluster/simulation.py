"""Runs a memory channel's RTL: what a run is in its peers' folder, and what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.cluster import ClusterParameters, slot_layout
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import TABLE_BASE, TABLE_STRIDE, Register, TableRegister
from recspeed.tb.cluster.streams import BAG_SOURCE, INDEX_SOURCE, POOLED_SINK, TOPLEVEL
from recspeed.tb.peers.library import parts
from recspeed.tb.peers.memory_image import dram_line, memory_image
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.layouts import Layouts, item_field, pack_items
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome
from recspeed.tb.simulator.simulation import SINK_RECORD, RunFormat, simulate_runs

HARNESS = "recspeed.tb.cluster.harness"
CYCLES_PER_LOOKUP_LIMIT = 4000
"""Watchdog: clocks that a lookup or bag may take on average before a run counts as hung."""
CYCLES_PER_BEAT_LIMIT = 128
"""The same for a pooled beat: twice what the sparsest pattern of a sink makes of it."""


def channel_generator(preset: MemoryPreset, parameters: ClusterParameters) -> toolchain.Generator:
    """How the harness of a channel of `preset` is made."""

    def write(folder: Path) -> toolchain.Design:
        from recspeed.tb.cluster.harness import (
            write_design,  # Amaranth, where there is no build yet
        )

        return write_design(folder, preset, parameters)

    values = {
        "preset": preset.model_dump(mode="json"),
        "parameters": parameters.model_dump(mode="json"),
    }
    return toolchain.Generator(HARNESS, values, write)


def build_channel(
    preset: MemoryPreset,
    parameters: ClusterParameters,
    *,
    waves: bool = False,
    cache: Path | None = None,
) -> toolchain.Simulator:
    """The simulator of a channel of `preset`, from the cache where it is there.

    Raises
    ------
    toolchain.ToolchainError
        When it cannot be built.
    """
    return toolchain.build_generated(
        TOPLEVEL,
        channel_generator(preset, parameters),
        parts("streams", "dram"),
        waves=waves,
        cache=cache,
    )


def register_writes(run: ClusterRun) -> list[tuple[int, int]]:
    """`(address, value)` of every register that `run` needs, RUN excepted."""
    slots, shift = slot_layout(run.parameters, run.preset, run.tables)
    writes = [
        (int(Register.BAGS), len(run.bag_lengths)),
        (int(Register.OUTSTANDING), run.settings.outstanding),
        (int(Register.REFRESH_GROUP), run.settings.refresh_group),
        (int(Register.SLOTS), slots),
        (int(Register.SLOT_SHIFT), shift),
        (int(Register.OUTPUT_FP32), int(run.settings.output == "fp32")),
        (int(Register.PER_BANK), int(run.settings.per_bank)),
        (int(Register.ROW_HITS), run.settings.row_hits),
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


def cycle_limit(run: ClusterRun) -> int:
    """Clocks after which the watchdog ends `run`: far beyond what any pattern but 0 needs."""
    beats = sum(run.tables[table].beats for table in run.bag_tables)
    return (
        10_000
        + CYCLES_PER_LOOKUP_LIMIT * (len(run.indices) + len(run.bag_lengths))
        + CYCLES_PER_BEAT_LIMIT * beats
    )


def plan_run(run: ClusterRun) -> PlannedRun:
    """Registers and limit of `run`."""
    return PlannedRun(register_writes(run), cycle_limit(run))


def write_run(folder: Path, run: ClusterRun, layouts: Layouts) -> None:
    """Put the inputs of `run` into `folder`, in the form that the peers read."""
    bags = pack_items(layouts["bags"], {"table": run.bag_tables, "length": run.bag_lengths})
    bags.astype("<u8").tofile(folder / f"source_{BAG_SOURCE}.bin")
    run.indices.astype("<i8").tofile(folder / f"source_{INDEX_SOURCE}.bin")
    image = int(run.contents is not None)
    if run.contents is not None:
        memory_image(run.preset, run.tables, run.contents).tofile(folder / "image_0.bin")
    (folder / "run.txt").write_text(
        f"source {BAG_SOURCE} {run.patterns.bags}\n"
        f"source {INDEX_SOURCE} {run.patterns.indices}\n"
        f"sink {POOLED_SINK} {run.patterns.pooled}\n"
        f"{dram_line(run.preset, run.seed, image)}\n"
    )


def read_result(
    folder: Path, run: ClusterRun, outcome: RunOutcome, layouts: Layouts
) -> ClusterResult:
    """Read what the peers stored in `folder`."""
    records = np.fromfile(folder / f"sink_{POOLED_SINK}.bin", dtype=SINK_RECORD)
    layout = layouts["pooled"]
    return ClusterResult(
        bag=item_field(records, layout["bag"]),
        beat=item_field(records, layout["beat"]),
        lanes=records["item"][:, : run.parameters.lanes].astype(np.uint32),
        transfer_cycle=records["cycle"].astype(np.int64),
        commands=np.fromfile(folder / "commands_0.bin", dtype=COMMAND_LOG),
        counters=outcome.counters,
    )


def _without_commands(
    folder: Path, run: ClusterRun, outcome: RunOutcome, layouts: Layouts
) -> ClusterResult:
    """`read_result` with an empty command log."""
    result = read_result(folder, run, outcome, layouts)
    return replace(result, commands=np.zeros(0, dtype=COMMAND_LOG))


def simulate_clusters(
    runs: Sequence[ClusterRun],
    *,
    record_commands: bool = True,
    waves: Path | None = None,
    on_result: Callable[[int, ClusterResult], None] | None = None,
    timeout_seconds: float = 3600,
) -> list[ClusterResult]:
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
    read = read_result if record_commands else _without_commands
    return simulate_runs(
        simulator,
        RunFormat(write_run, plan_run, read),
        runs,
        waves=waves,
        on_result=on_result,
        timeout_seconds=timeout_seconds,
    )
