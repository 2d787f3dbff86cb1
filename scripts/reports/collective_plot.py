"""Plot of a sweep: bandwidth and time against size per peer, one line per number of chips."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recspeed.models.spec.collective import CollectiveParameters, Operation
from recspeed.models.topologies.comparison import Topology
from recspeed.scripts.measurements.collective_runs import BUS_FACTOR, Result
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.style import INK, MUTED, SERIES, SETTINGS, figure, png

LINES = {
    Fidelity.BOUND: {"linestyle": (0, (5, 3)), "linewidth": 1.8},
    Fidelity.GOLDEN: {"linestyle": "-", "linewidth": 2.6},
    Fidelity.RTL: {"linestyle": "none", "marker": "o", "markersize": 9},
}
NAMES = {Fidelity.RTL: "RTL", Fidelity.GOLDEN: "golden model", Fidelity.BOUND: "bound"}
TOPOLOGIES = {
    Topology.DIRECT: "direct links",
    Topology.RING: "ring",
    Topology.RING_STEPS: "ring in steps",
    Topology.SWITCH: "switch",
}
OTHERS = {
    Topology.RING: {"linestyle": (0, (1, 1)), "linewidth": 1.8},
    Topology.RING_STEPS: {"linestyle": (0, (4, 2)), "linewidth": 1.2},
    Topology.SWITCH: {"linestyle": (0, (3, 1, 1, 1)), "linewidth": 1.8},
}
PAPER_LATENCY_NANOSECONDS = 1000.0
"""The paper's assumption for every collective (Table XIV)."""


def slice_bytes(one: Result) -> int:
    """Bytes per peer (all-gather: the block of a chip)."""
    return one.bytes_per_chip // (1 if one.op == "all_gather" else one.chips)


def _bus_bandwidth(operation: Operation, chips: int, size: int, nanoseconds: float) -> float:
    return BUS_FACTOR[operation] * size * (chips - 1) / nanoseconds


def _axes(axes: Axes, sizes: Sequence[int], title: str, unit: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [_bytes(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("bytes per peer")
    axes.set_ylabel(unit)
    axes.set_title(title)


def _bytes(size: int) -> str:
    for unit, factor in (("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def collective_png(operation: Operation, results: Sequence[Result], latency: float) -> bytes:
    """The plot as a 16:9 PNG."""
    chip_counts = sorted({one.chips for one in results})
    sizes = sorted({slice_bytes(one) for one in results})
    colours = dict(zip(chip_counts, SERIES * 3, strict=False))
    with matplotlib.rc_context(SETTINGS):
        drawn = figure()
        grid = drawn.add_gridspec(1, 2, left=0.075, right=0.985, top=0.8, bottom=0.2, wspace=0.2)
        rate, time = (drawn.add_subplot(grid[0, column]) for column in range(2))
        drawn.text(
            0.02,
            0.93,
            f"{operation.name.lower().replace('_', '-')} over direct links",
            fontsize=24,
            weight="bold",
        )
        drawn.text(
            0.02,
            0.885,
            f"1000 GB/s per chip and direction (raw), SerDes latency {latency:g} ns one way, "
            "64 of 68 bytes are payload",
            color=MUTED,
        )
        for chips in chip_counts:
            for fidelity, style in LINES.items():
                points = sorted(
                    (slice_bytes(one), one)
                    for one in results
                    if one.topology == Topology.DIRECT
                    and one.chips == chips
                    and one.fidelity == fidelity
                    and one.cycles
                )
                if not points:
                    continue
                where = [size for size, _ in points]
                colour = colours[chips]
                rate.plot(where, [one.bus_bandwidth for _, one in points], color=colour, **style)
                time.plot(where, [one.nanoseconds for _, one in points], color=colour, **style)
        _others(rate, time, operation, results, sizes)
        _axes(rate, sizes, "Bus bandwidth", "GB/s per chip")
        _axes(time, sizes, "Time", "ns")
        rate.set_ylim(0, 1040)
        time.set_yscale("log")
        _legend(drawn, colours, results, max(chip_counts))
        return png(drawn)


def _others(
    rate: Axes, time: Axes, operation: Operation, results: Sequence[Result], sizes: Sequence[int]
) -> None:
    """Ring and switch by their golden models, and the paper's model, on the most chips."""
    chips = max(one.chips for one in results)
    for topology, style in OTHERS.items():
        points = sorted(
            (slice_bytes(one), one)
            for one in results
            if one.topology == topology and one.chips == chips
        )
        where = [size for size, _ in points]
        rate.plot(where, [one.bus_bandwidth for _, one in points], color=INK, **style)
        time.plot(where, [one.nanoseconds for _, one in points], color=INK, **style)
    times = [paper_nanoseconds(operation, chips, size) for size in sizes]
    rates = [
        _bus_bandwidth(operation, chips, size, ns) for size, ns in zip(sizes, times, strict=True)
    ]
    rate.plot(sizes, rates, color=MUTED, linestyle="-", linewidth=1.2)
    time.plot(sizes, times, color=MUTED, linestyle="-", linewidth=1.2)


def paper_nanoseconds(operation: Operation, chips: int, size: int) -> float:
    """The paper's time of a collective of `size` bytes per peer: latency plus transfer."""
    bandwidth = CollectiveParameters(chips=chips).chip_gigabytes_per_second
    return PAPER_LATENCY_NANOSECONDS + BUS_FACTOR[operation] * size * (chips - 1) / bandwidth


def _legend(drawn, colours: dict[int, str], results: Sequence[Result], most: int) -> None:
    used = {one.fidelity for one in results if one.topology == Topology.DIRECT}
    handles = [
        Line2D([], [], color=colour, linewidth=4, label=f"{chips} chips")
        for chips, colour in colours.items()
    ]
    handles += [
        Line2D([], [], color=INK, label=f"direct: {NAMES[fidelity]}", **style)
        for fidelity, style in LINES.items()
        if fidelity.value in used
    ]
    handles += [
        Line2D([], [], color=INK, label=f"{TOPOLOGIES[topology]}, {most} chips", **style)
        for topology, style in OTHERS.items()
    ]
    handles.append(
        Line2D([], [], color=MUTED, linewidth=1.2, label=f"paper: 1 us + V/BW, {most} chips")
    )
    drawn.legend(handles=handles, loc="lower center", ncols=6, frameon=False, fontsize=12)
