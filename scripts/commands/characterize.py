"""`recspeed characterize`: pooling throughput per embedding size, as CSV, plot and report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from recspeed.models.spec.engine import RunSettings
from recspeed.scripts.characterization import (
    Measured,
    Point,
    csv_text,
    disagreements,
    measure_all,
    plan,
)
from recspeed.scripts.console import (
    CHECK_FAILED,
    INTERRUPTED,
    UserError,
    out,
    progress,
    whole_file,
)
from recspeed.scripts.options import OutstandingOption, SeedOption, engines, numbers, presets


def register(app: typer.Typer) -> None:
    app.command(
        name="characterize",
        epilog="Example: recspeed characterize --memory hbm2-2000,hbm2e-3000 --bytes 32:256:32 "
        "--engine rtl,golden,bound --out characterize",
    )(characterize)


def characterize(
    memory: Annotated[str, typer.Option(help="Memory presets, comma-separated.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")],
    sizes: Annotated[
        str, typer.Option("--bytes", help="Embedding sizes: A,B,C or FIRST:LAST:STEP.")
    ] = "32:256:32",
    engine: Annotated[
        str, typer.Option(help="Engines, comma-separated: rtl, golden, bound.")
    ] = "rtl,golden,bound",
    lookups: Annotated[int, typer.Option(min=1, help="Lookups per point.")] = 100_000,
    outstanding: OutstandingOption = 64,
    seed: SeedOption = 0,
) -> None:
    """Pooling throughput of a memory channel per embedding size.

    Uniformly random rows of a table that fills the pseudo channel, 80 lookups per bag, all-bank
    refresh. Writes throughput.csv, throughput.png and report.html. Finished points are kept in the
    folder and used again when nothing that they depend on has changed; so an interrupted run goes
    on where it was. Where both RTL and golden model ran they are compared bit by bit and clock by
    clock.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; expected a folder for the results")
    points = plan(
        presets(memory),
        numbers(sizes, "--bytes"),
        engines(engine),
        lookups,
        RunSettings(outstanding=outstanding),
        seed,
    )
    measured, reused = _measure(points, folder)
    _write(measured, folder)
    out.print(_table(measured))
    out.print(
        f"{len(points)} points, {reused} of them kept from an earlier run; "
        f"{folder / 'throughput.csv'}, throughput.png, report.html",
        highlight=False,
        soft_wrap=True,
    )
    if faults := disagreements(measured):
        more = f"; and {len(faults) - 1} more points" if len(faults) > 1 else ""
        raise UserError(faults[0] + more, CHECK_FAILED)


def _measure(points: list[Point], folder: Path) -> tuple[list[Measured], int]:
    finished = 0
    reused = 0
    with progress() as bar:
        task = bar.add_task("points", total=len(points))

        def done(point: Point, found: bool) -> None:
            nonlocal finished, reused
            finished += 1
            reused += found
            name = f"{point.preset.name} {point.size} B {point.engine}"
            bar.update(task, advance=1, description=name)

        try:
            return measure_all(points, folder, done), reused
        except KeyboardInterrupt:
            raise UserError(
                f"interrupted; {finished} of {len(points)} points are kept in {folder}",
                INTERRUPTED,
            ) from None


def _write(measured: list[Measured], folder: Path) -> None:
    # Matplotlib takes a second to import: not for --help.
    from recspeed.scripts.reports.throughput_html import report_html
    from recspeed.scripts.reports.throughput_plot import throughput_png

    plot = throughput_png(measured)
    page = report_html(measured, plot)
    with whole_file(folder / "throughput.csv") as temporary:
        temporary.write_text(csv_text(measured))
    with whole_file(folder / "throughput.png") as temporary:
        temporary.write_bytes(plot)
    with whole_file(folder / "report.html") as temporary:
        temporary.write_text(page, encoding="utf-8")


def _table(measured: list[Measured]) -> Table:
    table = Table(title="GB/s per pseudo channel and chip", title_justify="left")
    table.add_column("memory", no_wrap=True)
    table.add_column("B", justify="right")
    table.add_column("engine")
    for column in ("GB/s", "chip", "of pin", "of bound"):
        table.add_column(column, justify="right")
    table.add_column("limiter")
    previous = None
    for one in measured:
        if previous is not None and one.point.preset is not previous:
            table.add_section()
        previous = one.point.preset
        table.add_row(
            one.point.preset.name,
            str(one.point.size),
            one.point.engine.value,
            f"{one.gb_per_s:.2f}",
            f"{one.gb_per_s_chip:.0f}",
            f"{one.fraction_of_pin:.1%}",
            f"{one.fraction_of_bound:.1%}",
            one.limiter,
        )
    return table
