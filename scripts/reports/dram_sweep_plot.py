"""A sweep as two pictures: bandwidth as lines, and where the clocks went as stacked bars."""

from collections.abc import Sequence
from math import ceil

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from recspeed.scripts.measurements.dram_points import DramMeasured
from recspeed.scripts.measurements.dram_sweeps import Case, Sweep
from recspeed.scripts.reports.attribution import CAUSE_NAMES, shares
from recspeed.scripts.reports.style import CAUSE_COLOURS, INK, MUTED, SERIES, SETTINGS, figure, png

Results = Sequence[tuple[Case, DramMeasured]]
WORTH_SHOWING = 0.005
"""Share of all clocks from which a cause appears."""
PANEL_HEIGHT = 3.3
COLUMNS = 4
LEGEND_LINE = 0.25
"""Inches of a line of the legend."""


def by_memory(results: Results) -> dict[str, list[tuple[Case, DramMeasured]]]:
    """The results per preset, in order."""
    panels: dict[str, list[tuple[Case, DramMeasured]]] = {}
    for case, one in results:
        panels.setdefault(case.point.preset.name, []).append((case, one))
    return panels


def panel_columns(count: int) -> int:
    """Columns of so many panels, as evenly filled as can be."""
    return ceil(count / ceil(count / COLUMNS))


def _panels(count: int, handles: list):
    """A picture with room for so many panels and the legend: it, its rows and columns."""
    legend_lines = ceil(len(handles) / legend_columns(handles, _width(count)))
    columns = panel_columns(count)
    rows = ceil(count / columns)
    above = 1.25 + LEGEND_LINE * legend_lines
    height = PANEL_HEIGHT * rows + above + 0.4
    drawn = figure((_width(count), height))
    drawn.subplots_adjust(
        left=0.9 / drawn.get_figwidth(),
        right=0.985,
        top=1 - above / height,
        bottom=0.75 / height,
        hspace=0.32,
        wspace=0.2,
    )
    return drawn, rows, columns


def _width(count: int) -> float:
    """Inches of a picture of so many panels."""
    return max(8.0, 3.6 * panel_columns(count))


def _head(drawn, title: str, note: str) -> None:
    height = drawn.get_figheight()
    # A bold letter is about .65 of its size wide: a long title is written smaller, not cut off.
    size = min(21.0, 0.96 * 72 * drawn.get_figwidth() / (0.65 * len(title)))
    drawn.text(0.015, 1 - 0.45 / height, title, fontsize=size, weight="bold")
    drawn.text(0.015, 1 - 0.78 / height, note, fontsize=12.5, color=MUTED)


def _axis(drawn, text: str) -> None:
    """What all panels have on x, once."""
    drawn.text(0.5, 0.2 / drawn.get_figheight(), text, fontsize=13, ha="center")


def sweep_png(sweep: Sweep, results: Results) -> bytes:
    """Fraction of the pin rate, a panel per memory and a line per series."""
    panels = by_memory(results)
    with matplotlib.rc_context(SETTINGS):
        names = list(dict.fromkeys(case.series for case, _ in results))
        handles = _line_handles(sweep, results, names)
        drawn, rows, columns = _panels(len(panels), handles)
        for number, (memory, cases) in enumerate(panels.items()):
            axes = drawn.add_subplot(rows, columns, number + 1)
            for colour, series in zip(SERIES, names, strict=False):
                line = [(case, one) for case, one in cases if case.series == series]
                _line(axes, sweep, line, colour)
            ticks = list(dict.fromkeys(case.x for case, _ in cases))
            axes.set_xticks(range(len(ticks)), ticks, fontsize=11)
            axes.set_xlim(-0.4, len(ticks) - 0.6)
            axes.set_ylim(0, 104)
            axes.set_title(memory, fontsize=14)
            if number % columns == 0:
                axes.set_ylabel("% of pin rate", fontsize=12)
            axes.tick_params(axis="y", labelsize=11)
        point = results[0][1].point
        _head(drawn, sweep.title, f"one channel, random rows, {point.requests:,} requests a point")
        _axis(drawn, sweep.axis)
        _legend(drawn, handles)
        return png(drawn)


def _line_handles(sweep: Sweep, results: Results, names: list[str]) -> list:
    """What the legend of lines explains: series, bound, and goals where there are any."""
    handles = [
        Line2D([], [], color=colour, marker="o", linewidth=2.5, label=name)
        for colour, name in zip(SERIES, names, strict=False)
    ]
    bound = "JEDEC bound" if sweep.bounded else "JEDEC bound of closed rows"
    handles.append(Line2D([], [], color=MUTED, linestyle="--", label=bound))
    if any(case.goal is not None for case, _ in results):
        handles.append(
            Line2D([], [], color=INK, marker="_", markersize=14, linestyle="", label="goal")
        )
    return handles


def _line(axes: Axes, sweep: Sweep, line: list[tuple[Case, DramMeasured]], colour: str) -> None:
    if not line:
        return
    places = range(len(line))
    axes.plot(
        places,
        [100 * one.fraction_of_pin for _, one in line],
        color=colour,
        marker="o",
        markersize=5,
        linewidth=2.5,
    )
    if not any(one.point.settings.row_hits for _, one in line):
        axes.plot(
            places,
            [100 * one.point.bound.fraction_of_pin for _, one in line],
            color=colour,
            linestyle="--",
            linewidth=1.3,
            alpha=0.8,
        )
    for place, (case, _) in enumerate(line):
        if case.goal is not None:
            axes.plot(place, 100 * case.goal, color=INK, marker="_", markersize=14, zorder=5)


def legend_columns(handles: list, width: float) -> int:
    """Entries beside each other: all, or as many as fit in `width` inches."""
    # A letter of 11 points is about .085 inches wide; line and gaps take .6.
    widths = [0.6 + 0.085 * len(handle.get_label()) for handle in handles]
    if sum(widths) <= 0.97 * width:
        return len(handles)
    return max(1, int(0.97 * width / max(widths)))


def _legend(drawn, handles: list) -> None:
    drawn.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.008, 1 - 0.82 / drawn.get_figheight()),
        ncols=legend_columns(handles, drawn.get_figwidth()),
        frameon=False,
        fontsize=11,
        handlelength=1.4,
        columnspacing=1.1,
    )


def bar_cases(sweep: Sweep, results: Results) -> list[tuple[Case, DramMeasured, str]]:
    """What the stacked bars show, and the label under each.

    A memory that lacks the sweep's series of bars shows its first one.
    """
    if sweep.bars is None:
        return [(case, one, case.series) for case, one in results if case.x == sweep.bars_x]
    series: dict[str, str] = {}
    for case, _ in results:
        memory = case.point.preset.name
        if case.series == sweep.bars or memory not in series:
            series[memory] = case.series
    return [
        (case, one, case.x)
        for case, one in results
        if case.series == series[case.point.preset.name]
    ]


def clocks_png(sweep: Sweep, results: Results) -> bytes:
    """Where the clocks went: stacked bars, a panel per memory."""
    chosen = bar_cases(sweep, results)
    panels: dict[str, list[tuple[DramMeasured, str]]] = {}
    for case, one, label in chosen:
        panels.setdefault(case.point.preset.name, []).append((one, label))
    parts = {id(one): shares(one.counters) for _, one, _ in chosen}
    causes = [
        cause
        for cause in CAUSE_NAMES
        if any(part[cause] >= WORTH_SHOWING for part in parts.values())
    ]
    with matplotlib.rc_context(SETTINGS):
        handles = [Patch(color=CAUSE_COLOURS[cause], label=CAUSE_NAMES[cause]) for cause in causes]
        drawn, rows, columns = _panels(len(panels), handles)
        for number, (memory, bars) in enumerate(panels.items()):
            axes = drawn.add_subplot(rows, columns, number + 1)
            base = [0.0] * len(bars)
            for cause in causes:
                heights = [100 * parts[id(one)][cause] for one, _ in bars]
                axes.bar(
                    range(len(bars)),
                    heights,
                    bottom=base,
                    color=CAUSE_COLOURS[cause],
                    width=0.84,
                    edgecolor="white",
                    linewidth=0.5,
                )
                base = [a + b for a, b in zip(base, heights, strict=True)]
            axes.set_xticks(range(len(bars)), [label for _, label in bars], fontsize=11)
            axes.set_ylim(0, 100)
            axes.grid(visible=False)
            axes.set_title(memory, fontsize=14)
            if number % columns == 0:
                axes.set_ylabel("% of all clocks", fontsize=12)
            axes.tick_params(axis="y", labelsize=11)
        what = sweep.bars or f"{sweep.bars_x} B"
        _head(drawn, f"{sweep.title}: where the clocks go", f"one channel, random rows; {what}")
        _axis(drawn, sweep.axis if sweep.bars else "refresh")
        _legend(drawn, handles)
        return png(drawn)
