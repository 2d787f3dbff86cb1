"""The parts of a report on memory systems: Figs. 6 and 7, picture, figures and what they show."""

from collections.abc import Sequence

from recspeed.scripts.measurements.system_figures import Bandwidths, Capacity, system_gb_per_s
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.dram_html import Section
from recspeed.scripts.reports.system_plot import by_fidelity
from recspeed.scripts.reports.throughput_plot import NAMES, best_fidelity


def bandwidth_section(systems: Bandwidths, picture: bytes) -> Section:
    """Fig. 6: a row per system and fidelity, a column per size, and the share of the bound."""
    sizes = sorted({one.point.size for _, points in systems for one in points})
    rows: list[list[str]] = []
    for system, points in systems:
        series = by_fidelity(points)
        for fidelity in (fidelity for fidelity in Fidelity if fidelity in series):
            values = [f"{system_gb_per_s(system, one):.1f}" for one in series[fidelity]]
            rows.append([f"{system.title}: {NAMES[fidelity]}, GB/s", *values])
        if set(series) != {Fidelity.BOUND}:
            of_bound = [f"{one.fraction_of_bound:.1%}" for one in best_fidelity(series)]
            rows.append([f"{system.title}: of the bound", *of_bound])
    return Section(
        "Fig. 6: random embedding bandwidth of memory systems",
        "Embedding bytes per second of a whole system: what one channel reaches, times "
        + ", ".join(f"{system.channels} channels ({system.parts_text})" for system, _ in systems)
        + ". Each vector opens a row that closes by auto-precharge, all-bank refresh is on. DDR4 "
        "moves 64 B at least, so sizes in between waste half a burst. "
        f"{_against_ddr4(systems)} The paper's own picture carries no values to hold these "
        "against; its text says that HBM is far ahead of six channels of DDR4, whose rate is "
        "lowest for small vectors.",
        (picture,),
        ("embedding size", *(f"{size} B" for size in sizes)),
        rows,
    )


def _against_ddr4(systems: Bandwidths) -> str:
    """How far the HBM system is ahead of the DDR4 system, at the smallest and largest size."""
    parts = {
        system.preset.family: (system, best_fidelity(by_fidelity(points)))
        for system, points in systems
    }
    (hbm, of_hbm), (ddr4, of_ddr4) = parts["hbm2"], parts["ddr4"]
    ahead = [
        f"{system_gb_per_s(hbm, a) / system_gb_per_s(ddr4, b):.1f} times at {a.point.size} B"
        for a, b in zip(of_hbm, of_ddr4, strict=True)
    ]
    shown = dict.fromkeys([ahead[0], ahead[-1]])
    return f"{hbm.title}, has {' and '.join(shown)} what {ddr4.title}, has."


def capacity_section(systems: Sequence[Capacity], picture: bytes) -> Section:
    """Fig. 7: a row per system."""
    return Section(
        "Fig. 7: capacity of memory systems",
        "What the presets' parts hold, and the same systems with the parts that the paper names; "
        "the labels of its own bars are lost, so each part is sized as the paper prints it "
        "elsewhere. DDR4 differs because the preset is a dual-rank DIMM of 8 Gb chips.",
        (picture,),
        ("system", "presets' parts, GiB", "paper's parts, GB", "where the paper says so"),
        [
            [
                one.system.title,
                f"{one.system.capacity_gib:g}",
                f"{one.paper_gb:g}",
                one.paper_source,
            ]
            for one in systems
        ],
    )
