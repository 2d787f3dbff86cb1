"""`recspeed characterize`: pooling throughput per embedding size, as CSV, plots and report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from recspeed.models.spec.cluster import ClusterSettings
from recspeed.scripts.console import (
    CHECK_FAILED,
    UserError,
    out,
    whole_file,
)
from recspeed.scripts.measurements.run import measure_into
from recspeed.scripts.measurements.system_figures import (
    bandwidth_csv,
    bandwidth_points,
    bandwidths,
    capacities,
    capacity_csv,
    chosen_figures,
)
from recspeed.scripts.measurements.throughput import (
    Measured,
    csv_text,
    disagreements,
    measured,
    plan,
)
from recspeed.scripts.options import (
    JobsOption,
    OutstandingOption,
    SchedulerOption,
    SeedOption,
    chosen_fidelities,
    executor_of,
    numbers,
    presets,
)


def register(app: typer.Typer) -> None:
    app.command(
        name="characterize",
        epilog="Example: recspeed characterize --memory hbm2-2000,hbm2e-3000 --bytes 32:256:32 "
        "--engine rtl,golden,bound --out characterize",
    )(characterize)


def characterize(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the results.")],
    memory: Annotated[
        str | None, typer.Option(help="Memory presets or TOML files, comma-separated.")
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="Figures of the paper on whole memory systems: 6 (bandwidth by embedding size), "
            "7 (capacity), or 6,7."
        ),
    ] = None,
    sizes: Annotated[
        str, typer.Option("--bytes", help="Embedding sizes: A,B,C or FIRST:LAST:STEP.")
    ] = "32:256:32",
    fidelity: Annotated[
        str, typer.Option("--engine", help="Engines, comma-separated: rtl, golden, bound.")
    ] = "rtl,golden,bound",
    lookups: Annotated[
        int, typer.Option(min=1, max=100_000_000, help="Lookups per point.")
    ] = 100_000,
    outstanding: OutstandingOption = 64,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Pooling throughput of a memory channel per embedding size.

    Uniformly random rows of a table that fills the channel, 80 lookups per bag, all-bank refresh.
    Writes report.html, for --memory throughput.csv and .png, for --figure figure-06.csv and .png,
    figure-07.csv and .png. Finished points are kept in the folder and used again when nothing that
    they depend on has changed; so an interrupted run goes on where it was. Where both RTL and
    golden model ran they are compared bit by bit and clock by clock.
    """
    if memory is None and figure is None:
        raise UserError("characterize: --memory or --figure is missing, what to measure")
    executor = executor_of(jobs, scheduler)
    figures = chosen_figures(figure) if figure is not None else ()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; expected a folder for the results")
    how = (
        numbers(sizes, "--bytes"),
        chosen_fidelities(fidelity),
        lookups,
        ClusterSettings(outstanding=outstanding),
        seed,
    )
    own = plan(presets(memory), *how) if memory is not None else []
    of_figure = bandwidth_points(*how) if 6 in figures else []
    points = list(dict.fromkeys([*own, *of_figure]))
    outcomes, reused = measure_into(folder, points, executor)
    everything = measured(points, outcomes)
    by_point = {each.point: each for each in everything}
    files = _write(
        [by_point[point] for point in own],
        [by_point[point] for point in of_figure],
        figures,
        folder,
    )
    if everything:
        out.print(_table(everything))
    out.print(
        f"{len(points)} points, {reused} of them kept from an earlier run; "
        f"{folder / files[0]}, {', '.join(files[1:])}",
        highlight=False,
        soft_wrap=True,
    )
    if faults := disagreements(everything):
        more = f"; and {len(faults) - 1} more points" if len(faults) > 1 else ""
        raise UserError(faults[0] + more, CHECK_FAILED)


def _write(
    own: list[Measured], of_figure: list[Measured], figures: tuple[int, ...], folder: Path
) -> list[str]:
    """Write every file and return their names."""
    # Matplotlib takes a second to import: not for --help.
    from recspeed.scripts.reports.system_plot import bandwidth_png, capacity_png
    from recspeed.scripts.reports.system_sections import bandwidth_section, capacity_section
    from recspeed.scripts.reports.throughput_html import report_html
    from recspeed.scripts.reports.throughput_plot import throughput_png

    texts: dict[str, str] = {}
    pictures: dict[str, bytes] = {}
    sections = []
    if own:
        texts["throughput.csv"] = csv_text(own)
        pictures["throughput.png"] = throughput_png(own)
    if of_figure:
        systems = bandwidths(of_figure)
        texts["figure-06.csv"] = bandwidth_csv(systems)
        pictures["figure-06.png"] = bandwidth_png(systems)
        sections.append(bandwidth_section(systems, pictures["figure-06.png"]))
    if 7 in figures:
        texts["figure-07.csv"] = capacity_csv(capacities())
        pictures["figure-07.png"] = capacity_png(capacities())
        sections.append(capacity_section(capacities(), pictures["figure-07.png"]))
    every = [*own, *(each for each in of_figure if each not in own)]
    texts["report.html"] = report_html(
        own, pictures.get("throughput.png"), sections=sections, every=every
    )
    for name, text in texts.items():
        with whole_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    for name, picture in pictures.items():
        with whole_file(folder / name) as temporary:
            temporary.write_bytes(picture)
    return [*(name for name in texts if name != "report.html"), *pictures, "report.html"]


def _table(measured: list[Measured]) -> Table:
    table = Table(title="GB/s per channel (HBM: pseudo channel) and chip", title_justify="left")
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
            one.point.fidelity.value,
            f"{one.gb_per_s:.2f}",
            f"{one.gb_per_s_chip:.0f}",
            f"{one.fraction_of_pin:.1%}",
            f"{one.fraction_of_bound:.1%}",
            one.limiter,
        )
    return table
