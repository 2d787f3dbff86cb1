"""Figures of the performance reports: the project's look at page size, written whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.figure import Figure

from recspeed.scripts.console import whole_file
from recspeed.scripts.reports import style

COLOURS = style.SERIES
PAPER = "#9aa5b1"
"""The paper's own values, beside the model's."""

SETTINGS: dict[Any, Any] = {
    **style.SETTINGS,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "normal",
    "axes.titlelocation": "center",
    "axes.labelsize": 10,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


@contextmanager
def figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.0, 4.2)) -> Iterator:
    """A figure and its axes at `size` inches; closed afterwards."""
    with plt.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
        drawing, axes = plt.subplots(rows, columns, figsize=size)
        try:
            yield drawing, axes
        finally:
            plt.close(drawing)


@contextmanager
def empty_figure(size: tuple[float, float]) -> Iterator[Figure]:
    """A figure without axes and without automatic layout, for surfaces; closed afterwards."""
    with plt.rc_context({**SETTINGS, "figure.constrained_layout.use": False}):
        drawing = plt.figure(figsize=size)
        try:
            yield drawing
        finally:
            plt.close(drawing)


def save(drawing: Figure, path: Path) -> None:
    """Write the figure as PNG."""
    content = style.png(drawing)
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def thousands(value: float, _position: object = None) -> str:
    """Tick label of a throughput: 1200000 is 1.2M, 75000 is 75K, 8500 is 8.5K."""
    for scale, letter in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= scale:
            return f"{value / scale:g}{letter}"
    return f"{value:g}"
