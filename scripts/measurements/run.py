"""Measuring with progress: a bar on a terminal, and one line when it is interrupted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recspeed.scripts.console import INTERRUPTED, UserError, progress
from recspeed.scripts.measurements.executor import Executor, run_points
from recspeed.scripts.measurements.point import Point
from recspeed.scripts.measurements.store import Store

POINTS = "points"
"""The folder of kept outcomes, in that of the results."""


def measure_into(
    folder: Path, points: Sequence[Point], executor: Executor
) -> tuple[list[Any], int]:
    """The outcome of every point, and how many were kept in `folder` by an earlier run.

    Raises
    ------
    UserError
        When it is interrupted: says how many points are kept.
    """
    finished = reused = 0
    with progress() as bar:
        task = bar.add_task("points", total=len(points))

        def done(point: Point, _outcome: Any, kept: bool) -> None:
            nonlocal finished, reused
            finished += 1
            reused += kept
            bar.update(task, advance=1, description=point.title)

        try:
            return run_points(points, Store(folder / POINTS), executor, done), reused
        except KeyboardInterrupt:
            raise UserError(
                f"interrupted; {finished} of {len(points)} points are kept in {folder}",
                INTERRUPTED,
            ) from None
