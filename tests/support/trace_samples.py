"""Small real traces that are used where they are at hand, and lines like theirs."""

from pathlib import Path

import pytest

from recspeed.models.traces.criteo import CATEGORIES

SHARED = Path(__file__).parents[3] / "shared" / "data"


def sample(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand")
    return path


def criteo_line(**categories: str) -> str:
    """A line with empty and negative integers; categories by number, the others empty."""
    values = [categories.get(f"c{number}", "") for number in range(CATEGORIES)]
    return "\t".join(["1", "", "-2", *["7"] * 11, *values]) + "\n"
