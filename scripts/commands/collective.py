"""`recspeed collective`: a collective operation of n chips, by RTL, golden model or bound."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pydantic import ValidationError
from rich.box import SIMPLE_HEAD
from rich.table import Table

from recspeed.models.runs.collective import Collective
from recspeed.models.spec.collective import (
    MAXIMUM_CHIPS,
    MINIMUM_CHIPS,
    CollectiveParameters,
    Operation,
    WireFormat,
)
from recspeed.models.spec.toml import describe
from recspeed.models.topologies.comparison import Topology
from recspeed.scripts.console import INTERRUPTED, UserError, out, progress, whole_file
from recspeed.scripts.measurements.collective_point import CollectivePoint
from recspeed.scripts.measurements.collective_runs import (
    Job,
    Result,
    equal_collective,
    error_free_cycles,
    make_job,
    run_job,
)
from recspeed.scripts.measurements.executor import Executor, run_points
from recspeed.scripts.measurements.point import Point
from recspeed.scripts.measurements.store import Store
from recspeed.scripts.options import (
    Fidelity,
    JobsOption,
    SchedulerOption,
    SeedOption,
    chosen_fidelities,
    executor_of,
    numbers,
)
from recspeed.scripts.reports.collective_plot import (
    PAPER_LATENCY_NANOSECONDS,
    TOPOLOGIES,
    collective_png,
    paper_nanoseconds,
    slice_bytes,
)

EXAMPLE = (
    "Example: recspeed collective --op all_to_all --chips 16 --bytes 160000 "
    "--engine rtl,golden,bound --out a2a.json"
)
MAXIMUM_BYTES = 1 << 26
"""Bytes per chip: 1 MB for each of 16 peers, and then some."""

SWEEP_BYTES = tuple(1 << power for power in range(6, 21, 2))
FILE_COLUMNS = 100
SWEEP_CHIPS = (2, 4, 6, 8, 16)


class OperationName(StrEnum):
    """The operations as written on the command line."""

    ALL_TO_ALL = "all_to_all"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_GATHER = "all_gather"
    ALL_REDUCE = "all_reduce"


class WireName(StrEnum):
    """The wire formats as written on the command line."""

    FP16 = "fp16"
    FP32 = "fp32"
    EXACT = "exact"


def _parameters(chips: int, latency: float, channels: int) -> CollectiveParameters:
    values = {"chips": chips, "latency_nanoseconds": latency, "virtual_channels": channels}
    try:
        return CollectiveParameters.model_validate(values)
    except ValidationError as error:
        raise UserError(describe(error, "--chips, --latency")) from None


def _per_peer(path: Path, operation: Operation, chips: int, wire: WireFormat) -> Collective:
    """Read sizes per peer.

    Raises
    ------
    UserError
        Naming the file and what is wrong with it.
    """
    try:
        rows = [line.replace(",", " ").split() for line in path.read_text().splitlines()]
        rows = [row for row in rows if row]
        sizes = [[int(word) for word in row] for row in rows]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UserError(f"--per-peer {path}: {reason}") from None
    except ValueError:
        raise UserError(f"--per-peer {path}: expected whole numbers of bytes") from None
    expected = chips if operation == Operation.ALL_TO_ALL else 1
    if len(sizes) != expected or any(len(row) != chips for row in sizes):
        raise UserError(
            f"--per-peer {path}: expected {expected} line(s) of {chips} sizes for "
            f"{operation.name.lower()} on {chips} chips"
        )
    # As Python's integers: a size may be too large for any of NumPy's.
    if any(min(row) < 0 or sum(row) > MAXIMUM_BYTES for row in sizes):
        raise UserError(
            f"--per-peer {path}: expected sizes from 0 up, at most {MAXIMUM_BYTES} bytes per chip"
        )
    lengths = np.array(sizes, np.int64)
    if operation.reduces:
        if (lengths % 2).any():
            raise UserError(f"--per-peer {path}: FP16 elements take 2 bytes; expected even sizes")
        lengths = lengths // 2 * wire.bytes
    if operation == Operation.ALL_GATHER:
        lengths = np.tile(lengths.T, (1, chips))
    lengths = np.broadcast_to(lengths, (chips, chips)).copy()
    return Collective(operation, lengths, np.zeros(chips, np.int64), wire)


def _held(item: Collective) -> list[int]:
    """Bytes that each chip holds before the operation."""
    scale = item.wire.bytes // 2 if item.operation.reduces else 1
    return [sum(item.input_blocks(rank)) // scale for rank in range(item.chips)]


def _dump(folder: Path, stem: str, arrays: Sequence[np.ndarray]) -> None:
    for rank, array in enumerate(arrays):
        with whole_file(folder / f"{stem}_{rank}.npy") as path, path.open("wb") as file:
            np.save(file, array)


def _write(path: Path, results: Sequence[Result]) -> None:
    """One result as an object, several as a list."""
    values = [result.keys() for result in results]
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(values if len(values) > 1 else values[0], indent=2) + "\n")


def _show(results: Sequence[Result]) -> None:
    """A table as nccl-tests prints it."""
    title = f"{results[0].op}, {results[0].wire}; bandwidths in GB/s"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("chips", "bytes/chip", "engine", "clocks", "ns", "of bound", "algbw", "busbw"):
        table.add_column(name, justify="left" if name == "engine" else "right", no_wrap=True)
    if any(one.crc_errors or one.flits_replayed for one in results):
        table.add_column("replays", justify="right", no_wrap=True)
    for one in results:
        share = f"{one.bound_cycles / one.cycles:.1%}" if one.cycles else "-"
        values = (
            str(one.chips),
            f"{one.bytes_per_chip:,}",
            one.fidelity,
            f"{one.cycles:,}",
            f"{one.nanoseconds:,.1f}",
            share,
            f"{one.algorithm_bandwidth:,.1f}",
            f"{one.bus_bandwidth:,.1f}",
            f"{one.flits_replayed:,}",
        )
        table.add_row(*values[: len(table.columns)])
    # A file has no width that rows would have to be cut to.
    out.print(table, width=None if out.is_terminal else FILE_COLUMNS)


def _show_share(job: Job, result: Result, error_rate: float) -> None:
    """What is left of the error-free throughput, and what go-back-N can leave of it."""
    link = job.parameters.link
    if result.cycles == 0:
        return
    out.print(
        f"{error_free_cycles(job) / result.cycles:.1%} of the error-free throughput on the slowest "
        f"link; go-back-N leaves {link.go_back_n_share(error_rate):.1%} on average: "
        f"1 / (1 + {error_rate:g} x {link.replay_clocks} flits of a round trip)",
        soft_wrap=True,
        highlight=False,
    )


def _compare(results: Sequence[Result]) -> None:
    """Direct links, ring, switch and the paper's model, for the largest number of chips."""
    most = max(one.chips for one in results)
    kept = [one for one in results if one.chips == most and one.fidelity != Fidelity.BOUND]
    if not any(one.topology == Topology.DIRECT for one in kept):
        return
    table = Table(
        title=f"{results[0].op}, {most} chips, golden models: ns",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("bytes/peer", justify="right", no_wrap=True)
    for topology in Topology:
        table.add_column(TOPOLOGIES[topology], justify="right")
    table.add_column(f"paper, {PAPER_LATENCY_NANOSECONDS:g} ns + V/BW", justify="right")
    for size in sorted({slice_bytes(one) for one in kept}):
        times = {one.topology: one.nanoseconds for one in kept if slice_bytes(one) == size}
        paper = paper_nanoseconds(Operation[results[0].op.upper()], most, size)
        table.add_row(
            f"{size:,}",
            *(f"{times[topology.value]:,.1f}" for topology in Topology),
            f"{paper:,.1f}",
        )
    out.print(table)


def _in_order(points: Sequence[CollectivePoint], finished: dict[str, list[Result]]) -> list[Result]:
    """The results of the points that are finished, in the order of the sweep."""
    return [result for point in points for result in finished.get(point.key, [])]


def _sweep(
    operation: Operation,
    wire: WireFormat,
    chip_counts: Sequence[int],
    chosen: Sequence[Fidelity],
    latency: float,
    channels: int,
    seed: int,
    path: Path,
    executor: Executor,
) -> None:
    """Every size per peer on every number of chips; JSON to `path`, the plot beside it."""
    plot = path.with_suffix(".png")
    if plot == path:
        raise UserError(f"--out {path}: the plot goes there; expected a name that ends in .json")
    points = [
        CollectivePoint(
            operation, wire, _parameters(chips, latency, channels), size, tuple(chosen), seed
        )
        for chips in chip_counts
        for size in SWEEP_BYTES
    ]
    store = Store(path.with_name(f".{path.stem}-points"))
    finished: dict[str, list[Result]] = {}
    try:
        with progress() as bar:
            task = bar.add_task("sweep", total=len(points))

            def done(point: Point, outcome: list[Result], _kept: bool) -> None:
                finished[point.key] = outcome
                bar.update(task, advance=1, description=point.title)

            run_points(points, store, executor, done)
    except KeyboardInterrupt:
        if not finished:
            raise
        _write(path, _in_order(points, finished))
        raise UserError(
            f"interrupted; {len(finished)} of {len(points)} points are in {path}", INTERRUPTED
        ) from None
    store.clear(points)
    results = _in_order(points, finished)
    _write(path, results)
    with whole_file(plot) as temporary:
        temporary.write_bytes(collective_png(operation, results, latency))
    _show([one for one in results if one.topology == Topology.DIRECT])
    _compare(results)
    out.print(f"{path} and {plot}", soft_wrap=True, highlight=False)


def register(app: typer.Typer) -> None:
    app.command(name="collective", epilog=EXAMPLE)(collective_command)


def collective_command(
    op: Annotated[OperationName, typer.Option("--op", help="The operation.")],
    out_path: Annotated[Path, typer.Option("--out", help="Result file (.json).")],
    chips: Annotated[str, typer.Option(help="Number of chips; with --sweep also A,B,C.")] = "16",
    size: Annotated[
        int | None,
        typer.Option(
            "--bytes",
            min=0,
            max=MAXIMUM_BYTES,
            help="Bytes that each chip holds before the operation, cut into slices as equal as "
            "possible (bytes, or FP16 elements for reductions).",
        ),
    ] = None,
    per_peer: Annotated[
        Path | None,
        typer.Option(
            help="Text file of sizes in bytes: for all_to_all a line per rank with a size per "
            "peer, otherwise one line with a size per rank."
        ),
    ] = None,
    wire: Annotated[
        WireName, typer.Option(help="What reductions send: values or partial sums.")
    ] = WireName.FP16,
    latency: Annotated[
        float, typer.Option(min=0.1, max=1000, help="SerDes, FEC and wire, one way, in ns.")
    ] = 60.0,
    virtual_channels: Annotated[
        int,
        typer.Option(min=1, max=2, help="Virtual channels of a link, each with its own credit."),
    ] = 1,
    error_rate: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of flits that get bit errors.")
    ] = 0.0,
    skew: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Ranks start up to so many clocks late.")
    ] = 0,
    fidelity: Annotated[
        str, typer.Option("--engine", help="Some of rtl, golden, bound.")
    ] = "golden,bound",
    seed: SeedOption = 0,
    dump: Annotated[
        Path | None, typer.Option(help="Folder for in_R.npy and out_R.npy of every rank, uint8.")
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="64 B to 1 MB per peer on 2 to 16 chips, and a plot.")
    ] = False,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run a collective operation on chips that are linked pairwise, and report its clocks.

    With rtl and golden together, every clock, counter and byte must agree, or the exit code is 1.
    The result is an object, or a list of them when several engines are named.
    """
    executor = executor_of(jobs, scheduler)
    operation, wire_format = Operation[op.name], WireFormat[wire.name]
    chosen = chosen_fidelities(fidelity)
    if sweep:
        if size is not None or per_peer is not None or dump is not None or error_rate or skew:
            raise UserError("--sweep: chooses sizes itself; expected no --bytes, --per-peer, "
                            "--dump, --error-rate or --skew")  # fmt: skip
        counts = SWEEP_CHIPS if chips == "16" else numbers(chips, "--chips", MINIMUM_CHIPS)
        if len(set(counts)) != len(counts):
            raise UserError(f"--chips {chips}: a number is named twice")
        _sweep(
            operation,
            wire_format,
            counts,
            chosen,
            latency,
            virtual_channels,
            seed,
            out_path,
            executor,
        )
        return
    if (
        not (chips.isascii() and chips.isdigit())
        or not MINIMUM_CHIPS <= int(chips) <= MAXIMUM_CHIPS
    ):
        raise UserError(f"--chips {chips}: expected {MINIMUM_CHIPS} to {MAXIMUM_CHIPS}")
    if size is None and per_peer is None:
        raise UserError("--bytes: missing; expected the bytes that each chip holds, or --per-peer")
    if dump is not None and chosen == [Fidelity.BOUND]:
        raise UserError("--dump: the bound delivers nothing; expected --engine golden or rtl")
    parameters = _parameters(int(chips), latency, virtual_channels)
    if per_peer is not None:
        item = _per_peer(per_peer, operation, parameters.chips, wire_format)
        held = _held(item)
        if size is not None and set(held) != {size}:
            raise UserError(
                f"--bytes {size}: --per-peer {per_peer} gives chips {min(held)} to {max(held)} "
                "bytes; expected the same, or no --bytes"
            )
    else:
        item = equal_collective(operation, parameters.chips, size or 0, wire_format)
        held = _held(item)
    job = make_job(parameters, item, max(held), seed=seed, skew=skew, error_rate=error_rate)
    results, outputs = run_job(job, chosen)
    if dump is not None and outputs is not None:
        _dump(dump, "in", job.held)
        _dump(dump, "out", outputs)
    _write(out_path, results)
    _show(results)
    measured = [one for one in results if one.fidelity != Fidelity.BOUND]
    if error_rate and measured:
        _show_share(job, measured[-1], error_rate)
