"""Where the clocks of each point went, as stacked bars per embedding size."""

from collections.abc import Sequence

import matplotlib
from matplotlib.patches import Patch

from recspeed.models.spec.register_map import Counter
from recspeed.scripts.measurements.throughput import Measured
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.attribution import CAUSE_NAMES, shares
from recspeed.scripts.reports.style import CAUSE_COLOURS, SETTINGS, figure, png
from recspeed.scripts.reports.throughput_plot import by_memory

WORTH_A_NUMBER = 0.035
"""Share of clocks from which a segment carries its percentage."""
WORTH_A_NAME = 0.0005
"""Share from which a cause appears in the legend."""
DARK = frozenset(
    {Counter.DATA, Counter.IDLE_TFAW, Counter.IDLE_NO_REQUEST, Counter.IDLE_BACK_PRESSURE}
)
"""Causes whose colour needs white figures."""


def attribution_png(measured: Sequence[Measured]) -> bytes | None:
    """Stacked bars, a panel per memory, of the RTL or else the golden model, if either ran."""
    panels = {
        name: series.get(Fidelity.RTL) or series.get(Fidelity.GOLDEN)
        for name, series in by_memory(measured).items()
    }
    panels = {name: points for name, points in panels.items() if points}
    if not panels:
        return None
    with matplotlib.rc_context(SETTINGS):
        drawn = figure((13.333, 6.2))
        seen: dict[Counter, None] = {}
        for number, (name, points) in enumerate(panels.items()):
            axes = drawn.add_subplot(1, len(panels), number + 1)
            base = [0.0] * len(points)
            parts = [shares(one.outcome.by_counter()) for one in points]
            for cause in CAUSE_NAMES:
                heights = [100 * part[cause] for part in parts]
                if max(heights) < 100 * WORTH_A_NAME:
                    continue
                seen[cause] = None
                axes.bar(
                    range(len(points)),
                    heights,
                    bottom=base,
                    color=CAUSE_COLOURS[cause],
                    width=0.82,
                    edgecolor="white",
                    linewidth=0.7,
                )
                for place, height in enumerate(heights):
                    if height >= 100 * WORTH_A_NUMBER:
                        axes.text(
                            place,
                            base[place] + height / 2,
                            f"{height:.0f}",
                            ha="center",
                            va="center",
                            fontsize=12,
                            color="white" if cause in DARK else "black",
                        )
                base = [a + b for a, b in zip(base, heights, strict=True)]
            axes.set_title(name)
            axes.set_xticks(range(len(points)), [str(one.point.size) for one in points])
            axes.set_xlabel("embedding size in bytes")
            axes.set_ylabel("% of all clocks" if number == 0 else "")
            axes.set_ylim(0, 100)
            axes.grid(visible=False)
        order = [cause for cause in CAUSE_NAMES if cause in seen]
        drawn.legend(
            handles=[
                Patch(color=CAUSE_COLOURS[cause], label=CAUSE_NAMES[cause]) for cause in order
            ],
            loc="upper center",
            ncols=len(order),
            frameon=False,
            fontsize=13,
            handlelength=1.1,
            columnspacing=1.4,
        )
        drawn.subplots_adjust(left=0.06, right=0.99, top=0.84, bottom=0.12, wspace=0.12)
        return png(drawn)
