"""A point: one measurement to make, with everything that its outcome depends on."""

import hashlib
import json
from abc import ABC, abstractmethod
from typing import Any


class Point(ABC):
    """One measurement; a frozen dataclass of plain data, so that any machine can make it.

    The same point gives the same outcome wherever and whenever it is measured.
    """

    @property
    @abstractmethod
    def key(self) -> str:
        """A digest of every input, the sources that decide the outcome included."""

    @property
    def build(self) -> str:
        """Which simulator it needs, the same for all points that share it; empty for none.

        Whoever measures the point builds that simulator or finds it in the cache.
        """
        return ""

    @property
    def immediate(self) -> bool:
        """A mere formula: whoever asks answers it, and it is not kept."""
        return False

    @property
    @abstractmethod
    def title(self) -> str:
        """What is measured, in a few words, for people."""

    @abstractmethod
    def measure(self) -> Any:
        """Make the measurement."""

    def pack(self, outcome: Any) -> Any:
        """`outcome` as JSON can hold it."""
        return outcome

    def unpack(self, content: Any) -> Any:
        """The outcome that was packed.

        Raises
        ------
        TypeError, ValueError, KeyError
            For anything that is no packed outcome of this kind of point.
        """
        return content


def digest_of(inputs: dict[str, Any]) -> str:
    """SHA-256 of inputs that JSON can hold."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def in_order_of_builds(points: list[Point]) -> list[Point]:
    """`points` so that different builds start first, and none is waited for while it is made.

    First one point of every build, then those without any, then the others: what follows a build
    finds it finished.
    """
    first: dict[str, Point] = {}
    for point in points:
        if point.build:
            first.setdefault(point.build, point)
    heads = list(first.values())
    chosen = {id(point) for point in heads}
    rest = [point for point in points if id(point) not in chosen]
    return [*heads, *(p for p in rest if not p.build), *(p for p in rest if p.build)]
