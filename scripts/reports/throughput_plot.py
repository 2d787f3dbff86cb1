"""`throughput.png`: throughput per embedding size, by memory and fidelity, and its limits."""

from collections.abc import Sequence
from itertools import groupby

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recspeed.scripts.measurements.fidelities import channel_word
from recspeed.scripts.measurements.throughput import Measured
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.style import INK, MUTED, SERIES, SETTINGS, figure, png

LINES = {
    Fidelity.BOUND: {"linestyle": (0, (5, 3)), "linewidth": 2.0, "alpha": 0.9},
    Fidelity.GOLDEN: {"linestyle": "-", "linewidth": 3.0},
    Fidelity.RTL: {"linestyle": "none", "marker": "o", "markersize": 11, "markeredgewidth": 2.5},
}
NAMES = {Fidelity.RTL: "RTL", Fidelity.GOLDEN: "golden model", Fidelity.BOUND: "JEDEC bound"}

MANY_SIZES = 12
"""Sizes above which the plot carries no figures, and labels only some of the sizes."""

Series = dict[Fidelity, list[Measured]]


def by_memory(measured: Sequence[Measured]) -> dict[str, Series]:
    """The measurements per memory and fidelity, sizes ascending."""
    series: dict[str, Series] = {}
    for one in sorted(measured, key=lambda one: one.point.size):
        series.setdefault(one.point.preset.name, {}).setdefault(one.point.fidelity, []).append(one)
    order = list(dict.fromkeys(one.point.preset.name for one in measured))
    return {name: series[name] for name in order}


def throughput_png(measured: Sequence[Measured]) -> bytes:
    """The plot as a 16:9 PNG."""
    memories = by_memory(measured)
    sizes = sorted({one.point.size for one in measured})
    colours: dict[str, str] = dict(zip(memories, SERIES * len(memories), strict=False))
    with matplotlib.rc_context(SETTINGS):
        drawn = figure()
        grid = drawn.add_gridspec(
            2,
            2,
            width_ratios=(1.45, 1),
            height_ratios=(1, 0.075 * len(memories)),
            left=0.1,
            right=0.985,
            top=0.82,
            bottom=0.025,
            hspace=0.33,
            wspace=0.17,
        )
        rate = drawn.add_subplot(grid[0, 0])
        share = drawn.add_subplot(grid[0, 1])
        strip = drawn.add_subplot(grid[1, 0])
        _title(drawn, measured)
        for name, series in memories.items():
            _draw(rate, series, sizes, colours[name], lambda one: one.gb_per_s)
            _draw(share, series, sizes, colours[name], lambda one: 100 * one.fraction_of_pin)
            _pin_line(rate, series, colours[name])
        _finish(rate, sizes, f"GB/s per {_channels(measured)}", "Throughput")
        highest = max(one.point.preset.pin_gb_per_s for one in measured)
        rate.set_ylim(0, 1.09 * highest)
        if len(sizes) <= MANY_SIZES:
            _values(rate, memories, sizes, highest)
        for name in memories:
            _name(rate, name, memories, sizes, highest, colours[name])
        _finish(share, sizes, "% of the pin rate", "Fraction of the pin rate")
        share.set_ylim(0, 104)
        share.axhline(100, color=MUTED, linewidth=1.5, linestyle=":")
        _limiters(strip, memories, colours, sizes)
        _legend(drawn, grid, measured)
        return png(drawn)


def _channels(measured: Sequence[Measured]) -> str:
    """What the channels of all memories of the plot are called."""
    words = {channel_word(one.point.preset) for one in measured}
    return words.pop() if len(words) == 1 else "channel"


def _title(drawn, measured: Sequence[Measured]) -> None:
    point = measured[0].point
    drawn.text(
        0.02, 0.945, f"Pooling throughput of one {_channels(measured)}", fontsize=24, weight="bold"
    )
    drawn.text(
        0.02,
        0.898,
        f"uniformly random rows, one FP16 vector per row visit, 80 lookups per bag; "
        f"{point.settings.outstanding} bursts in flight, {_refresh(point.settings.refresh_group)}",
        fontsize=15,
        color=MUTED,
    )


def _refresh(group: int) -> str:
    return "all-bank refresh" if group else "refresh off"


def _draw(axes: Axes, series: Series, sizes: list[int], colour: str, value) -> None:
    """One memory's fidelities; sizes are equally far apart, whatever they are."""
    for fidelity in (Fidelity.BOUND, Fidelity.GOLDEN, Fidelity.RTL):
        points = series.get(fidelity, [])
        axes.plot(
            [sizes.index(one.point.size) for one in points],
            [value(one) for one in points],
            color=colour,
            markerfacecolor="white",
            zorder=4 if fidelity is Fidelity.RTL else 3,
            # One point has no line to show: give it a mark.
            **({"marker": "_", "markersize": 16, "markeredgewidth": 3} if len(points) == 1 else {})
            | LINES[fidelity],
        )


def _pin_line(axes: Axes, series: Series, colour: str) -> None:
    preset = next(iter(series.values()))[0].point.preset
    axes.axhline(preset.pin_gb_per_s, color=colour, linewidth=1.5, linestyle=":")
    axes.annotate(
        f"pin rate {preset.pin_gb_per_s:g} GB/s",
        (0.34, preset.pin_gb_per_s),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        color=colour,
        fontsize=13,
    )


def best_fidelity(series: Series) -> list[Measured]:
    """The measurements to put figures to: RTL, else golden model, else bound."""
    return series.get(Fidelity.RTL) or series.get(Fidelity.GOLDEN) or series[Fidelity.BOUND]


def _values(axes: Axes, memories: dict[str, Series], sizes: list[int], highest: float) -> None:
    """The throughput at each marker: below it, clear of a steep line, or above another marker."""
    points = [one for series in memories.values() for one in best_fidelity(series)]
    for one in points:
        below = [
            other
            for other in points
            if other.point.size == one.point.size
            and other is not one
            and 0 <= one.gb_per_s - other.gb_per_s < 0.09 * highest
            and (other.gb_per_s, points.index(other)) < (one.gb_per_s, points.index(one))
        ]
        rises = any(
            other.point.preset is one.point.preset
            and other.point.size < one.point.size
            and one.gb_per_s - other.gb_per_s > 0.15 * highest
            for other in points[max(0, points.index(one) - 1) : points.index(one)]
        )
        place = (-9, 9) if below else (15 if rises else 0, -22)
        if one.gb_per_s < 0.07 * highest:  # no room below
            if below:
                continue
            place = (0, 12)
        axes.annotate(
            f"{one.gb_per_s:.1f}",
            (sizes.index(one.point.size), one.gb_per_s),
            xytext=place,
            textcoords="offset points",
            ha="right" if below else "center",
            fontsize=12.5,
        )


def _name(
    axes: Axes,
    name: str,
    memories: dict[str, Series],
    sizes: list[int],
    highest: float,
    colour: str,
) -> None:
    """The memory's name at the end of its line: below it, or above it where another is below."""
    series = memories[name]
    last = best_fidelity(series)[-1]
    others = [best_fidelity(other)[-1] for other in memories.values() if other is not series]
    crowded = any(0 <= last.gb_per_s - one.gb_per_s < 0.2 * highest for one in others)
    axes.annotate(
        name,
        (sizes.index(last.point.size), last.gb_per_s),
        xytext=(10, 30 if crowded else -50),
        textcoords="offset points",
        ha="right",
        color=colour,
        fontsize=18,
        weight="bold",
    )


def _finish(axes: Axes, sizes: list[int], label: str, title: str) -> None:
    axes.set_title(title, pad=10)
    axes.set_ylabel(label)
    step = -(-len(sizes) // MANY_SIZES)
    axes.set_xticks(range(0, len(sizes), step), [str(size) for size in sizes[::step]])
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("embedding size in bytes")


def _limiters(
    axes: Axes, memories: dict[str, Series], colours: dict[str, str], sizes: list[int]
) -> None:
    """A band per memory that names what limits the RTL (else golden, else bound) at each size."""
    for row, (name, series) in enumerate(memories.items()):
        points = best_fidelity(series)
        positions = {one.point.size: sizes.index(one.point.size) for one in points}
        for limiter, run in groupby(points, key=lambda one: one.limiter):
            covered = [positions[one.point.size] for one in run]
            left, right = covered[0] - 0.5, covered[-1] + 0.5
            axes.barh(
                -row,
                right - left,
                left=left,
                height=0.82,
                color=colours[name],
                alpha=0.16,
                edgecolor="white",
                linewidth=3,
            )
            axes.text((left + right) / 2, -row, limiter, ha="center", va="center", fontsize=13)
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.set_ylim(-len(memories) + 0.5, 0.5)
    axes.set_yticks([-row for row in range(len(memories))], list(memories), fontsize=12)
    for label, name in zip(axes.get_yticklabels(), memories, strict=True):
        label.set_color(colours[name])
        label.set_fontweight("bold")
    axes.set_title("Limited by", fontsize=14, pad=5)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _legend(drawn, grid, measured: Sequence[Measured]) -> None:
    axes = drawn.add_subplot(grid[1, 1])
    axes.axis("off")
    fidelities = {one.point.fidelity for one in measured}
    handles = [
        Line2D([], [], color=INK, markerfacecolor="white", label=NAMES[fidelity], **LINES[fidelity])
        for fidelity in (Fidelity.RTL, Fidelity.GOLDEN, Fidelity.BOUND)
        if fidelity in fidelities
    ]
    axes.legend(
        handles=handles,
        loc="center",
        ncols=len(handles),
        frameon=False,
        fontsize=13,
        columnspacing=1.1,
        handlelength=1.7,
        handletextpad=0.5,
    )
