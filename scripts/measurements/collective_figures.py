"""How close the collective engine is to its bound, by the golden model (equal to the RTL)."""

from rich.table import Table

from recspeed.models.spec.collective import CollectiveParameters, Operation, WireFormat
from recspeed.scripts.measurements.collective_runs import (
    Result,
    equal_collective,
    error_free_cycles,
    make_job,
    run_job,
)
from recspeed.scripts.options import Fidelity

CHIPS = (2, 4, 6, 8, 16)
LARGE_PEER_BYTES = 65536
PAPER_MESSAGES = (("indices", 160_000), ("pooled vectors", 32_000))
"""Bytes per chip of the paper's all-to-alls on 16 chips: small batch, unsharded tables."""
ERROR_RATE = 1e-4
ERROR_FLITS = 30_000
"""Per link, about three errors each; more on few chips, so that there are enough in all."""


def _golden(operation: Operation, chips: int, held: int) -> Result:
    parameters = CollectiveParameters(chips=chips)
    item = equal_collective(operation, chips, held, WireFormat.FP16)
    return run_job(make_job(parameters, item, held, seed=0), [Fidelity.GOLDEN])[0][0]


def latency_table() -> Table:
    """One flit to every peer, and the paper's messages."""
    table = Table("all-to-all", "chips", "clocks", "bound", "ns", title="short messages")
    for chips in CHIPS:
        one = _golden(Operation.ALL_TO_ALL, chips, 64 * chips)
        table.add_row("one flit per peer", str(chips), *_times(one))
    for name, size in PAPER_MESSAGES:
        one = _golden(Operation.ALL_TO_ALL, 16, size)
        share = f"{one.cycles / one.bound_cycles:.2f} x bound"
        table.add_row(f"{name}, {size:,} B per chip: {share}", "16", *_times(one))
    return table


def _times(one: Result) -> tuple[str, str, str]:
    return f"{one.cycles:,}", f"{one.bound_cycles:,}", f"{one.nanoseconds:,.1f}"


def bandwidth_table() -> Table:
    """Large messages: clocks, and the share of the bound."""
    table = Table(
        "operation",
        *(f"n = {chips}" for chips in CHIPS),
        title=f"{LARGE_PEER_BYTES // 1024} KB per peer: clocks (of the bound)",
    )
    table.columns[0].no_wrap = True
    table.columns[0].min_width = len("reduce_scatter")
    for operation in Operation:
        cells = []
        for chips in CHIPS:
            scale = 1 if operation == Operation.ALL_GATHER else chips
            one = _golden(operation, chips, LARGE_PEER_BYTES * scale)
            cells.append(f"{one.cycles:,} ({one.bound_cycles / one.cycles:.1%})")
        table.add_row(operation.name.lower(), *cells)
    return table


def error_table() -> Table:
    """Throughput with errors, beside what go-back-N can reach."""
    table = Table(
        "n",
        "replay round trip, flits",
        "slowest link",
        "all links",
        "go-back-N",
        title=f"throughput at {ERROR_RATE:g} errors per flit, of the error-free one",
    )
    for chips in CHIPS:
        parameters = CollectiveParameters(chips=chips)
        flits = ERROR_FLITS * max(1, 12 // (chips * (chips - 1)))
        item = equal_collective(Operation.ALL_GATHER, chips, 64 * flits, WireFormat.FP16)
        job = make_job(parameters, item, 64 * flits, seed=0, error_rate=ERROR_RATE)
        one = run_job(job, [Fidelity.GOLDEN])[0][0]
        table.add_row(
            str(chips),
            f"{parameters.link.replay_clocks:,}",
            f"{error_free_cycles(job) / one.cycles:.1%}",
            f"{one.flits_sent / (one.flits_sent + one.flits_replayed):.1%}",
            f"{parameters.link.go_back_n_share(ERROR_RATE):.1%}",
        )
    return table
