"""The paper's Figs. 5 to 13, drawn from the performance model."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.ticker import FuncFormatter, PercentFormatter

from recspeed.models.performance import figures
from recspeed.models.performance.paper import CASES, Case
from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.exhibit import Exhibit
from recspeed.scripts.reports.sweep import draw_surface

TITLES = {
    "SU": "small batch, small embeddings, unsharded",
    "SS": "small batch, small embeddings, sharded",
    "LU": "large batch, large embeddings, unsharded",
    "LS": "large batch, large embeddings, sharded",
}
QPS_FORMAT = FuncFormatter(drawing.thousands)


def figure_5(folder: Path) -> Exhibit:
    """All-gather bandwidth of the DGX-2 against data volume."""
    volumes = np.geomspace(10e3, 30e6, 60).tolist()
    measured = figures.all_gather_gb_per_s(volumes, measured=True)
    simple = figures.all_gather_gb_per_s(volumes, measured=False)
    exhibit = Exhibit(
        "figure-05",
        "Fig. 5: DGX-2 all-gather bandwidth against data volume",
        "IV",
        "One latency of 102 us and a bandwidth explain the curve; small messages are bound by "
        "latency. The paper's measured points have not survived; the second line falls to 107 GB/s "
        "at 29 MB, as case LS of its tables implies.",
        ["volume_bytes", "latency_bandwidth_gb_per_s", "recovered_curve_gb_per_s"],
        [list(row) for row in zip(volumes, simple, measured, strict=True)],
        preview=0,
    )
    with drawing.figure() as (sheet, ax):
        kilobytes = np.array(volumes) / 1e3
        ax.semilogx(kilobytes, simple, label="102 us and 150 GB/s")
        ax.semilogx(kilobytes, measured, "--", label="102 us and the recovered bandwidth")
        ax.axhline(150, color="black", linewidth=0.8, linestyle=":")
        ax.text(12, 143, "150 GB/s per chip", fontsize=9)
        ax.set(xlabel="data volume per chip (KB)", ylabel="all-gather bandwidth (GB/s)")
        ax.set(title=exhibit.title, ylim=(0, 155))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.legend(loc="center left")
        exhibit.picture = folder / "figure-05.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_6(folder: Path) -> Exhibit:
    """Random embedding bandwidth of three memory systems."""
    sizes = figures.EMBEDDING_BYTES
    series = {
        label: figures.random_access_gb_per_s(preset, channels)
        for label, preset, channels in figures.RANDOM_ACCESS
    }
    exhibit = Exhibit(
        "figure-06",
        "Fig. 6: peak random embedding bandwidth",
        "IV",
        "One activate per vector, auto-precharge, all-bank refresh: bound of published timings. "
        "DDR4 moves 64 B at least: sizes in between waste half a burst; its two ranks refresh in "
        "turn, which costs the data bus nothing.",
        ["embedding_bytes", *(f"{label} (GB/s)" for label in series)],
        [[size, *(values[i] for values in series.values())] for i, size in enumerate(sizes)],
    )
    with drawing.figure(size=(8, 4.4)) as (sheet, ax):
        for index, (label, values) in enumerate(series.items()):
            at = np.arange(len(sizes)) + (index - 1) * 0.27
            bars = ax.bar(at, values, 0.25, label=label)
            ax.bar_label(bars, fmt="%.0f", fontsize=7, rotation=90, padding=2)
        ax.set_xticks(range(len(sizes)), [str(size) for size in sizes])
        ax.set(xlabel="embedding size (B)", ylabel="random access bandwidth (GB/s)")
        ax.set(title=exhibit.title, ylim=(0, 1500))
        ax.legend(loc="upper left", ncols=3, fontsize=8)
        exhibit.picture = folder / "figure-06.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_7(folder: Path) -> Exhibit:
    """Capacities of common memory systems."""
    exhibit = Exhibit(
        "figure-07",
        "Fig. 7: total capacity of common memory systems",
        "IV",
        "Parts as the paper sizes them elsewhere; the bars' own labels have not survived.",
        ["memory", "capacity_gb", "size of a part"],
        [[label, capacity, source] for label, capacity, source in figures.CAPACITIES],
    )
    with drawing.figure(size=(7, 2.8)) as (sheet, ax):
        labels = [label for label, _, _ in figures.CAPACITIES]
        bars = ax.barh(labels, [capacity for _, capacity, _ in figures.CAPACITIES])
        ax.bar_label(bars, fmt="%.0f GB", padding=4)
        ax.invert_yaxis()
        ax.set(xlabel="capacity (GB)", title=exhibit.title, xlim=(0, 1800))
        exhibit.picture = folder / "figure-07.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def _surfaces(folder: Path, number: int, training: bool) -> Exhibit:
    """Four throughput surfaces over latency and bandwidth: Fig. 8 or Fig. 11."""
    mode = "Training" if training else "Inference"
    latency, bandwidth = figures.LATENCY_AXIS, figures.BANDWIDTH_AXIS
    surfaces = {case.name: figures.surface(case, training) for case in CASES}
    rows = [
        [case, x, y, float(qps[i, j])]
        for case, qps in surfaces.items()
        for i, x in enumerate(latency.values)
        for j, y in enumerate(bandwidth.values)
    ]
    key = f"figure-{number:02d}"
    checks = {check.figure: check for check in figures.axis_checks()}
    notes = []
    for letter, case in zip("abcd", CASES, strict=True):
        values = surfaces[case.name]
        note = f"({letter}) {case.name}: {values.min():,.0f} to {values.max():,.0f} batches/s"
        check = checks.get(f"{number}{letter}")
        if check is not None:
            verdict = "agrees" if check.fits else "does not agree"
            note += f"; the paper's axis labels run from {check.first:,.0f} to {check.last:,.0f}"
            note += f", which {verdict}"
        notes.append(note)
    exhibit = Exhibit(
        key,
        f"Fig. {number}: {mode.lower()} throughput over collective latency and bandwidth, 8 chips",
        "VI",
        "Table XIII's ranges on the reference system; parameters as for Tables XVI and XVII, "
        "nothing refitted.",
        ["case", "latency_us", "bandwidth_gb_per_s", "qps"],
        rows,
        preview=0,
        notes=notes,
    )
    with drawing.empty_figure((12.5, 10)) as sheet:
        grid = sheet.add_gridspec(
            2, 2, wspace=0.0, hspace=0.16, left=0.0, right=0.96, bottom=0.04, top=0.93
        )
        for index, (letter, case) in enumerate(zip("abcd", CASES, strict=True)):
            title = f"({letter}) {TITLES[case.name]}"
            place = grid[index // 2, index % 2]
            draw_surface(sheet, place, (latency, bandwidth), surfaces[case.name], title)
        sheet.suptitle(exhibit.title, fontsize=13)
        exhibit.picture = folder / f"{key}.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_8(folder: Path) -> Exhibit:
    """Inference surfaces."""
    return _surfaces(folder, 8, training=False)


def figure_9(folder: Path) -> Exhibit:
    """QPS and memory utilisation against latency, SU."""
    latencies = list(figures.LATENCY_AXIS.values)
    lines = {
        bandwidth: figures.line(CASES[0], "latency", latencies, bandwidth, training=False)
        for bandwidth in (100.0, 1000.0)
    }
    exhibit = Exhibit(
        "figure-09",
        "Fig. 9: impact of latency on throughput, case SU, 8 chips",
        "VI",
        "Throughput drops more than fourfold from 0.5 to 10 us, at high bandwidth as at low.",
        ["bandwidth_gb_per_s", "latency_us", "qps", "memory_utilisation"],
        [
            [bandwidth, latency, result.qps, result.memory_utilisation]
            for bandwidth, results in lines.items()
            for latency, result in zip(latencies, results, strict=True)
        ],
        preview=0,
    )
    with drawing.figure(1, 2, (12, 4.4)) as (sheet, axes):
        for letter, ax, (bandwidth, results) in zip("ab", axes, lines.items(), strict=True):
            (rate,) = ax.plot(latencies, [r.qps for r in results], label="QPS")
            ax.set(xlabel="latency (us)", ylabel="batches per second", ylim=(0, 200e3))
            ax.yaxis.set_major_formatter(QPS_FORMAT)
            ax.set_title(f"({letter}) {bandwidth:,.0f} GB/s per chip")
            other = ax.twinx()
            other.spines["right"].set_visible(True)
            shares = [result.memory_utilisation for result in results]
            (used,) = other.plot(latencies, shares, "--", color=drawing.COLOURS[1])
            other.set(ylabel="memory utilisation", ylim=(0, 1))
            other.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            other.grid(visible=False)
            ax.legend([rate, used], ["QPS (left)", "memory utilisation (right)"])
        sheet.suptitle(exhibit.title)
        exhibit.picture = folder / "figure-09.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_10(folder: Path) -> Exhibit:
    """Bandwidth against the loss from sharding, small batch and embeddings."""
    bandwidths = list(figures.BANDWIDTH_AXIS.values)
    rows, curves = [], {}
    for latency in (0.5, 2.0, 10.0):
        whole, sharded = (
            [r.qps for r in figures.line(case, "bandwidth", bandwidths, latency, training=False)]
            for case in CASES[:2]
        )
        loss = [a / b for a, b in zip(whole, sharded, strict=True)]
        curves[latency] = (whole, sharded, loss)
        rows += [
            [latency, *values] for values in zip(bandwidths, whole, sharded, loss, strict=True)
        ]
    exhibit = Exhibit(
        "figure-10",
        "Fig. 10: high bandwidth makes up for the loss from sharding, 8 chips",
        "VI",
        "Small batch and embeddings, inference; loss is unsharded over sharded throughput.",
        ["latency_us", "bandwidth_gb_per_s", "qps_unsharded", "qps_sharded", "loss"],
        rows,
        preview=0,
        notes=[
            f"at {latency:g} us the loss falls from {loss[0]:.1f}x to {loss[-1]:.1f}x"
            for latency, (_, _, loss) in curves.items()
        ],
    )
    with drawing.figure(1, 2, (12, 4.4)) as (sheet, (left, right)):
        for colour, (latency, (whole, sharded, loss)) in zip(
            drawing.COLOURS, curves.items(), strict=False
        ):
            left.plot(bandwidths, whole, color=colour, label=f"unsharded, {latency:g} us")
            left.plot(bandwidths, sharded, "--", color=colour, label=f"sharded, {latency:g} us")
            right.plot(bandwidths, loss, color=colour, label=f"{latency:g} us")
        left.yaxis.set_major_formatter(QPS_FORMAT)
        left.set(ylabel="batches per second", ylim=(0, 230e3), title="throughput")
        left.legend(ncols=3, fontsize=8, loc="upper left")
        right.set(ylabel="unsharded over sharded", ylim=(1, None), title="loss from sharding")
        right.legend()
        for ax in (left, right):
            ax.set_xlabel("bandwidth per chip (GB/s)")
        sheet.suptitle(exhibit.title)
        exhibit.picture = folder / "figure-10.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_11(folder: Path) -> Exhibit:
    """Training surfaces."""
    return _surfaces(folder, 11, training=True)


def _training(folder: Path, number: int, case: Case) -> Exhibit:
    """Training throughput and its parts against bandwidth at 2 us: Fig. 12 or Fig. 13."""
    bandwidths = list(figures.BANDWIDTH_AXIS.values)
    results = figures.line(case, "bandwidth", bandwidths, 2.0, training=True)
    bars = [100.0, 200.0, 500.0, 1000.0]
    parts = [
        figures.breakdown(r) for r in figures.line(case, "bandwidth", bars, 2.0, training=True)
    ]
    key = f"figure-{number}"
    exhibit = Exhibit(
        key,
        f"Fig. {number}: impact of bandwidth on training at 2 us, case {case.name}, 8 chips",
        "VI",
        "Forward; dense all-reduce and dense update; sparse exchange and sparse update. The dense "
        "backward pass, a sliver that the paper's bars do not name, is shown by itself.",
        ["bandwidth_gb_per_s", "qps", *figures.BREAKDOWN],
        [
            [bandwidth, result.qps, *figures.breakdown(result)]
            for bandwidth, result in zip(bandwidths, results, strict=True)
        ],
        preview=0,
    )
    with drawing.figure(1, 2, (12, 4.4)) as (sheet, (left, right)):
        left.plot(bandwidths, [result.qps for result in results])
        left.yaxis.set_major_formatter(QPS_FORMAT)
        left.set(ylabel="batches per second", xlabel="bandwidth per chip (GB/s)", title="(a) QPS")
        left.set_ylim(0, None)
        bottom = np.zeros(len(bars))
        for index, name in enumerate(figures.BREAKDOWN):
            values = np.array([part[index] for part in parts])
            drawn = right.bar([f"{bar:g}" for bar in bars], values, 0.6, bottom, label=name)
            labels = [f"{value:.0%}" if value > 0.04 else "" for value in values]
            right.bar_label(drawn, labels, label_type="center", color="white", fontsize=9)
            bottom += values
        right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        right.set(xlabel="bandwidth per chip (GB/s)", ylabel="share of training time")
        right.set(title="(b) relative duration of training phases", ylim=(0, 1))
        right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=8)
        sheet.suptitle(exhibit.title)
        exhibit.picture = folder / f"{key}.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def figure_12(folder: Path) -> Exhibit:
    """Training against bandwidth, SU."""
    return _training(folder, 12, CASES[0])


def figure_13(folder: Path) -> Exhibit:
    """Training against bandwidth, LS."""
    return _training(folder, 13, CASES[3])


FIGURES: tuple[Callable[[Path], Exhibit], ...] = (
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
)
"""Each draws one figure into a folder and returns it."""
