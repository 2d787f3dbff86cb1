"""Smallest distances between the commands of a log, and where they break a rule."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import Rule
from recspeed.tb.checkers.commands import among, bank_group_of, rank_of, stack_of
from recspeed.tb.checkers.report import JedecReport, RuleReport

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


class Distances:
    """The commands of one log, ordered once for each scope.

    In a scope of several places (banks, bank groups, ranks) the log is sorted by place and
    otherwise keeps its order, so that one pass over it serves every place.
    """

    def __init__(self, preset: MemoryPreset, log: np.ndarray):
        self.preset = preset
        self.log = log
        self.cycles = np.ascontiguousarray(log["cycle"])
        self._orders: dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]] = {}

    def check(
        self, rule: Rule, report: JedecReport, owed: frozenset[str] = frozenset()
    ) -> RuleReport:
        """Record what breaks `rule`; commands that are `owed` count as expected in the log."""
        previous, following = among(self.log, rule.previous), among(self.log, rule.next)
        expected = all(
            places.any() or names & owed
            for places, names in ((previous, rule.previous), (following, rule.next))
        )
        if not (previous.any() and following.any()):
            return RuleReport(rule.name, rule.clocks, None, 0, expected)
        minimum: int | None = None
        bad: list[NDArray[np.int64]] = []
        bad_gaps: list[NDArray[np.int64]] = []
        for before, after in self._pairs(rule, previous, following):
            if not len(after):
                continue
            gaps = self.cycles[after] - self.cycles[before]
            smallest = int(gaps.min())
            minimum = smallest if minimum is None else min(minimum, smallest)
            if smallest < rule.clocks:
                broken = gaps < rule.clocks
                bad.append(after[broken])
                bad_gaps.append(gaps[broken])
        count = 0
        if bad:
            places, gaps = np.concatenate(bad), np.concatenate(bad_gaps)
            order = np.argsort(places, kind="stable")
            places, gaps = places[order], gaps[order]
            count = len(places)
            banks = self.log["bank"][places]
            report.add(
                rule.name,
                self.cycles[places],
                lambda i: f"bank {banks[i]}: {gaps[i]} clocks, expected at least {rule.clocks}",
            )
        return RuleReport(rule.name, rule.clocks, minimum, count, expected)

    def _pairs(
        self, rule: Rule, previous: NDArray[np.bool_], following: NDArray[np.bool_]
    ) -> Iterator[Pairs]:
        """Places in the log of the commands between which `rule` holds."""
        if rule.scope == "channel":
            yield latest_before(previous, following, rule.window)
        elif rule.scope == "other_rank":
            ranks = rank_of(self.preset, self.log)
            for rank in range(self.preset.organization.ranks):
                own = ranks == rank
                yield latest_before(previous & ~own, following & own, rule.window)
        elif rule.scope == "other_stack":
            stacks, ranks = stack_of(self.preset, self.log), rank_of(self.preset, self.log)
            per_rank = self.preset.organization.stack_ids
            for stack in range(self.preset.organization.ranks * per_rank):
                own = stacks == stack
                others = (ranks == stack // per_rank) & ~own
                yield latest_before(previous & others, following & own, rule.window)
        else:
            order, places = self._order(rule.scope)
            before, after = latest_before(previous[order], following[order], rule.window)
            same = places[before] == places[after]
            yield order[before[same]], order[after[same]]

    def _order(self, scope: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """`(order, place)`: the log's places sorted by the scope's, and each one's place there."""
        if scope not in self._orders:
            places = {
                "bank": self.log["bank"],
                "bank_group": bank_group_of(self.preset, self.log),
                "rank": rank_of(self.preset, self.log),
            }[scope]
            order = np.argsort(places, kind="stable")
            self._orders[scope] = order, places[order]
        return self._orders[scope]


def latest_before(previous: NDArray[np.bool_], following: NDArray[np.bool_], window: int) -> Pairs:
    """For each `following` command that has one: the `window`-th latest `previous` before it.

    Returns
    -------
    (before, after) : int64[pairs] each
        Numbers of the commands, ascending in `after`.
    """
    after = np.flatnonzero(following)
    earlier = np.flatnonzero(previous)
    rank = np.cumsum(previous)[after] - previous[after] - window
    known = rank >= 0
    return earlier[rank[known]], after[known]
