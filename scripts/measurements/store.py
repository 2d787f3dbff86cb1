"""Finished measurements in a folder, so that an interrupted run goes on where it was."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recspeed.scripts.console import whole_file
from recspeed.scripts.measurements.point import Point


class Store:
    """Outcomes of points by key, a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, point: Point) -> Path:
        return self.folder / f"{point.key}.json"

    def load(self, point: Point) -> Any:
        """The outcome that was kept; None where there is none, or its file is damaged."""
        try:
            content = json.loads(self._path(point).read_text(encoding="utf-8"))
            return point.unpack(content["outcome"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def keep(self, point: Point, outcome: Any) -> None:
        """Keep an outcome; the title of the point is for a human reader."""
        content = {"point": point.title, "outcome": point.pack(outcome)}
        with whole_file(self._path(point)) as temporary:
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def clear(self, points: Sequence[Point]) -> None:
        """Forget the outcomes of `points`, and the folder when nothing else is in it."""
        for point in points:
            self._path(point).unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()
