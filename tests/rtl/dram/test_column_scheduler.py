"""The column scheduler against a model of its order of choice and of its spacing, to the clock."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.cluster_runs import preset_with
from support.mutation import Mutant

from recspeed.rtl.dram.column_scheduler import ColumnScheduler

SHORT, LONG = 2, 4
"""tCCD_S and tCCD_L."""


@cache
def preset():
    return preset_with("column-spacing", tCCD_S=SHORT, tCCD_L=LONG)


@dataclass
class Open:
    """Of one bank with an open request: what the scheduler is told of it."""

    ready: bool
    overdue: bool
    waiting: int
    left: int
    age: int


def choice(banks: list[Open | None], spaced: list[bool], groups: int) -> int | None:
    """The bank that moves a burst, by docs/dram.md, "Column scheduler"; None for none."""
    ready = [number for number, bank in enumerate(banks) if bank and bank.ready]
    candidates = [number for number in ready if spaced[number]]
    if any(banks[number].overdue for number in ready):
        candidates = [number for number in candidates if banks[number].overdue]
    else:
        for least in (2, 1):
            if any(banks[number].waiting >= least for number in candidates):
                candidates = [number for number in candidates if banks[number].waiting >= least]
                break

    def order(number: int) -> tuple[int, int, int]:
        group = number % groups
        fellows = sum(bank is not None for bank in banks[group::groups])
        return -fellows, banks[number].left, banks[number].age

    return min(candidates, key=order, default=None)


def draw(rng: np.random.Generator, count: int) -> list[Open | None]:
    """Open requests at random, with many ties in all but their ages."""
    ages = rng.permutation(500)[:count].tolist()
    share = float(rng.choice([0.2, 0.6, 1.0]))
    late = rng.random() < 0.2
    return [
        Open(
            ready=bool(rng.random() < 0.8),
            overdue=bool(late and rng.random() < 0.2),
            waiting=int(rng.choice([0, 1, 2], p=[0.6, 0.2, 0.2])),
            left=int(rng.integers(1, 4)),
            age=ages[number],
        )
        if rng.random() < share
        else None
        for number in range(count)
    ]


def check(clocks: int, seed: int) -> int:
    """Bursts moved in `clocks` of random requests, each held against the model."""
    device = preset()
    count, groups = device.banks, device.organization.bank_groups
    scheduler = ColumnScheduler(device, writes=False)
    rng = np.random.default_rng(seed)
    moved: list[tuple[int, int]] = []

    def mask(banks, of) -> int:
        return sum(1 << number for number, bank in enumerate(banks) if bank and of(bank))

    async def bench(ctx):
        for clock in range(clocks):
            banks = draw(rng, count)
            free = bool(rng.random() < 0.9)
            ctx.set(scheduler.can_move, mask(banks, lambda bank: bank.ready))
            ctx.set(scheduler.active, mask(banks, lambda bank: True))
            ctx.set(scheduler.overdue, mask(banks, lambda bank: bank.overdue))
            ctx.set(scheduler.wanted_again, mask(banks, lambda bank: bank.waiting > 0))
            ctx.set(scheduler.wanted_by_several, mask(banks, lambda bank: bank.waiting > 1))
            ctx.set(scheduler.slot_free, free)
            for number, bank in enumerate(banks):
                ctx.set(scheduler.left[number], bank.left if bank else 0)
                ctx.set(scheduler.age[number], bank.age if bank else 0)
            spaced = [
                all(
                    clock - at >= (LONG if other % groups == number % groups else SHORT)
                    for at, other in moved[-4:]
                )
                for number in range(count)
            ]
            expected = choice(banks, spaced, groups)
            assert ctx.get(scheduler.wanted) == (expected is not None), clock
            assert ctx.get(scheduler.move) == (expected is not None and free), clock
            if expected is not None:
                assert ctx.get(scheduler.bank) == expected, clock
            decided = expected is not None and free
            assert ctx.get(scheduler.grant) == (1 << expected if decided else 0)
            ready = [number for number, bank in enumerate(banks) if bank and bank.ready]
            assert ctx.get(scheduler.waits_on_spacing) == (bool(ready) and not decided), clock
            if decided:
                moved.append((clock, expected))
            await ctx.tick()

    run_bench(scheduler, bench)
    return len(moved)


@pytest.mark.parametrize("seed", range(2))
def test_order_of_choice_and_spacing_at_random(seed):
    assert check(800, seed) > 150


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(candidates & self.wanted_by_several).any()", "Const(0)"),
        ("(candidates & self.wanted_again).any()", "Const(0)"),
        ("late.any()", "Const(0)"),
        ("full - sum(members)", "sum(members)"),
        ("Cat(self.left[bank], ", "Cat(~self.left[bank], "),
        ("arbiter.age[bank].eq(self.age[bank])", "arbiter.age[bank].eq(-self.age[bank])"),
        ("self.can_move & self.overdue", "candidates & self.overdue"),
    ],
    ids=["several", "wanted", "overdue", "group", "left", "age", "overdue waits for spacing"],
)
def test_another_order_is_caught(old, new, monkeypatch):
    Mutant("order", ColumnScheduler, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check(800, 0)
