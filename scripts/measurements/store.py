"""Finished measurements in a folder, so that an interrupted run goes on where it was."""

import json
from pathlib import Path

from recspeed.scripts.console import whole_file

FOLDER = "points"


def load_outcome(key: str, folder: Path) -> dict | None:
    """The fields of the outcome kept as `key`; a missing or damaged file counts as none."""
    try:
        outcome = json.loads((folder / FOLDER / f"{key}.json").read_text())["outcome"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return outcome if isinstance(outcome, dict) else None


def keep_outcome(key: str, what: dict, outcome: dict, folder: Path) -> None:
    """Keep the fields of an outcome; `what` names the point for a human reader."""
    with whole_file(folder / FOLDER / f"{key}.json") as temporary:
        temporary.write_text(json.dumps({**what, "outcome": outcome}, indent=1) + "\n")
