"""What per-bank refresh costs against refresh off, beside what the device's own timings ask."""

from collections.abc import Sequence

from recspeed.scripts.measurements.dram_points import DramMeasured
from recspeed.scripts.measurements.dram_sweeps import BOUND_GOAL, Case
from recspeed.scripts.options import Refresh

MOST = 0.05
"""Share of the throughput without refresh that per-bank refresh may cost."""
FIRST = "per-bank refresh"


def refresh_cells(
    points: Sequence[tuple[Case, DramMeasured]], missed: str
) -> tuple[tuple[str, ...], list[list[str]]]:
    """Head and rows, three per memory with per-bank refresh; nothing where there is none.

    The loss carries `missed` where it is above `MOST` and the front-end reaches less than
    `BOUND_GOAL` of the bound of per-bank refresh.
    """
    ticks = list(dict.fromkeys(case.x for case, _ in points))
    found = {(case.point.preset.name, case.x, case.point.refresh): one for case, one in points}
    names = dict.fromkeys(name for name, _, mode in found if mode is Refresh.PER_BANK)
    rows: list[list[str]] = []
    for name in names:
        losses, bounds, reached = [], [], []
        for x in ticks:
            one, off = found[name, x, Refresh.PER_BANK], found[name, x, Refresh.OFF]
            loss = 1 - one.fraction_of_pin / off.fraction_of_pin
            fault = loss > MOST and one.fraction_of_bound < BOUND_GOAL
            losses.append(f"{100 * loss:.1f}" + (missed if fault else ""))
            bound = one.point.bound.fraction_of_pin / off.point.bound.fraction_of_pin
            bounds.append(f"{100 * (1 - bound):.1f}")
            reached.append(f"{100 * one.fraction_of_bound:.1f}")
        rows += [
            [f"{name}: % below refresh off", *losses],
            [f"{name}: % below, by the bound", *bounds],
            [f"{name}: % of its bound reached", *reached],
        ]
    return (FIRST, *ticks), rows
