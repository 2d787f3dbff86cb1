"""One look for every plot: 16:9, readable from the back of a room, safe for the colour-blind."""

import io
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from recspeed.models.spec.register_map import Counter

matplotlib.use("Agg")

WIDE = (13.333, 7.5)
"""Inches of a 16:9 slide."""
DOTS_PER_INCH = 144
INK = "#1a1a1a"
MUTED = "#6b6b6b"
GRID = "#e3e3e3"

SERIES: tuple[str, ...] = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""M. Okabe and K. Ito's palette, which the colour-blind tell apart; one per memory."""

CAUSE_COLOURS: dict[Counter, str] = {
    Counter.DATA: "#0072B2",
    Counter.IDLE_REFRESH: "#BBBBBB",
    Counter.IDLE_TCCD_L: "#56B4E9",
    Counter.IDLE_TURNAROUND: "#F0E442",
    Counter.IDLE_BANK_BUSY: "#CC79A7",
    Counter.IDLE_TFAW: "#D55E00",
    Counter.IDLE_TRRD: "#E69F00",
    Counter.IDLE_OUTSTANDING: "#009E73",
    Counter.IDLE_BACK_PRESSURE: "#7A5195",
    Counter.IDLE_NO_REQUEST: "#444444",
}

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 14,
    "axes.titlesize": 16,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 14,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
}


def figure(size: tuple[float, float] = WIDE) -> Figure:
    """An empty figure in the project's look; build it within `matplotlib.rc_context(SETTINGS)`."""
    return Figure(figsize=size, dpi=DOTS_PER_INCH)


def png(drawn: Figure) -> bytes:
    """The figure as PNG, the same bytes for the same figure."""
    file = io.BytesIO()
    drawn.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()
