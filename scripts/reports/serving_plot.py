"""The paper's equation 1 in the report: latency percentiles of three systems against their load."""

from pathlib import Path

from matplotlib.ticker import FuncFormatter

from recspeed.models.performance import presets
from recspeed.models.performance.serving import (
    LARGEST_QUERY,
    QuerySizes,
    Served,
    Serving,
    service_model,
)
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.exhibit import Cell, Exhibit

SYSTEMS = ("recspeed-16", "dgx-2", "xeon-ddr4")
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
QUERIES = 3000


def milliseconds(served: Served, *percents: float) -> list[float]:
    """Percentiles of the query times in ms."""
    return [served.percentile(percent) * 1e3 for percent in percents]


def serving(folder: Path) -> Exhibit:
    """p50 and p99 of query times over the load, rm2-small, heavy-tailed query sizes."""
    rows: list[list[Cell]] = []
    curves = {}
    for name in SYSTEMS:
        service = service_model(
            presets.workload("rm2-small"), presets.system(name), parse_placement("unsharded")
        )
        experiment = Serving(service, QuerySizes(), LARGEST_QUERY, queries=QUERIES)
        capacity = experiment.capacity()
        curves[name] = [(load, experiment.at(load * capacity)) for load in LOADS]
        rows += [
            [name, load, served.offered_qps, *milliseconds(served, 50, 90, 99)]
            for load, served in curves[name]
        ]
    exhibit = Exhibit(
        "serving",
        "Equation 1: query latency percentiles against load",
        "III",
        f"Discrete-event simulation of {QUERIES:,} Poisson queries per load; lognormal sizes "
        "around 200 samples, the paper's median. The system constraint asks that a "
        "percentile stays below an SLA; `recspeed serve` finds the highest load that does.",
        ["system", "load", "queries per second", "p50 (ms)", "p90 (ms)", "p99 (ms)"],
        rows,
    )
    with drawing.figure(size=(8, 4.4)) as (sheet, ax):
        for colour, (name, curve) in zip(drawing.COLOURS, curves.items(), strict=False):
            offered = [served.offered_qps for _, served in curve]
            for percent, line in ((99, "-"), (50, "--")):
                times = [milliseconds(served, percent)[0] for _, served in curve]
                label = f"{name}, p{percent}"
                ax.plot(offered, times, line, marker="o", ms=3, color=colour, label=label)
        ax.set(xscale="log", yscale="log", title=exhibit.title)
        ax.set(xlabel="queries per second", ylabel="latency (ms)")
        ax.xaxis.set_major_formatter(FuncFormatter(drawing.thousands))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15))
        exhibit.picture = folder / "serving.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit
