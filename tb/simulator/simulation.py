"""One simulation of many runs on one harness: folders, the plan, the watchdog, the waveform."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from amaranth.lib import data

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.generate.verilog import generate
from recspeed.tb.cluster.harness import PEERS
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome, read_outcomes, write_plan

COCOTB_MODULE = "recspeed.tb.simulator.cocotb_module"

SINK_RECORD = np.dtype([("cycle", "<i8"), ("item", "<u4", (16,))])
"""What a sink peer stores of one transfer."""


class ChannelError(RuntimeError):
    """A run that did not end as a run must: watchdog, or a broken stream law."""


def build_harness(harness, name: str, *, waves: bool = False) -> toolchain.Simulator:
    """The simulator of a harness component, from the cache where it is there."""
    with tempfile.TemporaryDirectory(prefix="recspeed-") as scratch:
        source = Path(scratch) / f"{name}.v"
        source.write_text(generate(harness, name))
        return toolchain.build(name, [PEERS[0], source, PEERS[1]], waves=waves)


def dram_line(preset: MemoryPreset, seed: int, image: int, number: int = 0) -> str:
    """The line of run.txt that describes DRAM `number` to its peer."""
    return (
        f"dram {number} {preset.banks} {preset.banks_per_rank} {preset.bursts_per_row} "
        f"{preset.burst_bytes} {seed} {image}"
    )


def item_field(records: np.ndarray, layout: data.StructLayout, name: str) -> np.ndarray:
    """int64: a field of at most 32 bits of the items in `records` (SINK_RECORD)."""
    place = layout[name]
    word, bit = divmod(place.offset, 32)
    words = records["item"]
    low = words[:, word].astype(np.uint64)
    high = words[:, word + 1].astype(np.uint64) << np.uint64(32)
    return ((low | high) >> np.uint64(bit) & np.uint64((1 << place.width) - 1)).astype(np.int64)


@contextmanager
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


def execute(
    simulator: toolchain.Simulator,
    folder: Path,
    planned: Sequence[PlannedRun],
    timeout_seconds: float,
) -> list[RunOutcome]:
    """Execute the runs in `folder`; their outcomes, fewer where the watchdog ended one."""
    write_plan(folder, planned)
    toolchain.simulate(
        simulator,
        COCOTB_MODULE,
        folder=folder,
        environment={"RECSPEED_RUNS": str(folder)},
        timeout_seconds=timeout_seconds,
    )
    return read_outcomes(folder)


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
