"""What the JEDEC checker found in a command log."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

KEPT_PER_RULE = 8
"""Violations of one rule that a report describes; all are counted."""


@dataclass(frozen=True)
class Violation:
    """One broken rule: what, in which clock, and how it was broken."""

    rule: str
    cycle: int
    detail: str

    def __str__(self) -> str:
        return f"{self.rule} in clock {self.cycle}: {self.detail}"


@dataclass(frozen=True)
class RuleReport:
    """The smallest distance of a rule in the log; None if the pair of commands never occurred.

    `expected`: commands of both kinds are in the log, or should be (the refresh of the mode).
    """

    name: str
    limit: int
    minimum_gap: int | None
    violations: int
    expected: bool = True

    @property
    def driven_to_limit(self) -> bool:
        return self.minimum_gap is not None and self.minimum_gap <= self.limit


@dataclass
class JedecReport:
    """Everything the checker found in a log. `violations` holds the first few of each rule."""

    commands: int
    rules: list[RuleReport] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    violation_count: int = 0

    @property
    def legal(self) -> bool:
        return self.violation_count == 0

    @property
    def never_at_limit(self) -> list[str]:
        """Rules that the log never drives to their limit, or never exercises.

        Rules of commands that are not expected in it (writes in a run of reads) are no matter.
        """
        return [rule.name for rule in self.rules if rule.expected and not rule.driven_to_limit]

    def add(self, rule: str, cycles: NDArray[np.int64], detail: Callable[[int], str]) -> None:
        """Record violations of `rule` in `cycles`; `detail` describes the one with that number."""
        self.violation_count += len(cycles)
        self.violations += [
            Violation(rule, int(cycle), detail(number))
            for number, cycle in enumerate(cycles[:KEPT_PER_RULE])
        ]
