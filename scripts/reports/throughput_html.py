"""`report.html` of a characterization: one self-contained page."""

import base64
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from recspeed.scripts.measurements.cluster_workload import LOOKUPS_PER_BAG, full_table_rows
from recspeed.scripts.measurements.fidelities import channel_word, fidelity_version
from recspeed.scripts.measurements.memory_systems import chip_system
from recspeed.scripts.measurements.throughput import Measured, disagreements
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.attribution import CAUSE_MEANINGS, CAUSE_NAMES, SLACK, shares
from recspeed.scripts.reports.attribution_plot import attribution_png
from recspeed.scripts.reports.dram_html import Section
from recspeed.scripts.reports.throughput_plot import NAMES, best_fidelity, by_memory


def report_html(
    measured: Sequence[Measured],
    plot: bytes | None,
    *,
    sections: Sequence[Section] = (),
    every: Sequence[Measured] | None = None,
) -> str:
    """The page, with every picture embedded.

    Parameters
    ----------
    measured, plot
        Points of single channels and throughput.png; none and None where only figures were asked.
    sections
        The figures of whole memory systems.
    every
        All points of the page, those of `sections` included; else `measured`.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("recspeed.scripts.reports").joinpath("throughput.html.j2")
    template = environment.from_string(source.read_text(encoding="utf-8"))
    every = measured if every is None else every
    bars = attribution_png(measured)
    fidelities = list(dict.fromkeys(one.point.fidelity for one in every))
    own = {one.point.fidelity for one in measured}
    return template.render(
        plot=_embedded(plot) if plot is not None else None,
        bars=_embedded(bars) if bars is not None else None,
        bars_engine="RTL" if Fidelity.RTL in own else "golden model",
        memories=[_memory(name, series) for name, series in by_memory(measured).items()],
        sections=[
            {
                "title": section.title,
                "text": section.text,
                "images": [_embedded(picture) for picture in section.pictures],
                "head": section.head,
                "rows": section.rows,
            }
            for section in sections
        ],
        fidelities=[(NAMES[fidelity], fidelity_version(fidelity)) for fidelity in fidelities],
        compared={Fidelity.RTL, Fidelity.GOLDEN} <= set(fidelities),
        faults=disagreements(every),
        causes=[(CAUSE_NAMES[cause], text) for cause, text in CAUSE_MEANINGS.items()],
        busy_enough=f"{SLACK:.0%}",
        busy_full=f"{1 - SLACK:.0%}",
        parameters=_parameters(every) if every else [],
    )


def _embedded(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def _memory(name: str, series: dict[Fidelity, list[Measured]]) -> dict:
    """One memory's table: a row per size, of every fidelity side by side."""
    first = next(iter(series.values()))[0]
    preset = first.point.preset
    best = best_fidelity(series)
    parts = [shares(one.outcome.by_counter()) for one in best if one.outcome.counters]
    causes = [cause for cause in CAUSE_NAMES if any(part[cause] >= 0.0005 for part in parts)]
    rows = []
    for place, one in enumerate(best):
        rates = {
            NAMES[fidelity]: f"{points[place].gb_per_s:.2f}" for fidelity, points in series.items()
        }
        rows.append(
            {
                "size": one.point.size,
                "rate": rates,
                "chip": f"{one.gb_per_s_chip:.0f}",
                "pin": f"{one.fraction_of_pin:.1%}",
                "bound": f"{one.fraction_of_bound:.1%}",
                "limiter": one.limiter,
                "cycles": f"{one.outcome.cycles:,.0f}",
                "shares": [f"{parts[place][cause]:.1%}" for cause in causes],
            }
        )
    return {
        "name": name,
        "description": preset.description,
        "engines": [NAMES[fidelity] for fidelity in series],
        "pin": f"{preset.pin_gb_per_s:g}",
        "clock": f"{preset.clock_ghz:g}",
        "banks": preset.banks,
        "channel": channel_word(preset),
        "parts": chip_system(preset).parts_text,
        "chip_channels": chip_system(preset).channels,
        "causes": [CAUSE_NAMES[cause] for cause in causes],
        "rows": rows,
    }


def _parameters(measured: Sequence[Measured]) -> list[tuple[str, str]]:
    point = measured[0].point
    settings = point.settings
    preset, size = point.preset, point.size
    refresh = (
        f"all-bank, {settings.refresh_group} back to back, ahead of time"
        if settings.refresh_group
        else "off"
    )
    return [
        ("lookups per point", f"{point.lookups:,}"),
        ("lookups per bag", str(LOOKUPS_PER_BAG)),
        (
            "rows",
            "uniformly random over one table that fills the channel "
            f"({full_table_rows(preset, size):,} rows of {size} B on {preset.name})",
        ),
        ("vectors", "FP16, contents hashed from the address, pooled by sum, rounded once to FP16"),
        ("bursts in flight", f"at most {settings.outstanding}"),
        ("refresh", refresh),
        ("seed", str(point.seed)),
        ("chip, system", "every channel as fast as the one measured"),
    ]
