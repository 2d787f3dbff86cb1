"""Run a sweep with progress, keep finished chunks, write CSV, JSON and a surface plot."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from recspeed.models.performance import sweep as sweeps
from recspeed.scripts.console import out, whole_file
from recspeed.scripts.measurements.executor import Executor
from recspeed.scripts.measurements.performance_chunk import Rows, chunks_of
from recspeed.scripts.measurements.run import POINTS, measure_into
from recspeed.scripts.measurements.store import Store
from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.tabular import write_csv

Axes2 = tuple[sweeps.Axis, sweeps.Axis]


def collect(sweep: sweeps.Sweep, executor: Executor, folder: Path) -> Rows:
    """All rows of the sweep in grid order. Finished chunks lie in `folder` until the end.

    Raises
    ------
    UserError
        When it is interrupted: says how many chunks are kept.
    """
    points = chunks_of(sweep)
    rows, reused = measure_into(folder, points, executor)
    if reused:
        out.print(f"continuing: {reused} of {len(points)} chunks were finished before")
    Store(folder / POINTS).clear(points)
    return [row for chunk in rows for row in chunk]


def draw_surface(sheet: Figure, place: Any, axes: Axes2, qps: np.ndarray, title: str) -> None:
    """One throughput surface over two axes, as the paper's Figs. 8 and 11."""
    first, second = axes
    x, y = np.meshgrid(second.values, first.values)
    ax = sheet.add_subplot(place, projection="3d")
    ax.plot_surface(x, y, qps, cmap="viridis", linewidth=0.2, edgecolor="#00000022")
    ax.set_xlabel(second.label, labelpad=6)
    ax.set_ylabel(first.label, labelpad=6)
    ax.zaxis.set_major_formatter(FuncFormatter(drawing.thousands))
    ax.set_zlabel("batches per second", labelpad=9)
    ax.set_zlim(0, None)
    ax.set_title(title)
    ax.view_init(elev=22, azim=-128)
    ax.set_box_aspect((1, 1, 0.85), zoom=1.08)


def draw_contours(sheet: Figure, place: Any, axes: Axes2, qps: np.ndarray, title: str) -> None:
    """The same surface from above, with labelled contours: values can be read off it."""
    first, second = axes
    ax = sheet.add_subplot(place)
    filled = ax.pcolormesh(second.values, first.values, qps, cmap="viridis", shading="gouraud")
    lines = ax.contour(second.values, first.values, qps, colors="white", linewidths=0.9)
    ax.clabel(lines, fmt=drawing.thousands, fontsize=8)
    bar = sheet.colorbar(filled, ax=ax, format=FuncFormatter(drawing.thousands))
    bar.set_label("batches per second")
    ax.set(xlabel=second.label, ylabel=first.label, title=title)
    ax.grid(visible=False)


def plot(path: Path, sweep: sweeps.Sweep, rows: Rows) -> None:
    """A line for one axis, a surface and its contours for two; nothing for more."""
    qps = np.array([row[len(sweep.axes)] for row in rows], dtype=float)
    title = f"{sweep.workload.name} on {sweep.system.name}, {sweep.placement}"
    title += ", training" if sweep.training else ", inference"
    if len(sweep.axes) == 1:
        axis = sweep.axes[0]
        with drawing.figure() as (sheet, ax):
            ax.plot(axis.values, qps)
            ax.set(xlabel=axis.label, ylabel="batches per second", title=title, ylim=(0, None))
            ax.yaxis.set_major_formatter(FuncFormatter(drawing.thousands))
            drawing.save(sheet, path)
    elif len(sweep.axes) == 2:
        both = (sweep.axes[0], sweep.axes[1])
        qps = qps.reshape([len(axis.values) for axis in both])
        with drawing.empty_figure((12.5, 5.4)) as sheet:
            grid = sheet.add_gridspec(1, 2, wspace=0.14, left=0.03, right=0.97)
            draw_surface(sheet, grid[0], both, qps, "surface")
            draw_contours(sheet, grid[1], both, qps, "contours")
            sheet.suptitle(title)
            drawing.save(sheet, path)


def run_sweep(sweep: sweeps.Sweep, executor: Executor, folder: Path) -> None:
    """Run, write `sweep.csv`, `sweep.json` and (up to two axes) `sweep.png` in `folder`."""
    begin = time.perf_counter()
    rows = collect(sweep, executor, folder)
    seconds = time.perf_counter() - begin
    header = [axis.name for axis in sweep.axes] + list(sweeps.COLUMNS)
    write_csv(folder / "sweep.csv", header, rows)
    content = {
        "system": sweep.system.name,
        "workload": sweep.workload.name,
        "placement": str(sweep.placement),
        "schedule": sweep.schedule or sweep.system.schedule,
        "training": sweep.training,
        "axes": {axis.name: axis.values for axis in sweep.axes},
        "points": [dict(zip(header, row, strict=True)) for row in rows],
    }
    with whole_file(folder / "sweep.json") as temporary:
        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
    plot(folder / "sweep.png", sweep, rows)
    at = len(sweep.axes)
    low, high = min(rows, key=lambda r: r[at]), max(rows, key=lambda r: r[at])
    for name, row in (("lowest", low), ("highest", high)):
        point = ", ".join(f"{a.name} {v:g}" for a, v in zip(sweep.axes, row[:at], strict=True))
        out.print(f"{name}: {row[at]:,.0f} batches per second at {point}")
    out.print(f"{len(rows):,} points evaluated in {seconds:.1f} s: {folder / 'sweep.csv'}")
