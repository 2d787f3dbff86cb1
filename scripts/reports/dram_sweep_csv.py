"""A sweep's measurements as CSV."""

import csv
import io
from collections.abc import Sequence
from math import ceil

from recspeed.scripts.measurements.dram_points import DramMeasured
from recspeed.scripts.measurements.dram_sweeps import Case, Sweep
from recspeed.scripts.reports.attribution import CAUSE_NAMES, shares

COLUMNS = (
    "sweep",
    "memory",
    "engine",
    "bytes",
    "requests",
    "write_share",
    "hit_rate",
    "row_hits",
    "refresh",
    "outstanding",
    "queue_depth",
    "banks",
    "pseudo_channels",
    "cycles",
    "clock_ghz",
    "gb_per_s_channel",
    "fraction_of_pin",
    "bound_fraction_of_pin",
    "fraction_of_bound",
    "goal_fraction_of_pin",
    "goal_reached",
    "mixed_part",
    "limiter",
    *(f"clocks_{name.replace(' ', '_').replace('-', '_')}" for name in CAUSE_NAMES.values()),
)

Results = Sequence[tuple[Case, DramMeasured]]


def csv_text(sweep: Sweep, results: Results) -> str:
    """A line per point; its columns are `COLUMNS`. The bound is left out where none holds."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case, one in results:
        point, goal = one.point, case.goal
        bounded = sweep.bounded or not point.settings.row_hits
        writer.writerow(
            (
                sweep.name,
                point.preset.name,
                point.fidelity.value,
                point.size,
                point.requests,
                f"{point.writes:g}",
                f"{point.hit_rate:g}",
                point.settings.row_hits,
                point.refresh.value,
                point.settings.outstanding,
                point.queue_depth,
                point.preset.banks,
                point.pseudo_channels,
                ceil(one.outcome.cycles),
                f"{point.preset.clock_ghz:g}",
                f"{one.gb_per_s:.4f}",
                f"{one.fraction_of_pin:.4f}",
                f"{point.bound.fraction_of_pin:.4f}" if bounded else "",
                f"{one.fraction_of_bound:.4f}" if bounded else "",
                "" if goal is None else f"{goal:.4f}",
                "" if goal is None else ("yes" if one.fraction_of_pin >= goal else "no"),
                f"{one.outcome.mixed:.3f}",
                one.limiter,
                *(f"{share:.4f}" for share in shares(one.counters).values()),
            )
        )
    return file.getvalue()
