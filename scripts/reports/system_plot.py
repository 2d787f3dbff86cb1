"""Pictures of Figs. 6 and 7: bandwidth per embedding size, and capacity, of memory systems."""

from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recspeed.scripts.measurements.memory_systems import MemorySystem
from recspeed.scripts.measurements.system_figures import Bandwidths, Capacity, system_gb_per_s
from recspeed.scripts.measurements.throughput import Measured
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.style import INK, MUTED, SERIES, SETTINGS, figure, png
from recspeed.scripts.reports.throughput_plot import LINES, NAMES, best_fidelity

MANY_SIZES = 12


def by_fidelity(points: Sequence[Measured]) -> dict[Fidelity, list[Measured]]:
    """A system's points per fidelity, sizes ascending."""
    series: dict[Fidelity, list[Measured]] = {}
    for one in sorted(points, key=lambda one: one.point.size):
        series.setdefault(one.point.fidelity, []).append(one)
    return series


def bandwidth_png(systems: Bandwidths) -> bytes:
    """Fig. 6: GB/s of each system, a panel each for its own scale, and all of them on one."""
    sizes = sorted({one.point.size for _, points in systems for one in points})
    with matplotlib.rc_context(SETTINGS):
        drawn = figure()
        grid = drawn.add_gridspec(
            len(systems),
            2,
            width_ratios=(1.35, 1),
            left=0.075,
            right=0.985,
            top=0.8,
            bottom=0.09,
            hspace=0.5,
            wspace=0.16,
        )
        together = drawn.add_subplot(grid[:, 0])
        for row, (system, points) in enumerate(systems):
            colour, series = SERIES[row], by_fidelity(points)
            alone = drawn.add_subplot(grid[row, 1])
            for axes in (together, alone):
                for fidelity in (Fidelity.BOUND, Fidelity.GOLDEN, Fidelity.RTL):
                    line = series.get(fidelity, [])
                    look: dict[str, Any] = (
                        {"marker": "_", "markersize": 16} if len(line) == 1 else {}
                    )
                    look |= LINES[fidelity]
                    if axes is alone and fidelity is Fidelity.RTL:
                        look["markersize"] = 6
                    axes.plot(
                        [sizes.index(one.point.size) for one in line],
                        [system_gb_per_s(system, one) for one in line],
                        color=colour,
                        markerfacecolor="white",
                        **look,
                    )
            best = best_fidelity(series)
            values = [system_gb_per_s(system, one) for one in best]
            _name(together, system, sizes.index(best[-1].point.size), min(values[-5:]), colour)
            _alone(alone, system, best, sizes, colour, last=row == len(systems) - 1)
        together.set_title("Whole systems", pad=10)
        together.set_ylabel("GB/s of the system")
        highest = max(system.pin_gb_per_s for system, _ in systems)
        together.set_ylim(0, 1.02 * highest)
        _sizes(together, sizes)
        together.set_xlabel("embedding size in bytes")
        _head(drawn, systems)
        return png(drawn)


def _name(axes: Axes, system: MemorySystem, place: int, value: float, colour: str) -> None:
    """The system's name under the flat part of its line, and its pin rate."""
    axes.axhline(system.pin_gb_per_s, color=colour, linewidth=1.5, linestyle=":")
    axes.annotate(
        system.title,
        (place, value),
        xytext=(8, -24),
        textcoords="offset points",
        ha="right",
        color=colour,
        fontsize=15,
        weight="bold",
    )


def _alone(
    axes: Axes,
    system: MemorySystem,
    best: list[Measured],
    sizes: list[int],
    colour: str,
    *,
    last: bool,
) -> None:
    """One system on its own scale, with its values and pin rate."""
    pin = system.pin_gb_per_s
    axes.axhline(pin, color=colour, linewidth=1.5, linestyle=":")
    axes.set_title(f"{system.title}; pins {pin:,.0f} GB/s", fontsize=12.5, pad=6, color=colour)
    axes.set_ylim(0, 1.08 * pin)
    axes.set_ylabel("GB/s")
    if len(sizes) <= MANY_SIZES:
        values = [system_gb_per_s(system, one) for one in best]
        for place, (one, value) in enumerate(zip(best, values, strict=True)):
            rises = value < 0.55 * values[min(place + 1, len(values) - 1)]
            axes.annotate(
                f"{value:.0f}",
                (sizes.index(one.point.size), value),
                xytext=(9, -9) if rises else (0, -19),
                textcoords="offset points",
                ha="left" if rises else "center",
                fontsize=11.5,
            )
    _sizes(axes, sizes)
    if last:
        axes.set_xlabel("embedding size in bytes")


def _sizes(axes: Axes, sizes: list[int]) -> None:
    step = -(-len(sizes) // MANY_SIZES)
    axes.set_xticks(range(0, len(sizes), step), [str(size) for size in sizes[::step]])
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.grid(axis="x", visible=False)


def _head(drawn, systems: Bandwidths) -> None:
    point = systems[0][1][0].point
    drawn.text(
        0.02,
        0.945,
        "Random embedding bandwidth of memory systems (Fig. 6)",
        fontsize=24,
        weight="bold",
    )
    drawn.text(
        0.02,
        0.898,
        f"one channel, measured, times the channels of the system; uniformly random rows, "
        f"{point.settings.outstanding} bursts in flight per channel",
        fontsize=15,
        color=MUTED,
    )
    fidelities = {one.point.fidelity for _, points in systems for one in points}
    handles = [
        Line2D([], [], color=INK, markerfacecolor="white", label=NAMES[fidelity], **LINES[fidelity])
        for fidelity in (Fidelity.RTL, Fidelity.GOLDEN, Fidelity.BOUND)
        if fidelity in fidelities
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.5, linestyle=":", label="pin rate"))
    drawn.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.012, 0.895),
        ncols=len(handles),
        frameon=False,
        fontsize=13,
    )


def capacity_png(systems: Sequence[Capacity]) -> bytes:
    """Fig. 7: capacity of each system on a logarithmic axis, preset and paper's parts."""
    with matplotlib.rc_context(SETTINGS):
        drawn = figure((13.333, 4.6))
        axes = drawn.add_subplot()
        drawn.subplots_adjust(left=0.245, right=0.97, top=0.75, bottom=0.16)
        for row, one in enumerate(systems):
            for shift, value, unit, opacity in (
                (-0.19, one.system.capacity_gib, "GiB", 1.0),
                (0.19, one.paper_gb, "GB", 0.35),
            ):
                axes.barh(row + shift, value, 0.36, color=SERIES[row], alpha=opacity)
                axes.annotate(
                    f"{value:g} {unit}",
                    (value, row + shift),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=13,
                )
        axes.set_yticks(range(len(systems)), [one.system.title for one in systems], fontsize=13)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(4, 4000)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("capacity of the system (logarithmic)")
        axes.grid(axis="y", visible=False)
        drawn.text(0.02, 0.91, "Capacity of memory systems (Fig. 7)", fontsize=22, weight="bold")
        drawn.text(
            0.02,
            0.83,
            "full colour: the parts of the presets; pale: the parts that the paper names",
            fontsize=14,
            color=MUTED,
        )
        return png(drawn)
