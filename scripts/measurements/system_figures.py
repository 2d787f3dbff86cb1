"""Figs. 6 and 7 of arXiv 2009.05230: bandwidth and capacity of whole memory systems.

Fig. 6: embedding bytes per second at random places by embedding size; a system has as much as one
channel, measured, times its channels. Fig. 7: capacity.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from recspeed.models.performance.figures import CAPACITIES
from recspeed.scripts.console import UserError
from recspeed.scripts.measurements.memory_systems import MemorySystem, paper_systems
from recspeed.scripts.measurements.throughput import Measured, plan
from recspeed.scripts.options import numbers

FIGURES = (6, 7)
BANDWIDTH_COLUMNS = (
    "system",
    "memory",
    "channels",
    "embedding_bytes",
    "engine",
    "lookups",
    "cycles",
    "gb_per_s_channel",
    "gb_per_s_system",
    "fraction_of_bound",
    "fraction_of_pin",
    "limiter",
)
CAPACITY_COLUMNS = ("system", "memory", "channels", "capacity_gib", "paper_gb", "paper_source")

Bandwidths = list[tuple[MemorySystem, list[Measured]]]


def chosen_figures(text: str) -> tuple[int, ...]:
    """The figures of a comma-separated list.

    Raises
    ------
    UserError
        For anything that is no figure, or one named twice.
    """
    chosen = numbers(text, "--figure")
    unknown = [number for number in chosen if number not in FIGURES]
    if unknown or len(set(chosen)) != len(chosen):
        fault = f"no figure {unknown[0]}" if unknown else "a figure is named twice"
        raise UserError(f"--figure {text}: {fault}; expected 6, 7 or 6,7")
    return tuple(sorted(chosen))


def bandwidth_points(*how) -> list:
    """Every point of Fig. 6; `how`: sizes, engines, lookups, settings and seed, as for `plan`."""
    return plan([system.preset for system in paper_systems()], *how)


def bandwidths(measured: Sequence[Measured]) -> Bandwidths:
    """What was measured for each system of Fig. 6."""
    return [
        (system, [one for one in measured if one.point.preset == system.preset])
        for system in paper_systems()
    ]


def system_gb_per_s(system: MemorySystem, one: Measured) -> float:
    """Embedding bytes per nanosecond of the whole system."""
    return system.channels * one.gb_per_s


def bandwidth_csv(figure: Bandwidths) -> str:
    """`figure-06.csv`; its columns are `BANDWIDTH_COLUMNS`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(BANDWIDTH_COLUMNS)
    for system, points in figure:
        for one in points:
            writer.writerow(
                (
                    system.title,
                    system.preset.name,
                    system.channels,
                    one.point.size,
                    one.point.fidelity.value,
                    one.point.lookups,
                    ceil(one.outcome.cycles),
                    f"{one.gb_per_s:.4f}",
                    f"{system_gb_per_s(system, one):.2f}",
                    f"{one.fraction_of_bound:.4f}",
                    f"{one.fraction_of_pin:.4f}",
                    one.limiter,
                )
            )
    return file.getvalue()


@dataclass(frozen=True)
class Capacity:
    """A system's capacity: GiB of the preset's parts, GB of the parts that the paper names."""

    system: MemorySystem
    paper_gb: float
    paper_source: str


def capacities() -> list[Capacity]:
    """Fig. 7; the paper's bars carry no values, so its parts are sized as it does elsewhere."""
    printed = {label.split(",")[0]: (gb, source) for label, gb, source in CAPACITIES}
    return [Capacity(system, *printed[system.title.split("-")[0]]) for system in paper_systems()]


def capacity_csv(figure: Sequence[Capacity]) -> str:
    """`figure-07.csv`; its columns are `CAPACITY_COLUMNS`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CAPACITY_COLUMNS)
    for one in figure:
        system = one.system
        writer.writerow(
            (
                system.title,
                system.preset.name,
                system.channels,
                f"{system.capacity_gib:g}",
                f"{one.paper_gb:g}",
                one.paper_source,
            )
        )
    return file.getvalue()
