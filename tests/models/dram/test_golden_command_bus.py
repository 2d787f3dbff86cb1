"""The arbitration of an HBM channel's command buses by itself: by hand, and on random proposals.

Here proposals are made up, and meet what front-ends with legal timings never propose: a blocked ACT
beside another row command of the one that blocks it.
"""

import numpy as np
import pytest
from support.dram_oracle import Decisions
from support.dram_runs import dense_pair, dram_differences, pair_that_remembers, saturated_pair
from support.hbm_channel_oracle import LiteralHbmChannel

from recspeed.models.dram.command_bus import command_buses, grant
from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.runs.dram import REQUESTS, DramRun
from recspeed.models.spec.memory import memory_preset
from recspeed.tb.checkers.jedec import check_shared_row_bus

PRESET = memory_preset("hbm2-2000")
NONE = np.zeros(0, dtype=REQUESTS)
IDLE = (DramRun(PRESET, NONE, NONE), DramRun(PRESET, NONE, NONE))
CLOCKS = 4000


class GoldenBuses:
    """The golden model's arbitration behind the oracle's interface."""

    def __init__(self):
        self.buses = command_buses(PRESET)[0]

    def grant(self, t, proposals):
        def encoded(one):
            return tuple(-1 if x is None else 0 for x in (one.refresh, one.column, one.activate))

        decided = grant(self.buses, t, *(encoded(one) for one in proposals))
        return [
            Decisions(
                *(
                    None if number < 0 else what
                    for number, what in zip(
                        numbers, (one.refresh, one.column, one.activate), strict=True
                    )
                )
            )
            for numbers, one in zip(decided, proposals, strict=True)
        ]


def proposal(row: str, column: bool = False) -> Decisions:
    return Decisions(
        refresh=("REF", 0) if row == "REF" else None,
        column=0 if column else None,
        activate=0 if row == "ACT" else None,
    )


def has_row(decisions: Decisions) -> bool:
    return decisions.refresh is not None or decisions.activate is not None


ROW_BUS = [
    ("ACT", "ACT", 0, "before the first command: to 0"),
    ("", "ACT", None, "blocked"),
    ("ACT", "ACT", 1, "0 has it, but 1 lost in 0"),
    ("ACT", "", None, "blocked"),
    ("ACT", "ACT", 0, "1 has it, but 0 lost in 2"),
    ("", "", None, ""),
    ("ACT", "", 0, "no tie"),
    ("REF", "", 0, "no tie"),
    ("", "", None, ""),
    ("ACT", "REF", 1, "0 has it, but 1 lost in 4, and decided nothing since"),
    ("ACT", "REF", 1, "no tie: the ACT is blocked"),
    ("ACT", "", None, "blocked"),
    ("ACT", "ACT", 0, "1 has it, but 0 lost in 9"),
    ("", "", None, ""),
    ("ACT", "REF", 1, "0 has it, but 1 lost in 12"),
    ("REF", "REF", 0, "1 has it, but 0 lost in 14"),
    ("", "REF", 1, "no tie"),
    ("REF", "REF", 1, "1 has it, and 0 lost in 14 only, before its command of 15"),
    ("REF", "", 0, "no tie"),
    ("REF", "REF", 0, "0 has it, and 1 lost in 15 only, before its commands of 16 and 17"),
    ("", "", None, ""),
    ("ACT", "ACT", 1, "0 has it, but 1 lost in 19"),
]
"""Proposals of 0 and 1 in clocks 0, 1, ...; whose is decided, and why."""
COLUMN_BUS = [
    (True, True, 0),
    (True, True, 1),
    (False, True, 1),
    (True, True, 0),
    (True, False, 0),
    (False, False, None),
    (True, True, 1),
]


def both_models():
    return {"golden": GoldenBuses(), "oracle": LiteralHbmChannel(IDLE)}


@pytest.mark.parametrize("model", both_models())
def test_row_bus_by_hand(model):
    buses = both_models()[model]
    for t, (zero, one, winner, why) in enumerate(ROW_BUS):
        decided = buses.grant(t, [proposal(zero), proposal(one)])
        assert [has_row(d) for d in decided] == [winner == 0, winner == 1], f"clock {t}: {why}"


@pytest.mark.parametrize("model", both_models())
def test_column_bus_by_hand(model):
    buses = both_models()[model]
    for t, (zero, one, winner) in enumerate(COLUMN_BUS):
        decided = buses.grant(t, [proposal("", zero), proposal("", one)])
        assert [d.column is not None for d in decided] == [winner == 0, winner == 1], f"clock {t}"


def random_proposals(seed: int) -> list[list[Decisions]]:
    """Of `CLOCKS` clocks, in stretches of unlike density."""
    rng = np.random.default_rng([5, seed])
    found = []
    while len(found) < CLOCKS:
        weights = rng.dirichlet(np.ones(3), 2)
        columns = rng.random(2)
        found += [
            [
                proposal(str(rng.choice(["", "ACT", "REF"], p=p)), bool(rng.random() < c))
                for p, c in zip(weights, columns, strict=True)
            ]
            for _ in range(50)
        ]
    return found


def decided_by(buses, proposals):
    return [buses.grant(t, both) for t, both in enumerate(proposals)]


@pytest.mark.parametrize("seed", range(4))
def test_random_proposals_equal_the_oracle(seed):
    print(f"seed {seed}")
    oracle, met = LiteralHbmChannel(IDLE), set()
    proposals = random_proposals(seed)
    expected = []
    for t, both in enumerate(proposals):
        blocked = [oracle.is_blocked(t, n, both[n]) for n in range(2)]
        met |= {
            (n, "refresh" if both[1 - n].refresh else "ACT", blocked[1 - n])
            for n in range(2)
            if blocked[n] and has_row(both[1 - n])
        }
        expected.append(oracle.grant(t, both))
    assert decided_by(GoldenBuses(), proposals) == expected
    # A blocked ACT beside another command of the one that blocks it.
    assert {(n, what, False) for n in range(2) for what in ("refresh", "ACT")} <= met


# Arbitrations that are legal, and not the page's.


class ZeroFirst(LiteralHbmChannel):
    def winner(self, bus, those):
        return min(those, default=None)


class OneBeforeAll(LiteralHbmChannel):
    """Only where no command was before."""

    def winner(self, bus, those):
        return max(those, default=None) if not self.history[bus] else super().winner(bus, those)


class RowsAlternate(LiteralHbmChannel):
    def has_lost(self, number):
        return True


class RowsAreKept(LiteralHbmChannel):
    def has_lost(self, number):
        return False


class LossIsNeverForgotten(LiteralHbmChannel):
    """Its own row command does not end it."""

    def has_lost(self, number):
        return any(who == number for _, who in self.lost)


class LossIsForgottenSoon(LiteralHbmChannel):
    """Any row command ends it, of the other one too."""

    def has_lost(self, number):
        return bool(self.lost) and self.lost[-1] == (self.history["row"][-1][0], number)


class ColumnsAreKept(LiteralHbmChannel):
    def winner(self, bus, those):
        if bus == "column" and len(those) == 2 and self.history[bus]:
            return self.history[bus][-1][1]
        return super().winner(bus, those)


ORDERS = [
    ZeroFirst,
    OneBeforeAll,
    RowsAlternate,
    RowsAreKept,
    LossIsNeverForgotten,
    LossIsForgottenSoon,
    ColumnsAreKept,
]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_another_order_is_told_from_the_page_by_random_proposals(order):
    several = [random_proposals(seed) for seed in range(8)]
    assert any(decided_by(order(IDLE), one) != decided_by(GoldenBuses(), one) for one in several)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_another_order_is_legal_and_is_told_from_the_page_by_runs(order):
    told = []
    for runs in (saturated_pair(PRESET), dense_pair(), pair_that_remembers(0)):
        results = order(runs).run_to_end()
        assert check_shared_row_bus(runs[0].preset, *(one.commands for one in results)).legal
        expected = simulate_hbm_channel(runs)
        told += [dram_differences(*both) for both in zip(results, expected, strict=True)]
    assert any(told)
