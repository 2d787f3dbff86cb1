"""`recspeed reproduce`: every table and figure of the paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from recspeed.models.performance import paper
from recspeed.scripts.console import CHECK_FAILED, UserError, out

if TYPE_CHECKING:
    from recspeed.scripts.reports.reproduce import Summary

EXAMPLE = "Example: recspeed reproduce --out build/out/reproduce"


def show(summary: "Summary") -> None:
    """Print every figure of merit."""
    table = Table(title="Tables XVI and XVII: paper and model")
    for name in ("table", "system", "case", "quantity"):
        table.add_column(name)
    for name in ("paper", "model", "error"):
        table.add_column(name, justify="right")
    table.add_column("rounds")
    for row in [*summary.cells, *(r for r in summary.speedups if r.quantity == "speedup")]:
        cell = row.quantity != "speedup"
        table.add_row(
            row.table,
            row.system,
            row.case,
            row.quantity,
            f"{row.paper:g}",
            f"{row.model:.4g}" if row.model < 1000 else f"{row.model:,.0f}",
            f"{row.relative_error:+.2%}",
            ("yes" if paper.rounds_to_printed(row) else "no") if cell else "",
        )
    out.print(table)
    for row in [*summary.prose, *(r for r in summary.speedups if r.table == "abstract")]:
        name = f"{row.table}, {row.case}, {row.quantity}"
        out.print(f"{name}: paper {row.paper:g}, model {row.model:.6g}")
    for check in summary.axes:
        out.print(
            f"Fig. {check.figure}: model {check.lowest:,.0f} to {check.highest:,.0f}, printed axis"
            f" {check.first:,.0f} to {check.last:,.0f}: {'fits' if check.fits else 'DOES NOT FIT'}"
        )
    out.print(
        f"{len(summary.cells)} cells: largest error {summary.largest_error:.2%},"
        f" mean {summary.mean_error:.2%}, {summary.rounding} round to the printed value"
    )


def register(app: typer.Typer) -> None:
    """Add `reproduce` to the program."""

    @app.command("reproduce", epilog=EXAMPLE)
    def command(
        out_path: Annotated[Path, typer.Option("--out", help="Folder of the report.")] = Path(
            "build/out/reproduce"
        ),
        seed: Annotated[int, typer.Option(help="Taken for uniformity; nothing is random.")] = 0,
    ) -> None:
        """Every table and figure of the paper: tables.csv, CSV and PNG of each, report.html."""
        from recspeed.scripts.reports.reproduce import reproduce

        del seed
        if out_path.exists() and not out_path.is_dir():
            raise UserError(f"--out {out_path}: is a file, expected a folder")
        summary = reproduce(out_path)
        show(summary)
        out.print(f"report: {out_path / 'report.html'}")
        if summary.failures:
            raise UserError("not reached: " + "; ".join(summary.failures), CHECK_FAILED)
