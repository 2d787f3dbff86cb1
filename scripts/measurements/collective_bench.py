"""How fast the collective engine is simulated: 16 chips, 16 KB per peer, all four operations."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from recspeed.models.runs.collective import CollectiveRun, lay_out
from recspeed.models.spec.collective import CollectiveParameters, Operation, WireFormat
from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.measurements.collective_runs import (
    equal_collective,
    make_job,
    run_golden,
    verify,
)
from recspeed.tb.collective.simulation import build_collective, simulate_collectives
from recspeed.tb.simulator import toolchain

CHIPS = 16
PEER_BYTES = 16384


@dataclass(frozen=True)
class Speed:
    """Seconds of one build (None: taken from the cache), of the RTL's runs and of the golden
    model's, and the clocks of the runs."""

    build_seconds: float | None
    rtl_seconds: float
    golden_seconds: float
    clocks: int


def measure_speed(*, build_anew: bool) -> Speed:
    """Run all four operations at both fidelities, compare every clock and byte, and time them.

    Raises
    ------
    UserError
        When RTL and golden model differ, or the simulator cannot be built or run.
    """
    parameters = CollectiveParameters(chips=CHIPS)
    jobs = []
    for operation in Operation:
        held = PEER_BYTES * (1 if operation == Operation.ALL_GATHER else CHIPS)
        item = equal_collective(operation, CHIPS, held, WireFormat.FP16)
        jobs.append(make_job(parameters, item, held, seed=int(operation)))
    layouts = [lay_out([job.item]) for job in jobs]
    runs = [
        CollectiveRun(parameters.link, layout.descriptors, limit=job.limit)
        for job, layout in zip(jobs, layouts, strict=True)
    ]
    run_golden(jobs[0], runs[0])  # compiles it
    start = time.perf_counter()
    expected = [run_golden(job, run) for job, run in zip(jobs, runs, strict=True)]
    golden_seconds = time.perf_counter() - start
    images = [layout.images([job.inputs]) for job, layout in zip(jobs, layouts, strict=True)]
    with tempfile.TemporaryDirectory(prefix="recspeed-bench-") as name:
        cache = Path(name) / "cache" if build_anew else None
        try:
            start = time.perf_counter()
            build_collective(parameters.link, CHIPS, cache=cache)
            build_seconds = time.perf_counter() - start
            start = time.perf_counter()
            results = simulate_collectives(list(zip(runs, images, strict=True)), cache=cache)
            rtl_seconds = time.perf_counter() - start
        except toolchain.ToolchainError as error:
            raise UserError(str(error), CHECK_FAILED) from None
    clocks = 0
    for (outcome, written), (golden, outputs), layout in zip(
        results, expected, layouts, strict=True
    ):
        verify(outcome, layout.extract(written)[0], golden, outputs)
        clocks += outcome.end + 1
    return Speed(build_seconds if build_anew else None, rtl_seconds, golden_seconds, clocks)


def speed_table(speed: Speed) -> Table:
    """The figures as a table."""
    table = Table(
        "figure",
        "value",
        title=f"collectives, {CHIPS} chips, {PEER_BYTES // 1024} KB per peer, all four operations",
    )
    if speed.build_seconds is not None:
        table.add_row("RTL: generation and simulator build, s", f"{speed.build_seconds:.0f}")
    table.add_row("RTL: runs with data in and out, s", f"{speed.rtl_seconds:.1f}")
    table.add_row(
        "RTL: clocks of the whole system per second", f"{speed.clocks / speed.rtl_seconds:,.0f}"
    )
    table.add_row("golden model: clocks and data, s", f"{speed.golden_seconds:.2f}")
    return table
