"""`recspeed trace`: make traces and look at them; `convert` is in `trace_convert`."""

import dataclasses
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from recspeed.models.traces import dlrm
from recspeed.models.traces.distributions import Distribution, Uniform, Zipf
from recspeed.models.traces.generate import POOLING_FORMS, Pooling
from recspeed.models.traces.generate import generate as generate_trace
from recspeed.models.traces.statistics import TableStatistics, table_statistics
from recspeed.models.traces.trace import Trace, load_trace
from recspeed.scripts.commands.trace_convert import OutOption, convert, per_table, write_trace
from recspeed.scripts.console import UserError, out, progress, whole_file
from recspeed.scripts.options import SeedOption


class Law(StrEnum):
    """Which rows a generated trace looks up."""

    UNIFORM = "uniform"
    ZIPF = "zipf"
    STACK = "stack-distance"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Make, convert and look at lookup traces.", no_args_is_help=True)
    group.command(
        name="generate",
        epilog="Example: recspeed trace generate --tables 40 --rows 1000000 --dim 32 --pooling 80 "
        "--batch 200 --distribution zipf --zipf-s 1.1 --out zipf.npz",
    )(generate)
    group.command(
        name="convert",
        epilog="Example: recspeed trace convert day_0.tsv --from criteo --map modulo "
        "--rows 1000000 --table 2 --out category2.npz",
    )(convert)
    group.command(name="stats", epilog="Example: recspeed trace stats zipf.npz --json stats.json")(
        stats
    )
    app.add_typer(group, name="trace")


def generate(
    out_path: OutOption,
    tables: Annotated[int, typer.Option(min=1, help="Tables.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Samples, and so bags per table.")] = 200,
    rows: Annotated[
        str, typer.Option(help="Rows of each table: one number, or one per table.")
    ] = "1000000",
    dim: Annotated[
        str, typer.Option(help="Elements per row: one number, or one per table.")
    ] = "32",
    pooling: Annotated[str, typer.Option(help=f"Lookups per bag: {POOLING_FORMS}.")] = "80",
    distribution: Annotated[Law, typer.Option(help="Which rows are looked up.")] = Law.UNIFORM,
    zipf_q: Annotated[float, typer.Option(help="Zipf: P(k) ~ 1 / (k + q)^s.")] = 0.0,
    zipf_s: Annotated[float, typer.Option(help="Zipf: P(k) ~ 1 / (k + q)^s.")] = 1.05,
    profile: Annotated[
        Path | None, typer.Option(help="stack-distance: profile in dlrm's dist_emb form.")
    ] = None,
    empty: Annotated[float, typer.Option(min=0, max=1, help="Share of bags that are empty.")] = 0.0,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="No row twice in a bag, as in dlrm's generators.")
    ] = False,
    ascending: Annotated[
        bool, typer.Option("--ascending", help="Rows ascend in each bag, as in dlrm's generators.")
    ] = False,
    contents: Annotated[
        bool, typer.Option("--contents", help="Carry the tables too: standard normal FP16 numbers.")
    ] = False,
    seed: SeedOption = 0,
) -> None:
    """Generate a trace.

    By default rows are drawn with replacement and in no order: bags may hold a row twice.
    """
    shapes = list(
        zip(per_table(rows, "--rows", tables), per_table(dim, "--dim", tables), strict=True)
    )
    law = _distribution(distribution, zipf_q, zipf_s, profile)
    trace = generate_trace(
        shapes,
        batch,
        Pooling.parse(pooling),
        law,
        empty=empty,
        distinct=distinct,
        ascending=ascending,
        contents=contents,
        seed=seed,
    )
    write_trace(trace, out_path)


def stats(
    path: Annotated[Path, typer.Argument(help="Trace file (.npz).")],
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write every figure to this file too.")
    ] = None,
) -> None:
    """Pooling factors, unique rows, reuse, duplicates and empty bags of every table."""
    trace = load_trace(path)
    figures: list[TableStatistics] = []
    with progress() as bar:
        for table in bar.track(range(trace.tables), description="tables"):
            figures.append(table_statistics(trace, table))
    out.print(_statistics_table(trace, figures, path))
    if json_path is not None:
        document = {
            "trace": path.name,
            "tables": trace.tables,
            "batch": trace.batch,
            "lookups": len(trace.indices),
            "per_table": [dataclasses.asdict(figure) for figure in figures],
        }
        with whole_file(json_path) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n")


def _distribution(law: Law, q: float, s: float, profile: Path | None) -> Distribution:
    if (profile is not None) != (law is Law.STACK):
        raise UserError("--profile goes with --distribution stack-distance, and only with it")
    if profile is not None:
        return dlrm.read_profile(profile)
    return Zipf(q, s) if law is Law.ZIPF else Uniform()


def _statistics_table(trace: Trace, figures: list[TableStatistics], path: Path) -> Table:
    title = f"{path.name}: {trace.tables} tables, batch of {trace.batch}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 0))
    columns = ("table", "rows", "dim", "lookups", "mean", "max", "empty", "unique", "reuse")
    columns += ("twice", "outside")
    for column in columns:
        table.add_column(column, justify="right")
    for figure in figures:
        table.add_row(
            str(figure.table),
            str(figure.rows),
            str(figure.dim),
            str(figure.lookups),
            f"{figure.pooling_mean:.1f}",
            str(figure.pooling_maximum),
            str(figure.empty_bags),
            str(figure.unique_rows),
            f"{figure.reuse:.2f}",
            str(figure.duplicates),
            str(figure.out_of_range),
        )
    table.caption = (
        "mean, max: lookups per bag; empty: bags; unique: rows; reuse: lookups per unique row; "
        "twice: lookups repeated in a bag; outside: lookups out of range. --json has more."
    )
    return table
