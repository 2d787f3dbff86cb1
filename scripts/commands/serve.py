"""`recspeed serve`: latency percentiles against load, and the throughput within an SLA."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from recspeed.models.performance import presets
from recspeed.models.performance.serving import (
    LARGEST_QUERY,
    SIZE_KINDS,
    QuerySizes,
    Served,
    Serving,
    service_model,
    simulate,
)
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.scripts.commands.simulate import write_json
from recspeed.scripts.console import UserError, out, progress
from recspeed.scripts.reports.tabular import write_csv

EXAMPLE = "Example: recspeed serve --system recspeed-16 --workload rm2-small --sla-ms 0.1"
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Loads of the curve, as shares of the capacity."""

HEADER = ["offered_qps", "completed_qps", "utilisation", "p50_ms", "p90_ms", "p95_ms", "p99_ms"]


def read_column(path: Path, what: str) -> np.ndarray:
    """Numbers of a text file, one per line; `#` starts a comment."""
    if not path.is_file():
        raise UserError(f"{what} {path}: no such file")
    numbers = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        value = text.partition("#")[0].strip()
        if not value:
            continue
        try:
            numbers.append(float(value))
        except ValueError:
            raise UserError(f"{what} {path}, line {number}: '{value}' is not a number") from None
    if not numbers or not np.isfinite(numbers).all():
        raise UserError(f"{what} {path}: expected finite numbers, one per line")
    return np.array(numbers)


def _sizes(kind: str, median: float, sigma: float, path: Path | None) -> QuerySizes:
    if path is not None:
        values = read_column(path, "--size-trace")
        if (values < 1).any() or (values > LARGEST_QUERY).any() or (values % 1).any():
            raise UserError(
                f"--size-trace {path}: expected whole numbers from 1 to {LARGEST_QUERY}"
            )
        return QuerySizes(values=tuple(int(value) for value in values))
    for known in SIZE_KINDS:
        if known == kind:
            return QuerySizes(known, median, sigma)
    raise UserError(f"--sizes {kind}: does not exist; there are {', '.join(SIZE_KINDS)}")


def row(served: Served) -> list[float]:
    """One line of HEADER."""
    times = [served.percentile(percent) * 1e3 for percent in (50, 90, 95, 99)]
    return [served.offered_qps, served.completed_qps, served.utilisation, *times]


def plot(path: Path, rows: list[list[float]], sla_ms: float, best: float, title: str) -> None:
    """Percentiles against load, with the SLA and the highest load within it."""
    from matplotlib.ticker import FuncFormatter

    from recspeed.scripts.reports import drawing

    with drawing.figure() as (sheet, ax):
        for index, label in ((6, "99 %"), (5, "95 %"), (4, "90 %"), (3, "50 %")):
            ax.plot([r[0] for r in rows], [r[index] for r in rows], marker="o", ms=3, label=label)
        ax.axhline(sla_ms, color="black", linewidth=1, linestyle=":")
        ax.annotate("SLA", (rows[0][0], sla_ms), xytext=(0, 4), textcoords="offset points")
        if best > 0:
            ax.axvline(best, color="black", linewidth=1, linestyle=":")
        ax.set_yscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(drawing.thousands))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set(xlabel="queries per second", ylabel="latency (ms)", title=title)
        ax.legend(title="percentile")
        drawing.save(sheet, path)


def curve(serving: Serving, sla_ms: float, percentile: float) -> tuple[list[list[float]], float]:
    """Lines of HEADER for every load of LOADS, and the highest load within the SLA."""
    capacity = serving.capacity()
    rows = []
    with progress() as bar:
        task = bar.add_task("loads", total=len(LOADS) + 1)
        for load in LOADS:
            rows.append(row(serving.at(load * capacity)))
            bar.advance(task)
        best = serving.highest_qps(sla_ms * 1e-3, percentile)
        bar.advance(task)
    return rows, best


def replay(serving: Serving, path: Path) -> Served:
    """Serve the arrivals of a trace, sizes drawn as for Poisson arrivals."""
    arrivals = np.sort(read_column(path, "--arrival-trace"))
    if arrivals[0] < 0:
        raise UserError(f"--arrival-trace {path}: {arrivals[0]:g} is a time below zero")
    sizes = serving.sizes.draw(np.random.default_rng(serving.seed), len(arrivals))
    return simulate(arrivals, sizes, serving.service, serving.largest_part, serving.replicas)


def show(title: str, rows: list[list[float]]) -> None:
    """Print the lines of HEADER."""
    table = Table(title=title)
    for name in HEADER:
        table.add_column(name, justify="right")
    for line in rows:
        table.add_row(*(f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in line))
    out.print(table)


def register(app: typer.Typer) -> None:
    """Add `serve` to the program."""

    @app.command(epilog=EXAMPLE)
    def serve(
        system: Annotated[str, typer.Option(help="Preset name, or a .toml file.")],
        workload: Annotated[str, typer.Option(help="Preset name, or a .toml file.")],
        sla_ms: Annotated[
            float, typer.Option(min=0, help="Latency constraint C_SLA in ms.")
        ] = 10.0,
        percentile: Annotated[float, typer.Option(min=1, max=99.99, help="P of the SLA.")] = 99.0,
        sizes: Annotated[str, typer.Option(help=f"{', '.join(SIZE_KINDS)}.")] = "lognormal",
        median: Annotated[float, typer.Option(min=1, help="Median query size in samples.")] = 200.0,
        sigma: Annotated[float, typer.Option(min=0, max=3, help="Of the lognormal sizes.")] = 0.9,
        size_trace: Annotated[Path | None, typer.Option(help="Sizes, one per line.")] = None,
        arrival_trace: Annotated[
            Path | None, typer.Option(help="Arrival times in seconds, one per line.")
        ] = None,
        largest_part: Annotated[
            int, typer.Option(min=1, help="Queries are cut in parts of at most so many samples.")
        ] = LARGEST_QUERY,
        replicas: Annotated[int, typer.Option(min=1, help="Equal systems behind one queue.")] = 1,
        queries: Annotated[int, typer.Option(min=100, help="Queries per load.")] = 10_000,
        placement: Annotated[str, typer.Option(help="As for simulate.")] = "unsharded",
        schedule: Annotated[str | None, typer.Option(help="As for simulate.")] = None,
        seed: Annotated[int, typer.Option(min=0, help="Of arrivals and sizes.")] = 0,
        out_path: Annotated[Path, typer.Option("--out", help="Folder.")] = Path("build/out/serve"),
    ) -> None:
        """Latency percentiles against load, and the highest load within an SLA (equation 1)."""
        chosen, target = presets.workload(workload), presets.system(system)
        service = service_model(chosen, target, parse_placement(placement), schedule)
        drawn = _sizes(sizes, median, sigma, size_trace)
        serving = Serving(service, drawn, largest_part, replicas, queries, seed)
        if arrival_trace is None:
            rows, best = curve(serving, sla_ms, percentile)
        else:
            rows, best = [row(replay(serving, arrival_trace))], None
        title = f"{chosen.name} on {target.name}"
        content = {
            "system": target.name,
            "workload": chosen.name,
            "sla_ms": sla_ms,
            "percentile": percentile,
            "seed": seed,
            "highest_qps_within_sla": best,
            "loads": [dict(zip(HEADER, line, strict=True)) for line in rows],
        }
        write_csv(out_path / "serve.csv", HEADER, rows)
        write_json(out_path / "serve.json", content)
        show(title, rows)
        if best is None:
            return
        plot(out_path / "serve.png", rows, sla_ms, best, title)
        if best > 0:
            out.print(f"{best:,.0f} queries per second keep {percentile:g} % within {sla_ms:g} ms")
        else:
            out.print(f"no load keeps {percentile:g} % within {sla_ms:g} ms")
