"""Refresh that is refused the row slot: a refused proposal changes nothing, and is made anew.

Refreshers alone, with every input at random, against a model of docs/dram.md, "Refresh".
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.front_end_runs import small_ddr4, small_hbm
from support.mutation import Mutant

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher
from recspeed.rtl.dram.per_bank_refresh import PerBankRefresher
from recspeed.rtl.dram.refresh_control import RefreshControl

CLOCKS = 2500


def mask(banks) -> int:
    return sum(1 << bank for bank in banks)


@dataclass
class PerBankModel:
    """Owed refreshes, the round, and tRREFD, as the page has them."""

    preset: MemoryPreset
    owed: int = 0
    round: set[int] = field(default_factory=set)
    spaced_from: int = 0

    def see(self, clock: int) -> None:
        """What falls due in `clock`."""
        if clock and clock % self.preset.per_bank_interval == 0:
            self.owed += 1

    def victim(self) -> int | None:
        if self.owed < 4:
            return None
        return min(set(range(self.preset.banks)) - self.round)

    def choice(self, clock: int, available: set[int], idle: set[int]) -> int | None:
        """The bank that a REFpb is proposed for."""
        if clock < self.spaced_from:
            return None
        eligible = available - self.round
        if self.victim() in eligible:
            return self.victim()
        return min(eligible & idle, default=None) if self.owed > -4 else None

    def refresh(self, clock: int, bank: int) -> None:
        self.owed -= 1
        self.round.add(bank)
        if len(self.round) == self.preset.banks:
            self.round = set()
        self.spaced_from = clock + self.preset.clocks.tRREFD


@dataclass
class AllBankModel:
    """Due refreshes and tRFC of each rank, in groups of `group`."""

    preset: MemoryPreset
    group: int
    due: list[int]
    free_from: list[int]

    def see(self, clock: int) -> None:
        since, clocks = clock - self.preset.clocks.tREFI, self.preset.clocks
        if since >= 0 and since % (self.group * clocks.tREFI) == 0:
            self.due = [count + self.group for count in self.due]

    def banks(self, rank: int) -> range:
        each = self.preset.banks_per_rank
        return range(rank * each, (rank + 1) * each)

    def choice(self, clock: int, closed: set[int]) -> int | None:
        """The rank that a REF is proposed for."""
        for rank, count in enumerate(self.due):
            if count and clock >= self.free_from[rank] and closed >= set(self.banks(rank)):
                return rank
        return None

    def refresh(self, clock: int, rank: int) -> None:
        self.due[rank] -= 1
        self.free_from[rank] = clock + self.preset.clocks.tRFC

    def of_ranks(self, flags: list[bool]) -> int:
        """A mask of the banks of all ranks with a flag."""
        return mask(bank for rank, flag in enumerate(flags) if flag for bank in self.banks(rank))


def some_banks(rng: np.random.Generator, preset: MemoryPreset, density: float) -> set[int]:
    return set(np.flatnonzero(rng.random(preset.banks) < density).tolist())


def check_per_bank_refresher(seed: int) -> None:
    """Every output in every clock; half of the proposals are refused."""
    print(f"seed {seed}")
    preset, rng = small_hbm(), np.random.default_rng(seed)
    refresher, model = PerBankRefresher(preset), PerBankModel(preset)
    refused, granted = 0, 0

    async def bench(ctx):
        nonlocal refused, granted
        ctx.set(refresher.enable, 1)
        for clock in range(CLOCKS):
            model.see(clock)
            # Half of the time few banks are available, so that refreshes pile up.
            available = some_banks(rng, preset, 0.02 if clock % 800 < 400 else 0.4)
            idle, free = some_banks(rng, preset, 0.3), bool(rng.random() < 0.5)
            ctx.set(refresher.available, mask(available))
            ctx.set(refresher.idle, mask(idle))
            ctx.set(refresher.slot_free, free)
            victim, choice = model.victim(), model.choice(clock, available, idle)
            assert ctx.get(refresher.victim) == (0 if victim is None else 1 << victim), clock
            assert ctx.get(refresher.spacing_permits) == (clock >= model.spaced_from), clock
            assert ctx.get(refresher.wanted) == (choice is not None), clock
            decided = free and choice is not None
            assert ctx.get(refresher.grant) == (1 << choice if decided else 0), clock
            if choice is not None:
                assert ctx.get(refresher.bank) == choice, clock
                refused, granted = refused + (not free), granted + free
            if decided:
                model.refresh(clock, choice)
            await ctx.tick()

    run_bench(refresher, bench)
    assert refused > 10
    assert granted >= CLOCKS // preset.per_bank_interval - 8


def check_all_bank_control(seed: int) -> None:
    """REF of two ranks: every output in every clock; half of the proposals are refused."""
    print(f"seed {seed}")
    preset, rng, group = small_ddr4(), np.random.default_rng(seed), 1 + seed
    control = RefreshControl(preset)
    model = AllBankModel(preset, group, [0, 0], [0, 0])
    refused: list[int] = []

    async def bench(ctx):
        ctx.set(control.group, group)
        ctx.set(control.run, 1)
        for clock in range(CLOCKS):
            model.see(clock)
            closed, free = some_banks(rng, preset, 0.9), bool(rng.random() < 0.5)
            ctx.set(control.closed, mask(closed))
            ctx.set(control.slot_free, free)
            due = [count > 0 for count in model.due]
            busy = [
                owes or clock < free_from
                for owes, free_from in zip(due, model.free_from, strict=True)
            ]
            choice = model.choice(clock, closed)
            assert ctx.get(control.due) == model.of_ranks(due), clock
            assert ctx.get(control.refreshing) == model.of_ranks(busy), clock
            assert ctx.get(control.wanted) == (choice is not None), clock
            assert (ctx.get(control.single), ctx.get(control.grant)) == (0, 0), clock
            assert (ctx.get(control.victim), ctx.get(control.barred)) == (0, 0), clock
            if choice is not None:
                assert ctx.get(control.bank) == model.banks(choice)[0], clock
                if free:
                    model.refresh(clock, choice)
                else:
                    refused.append(choice)
            await ctx.tick()

    run_bench(control, bench)
    assert set(refused) == {0, 1}
    assert max(model.due) <= group


def check_per_bank_control(seed: int) -> None:
    """REFpb by way of the control: closed banks that tRRD permits, waiting ones are not idle."""
    print(f"seed {seed}")
    preset, rng = small_hbm(), np.random.default_rng(seed)
    control, model = RefreshControl(preset), PerBankModel(preset)
    everything = set(range(preset.banks))
    refused = 0

    async def bench(ctx):
        nonlocal refused
        ctx.set(control.group, 1)
        ctx.set(control.per_bank, 1)
        ctx.set(control.run, 1)
        for clock in range(CLOCKS):
            model.see(clock)
            closed = some_banks(rng, preset, 0.05 if clock % 800 < 400 else 0.5)
            spaced, waiting = some_banks(rng, preset, 0.8), some_banks(rng, preset, 0.7)
            free = bool(rng.random() < 0.5)
            ctx.set(control.closed, mask(closed))
            ctx.set(control.spacing_permits, mask(spaced))
            ctx.set(control.waiting, mask(waiting))
            ctx.set(control.slot_free, free)
            choice = model.choice(clock, closed & spaced, everything - waiting)
            victim = mask(() if model.victim() is None else (model.victim(),))
            barred = victim if clock >= model.spaced_from else mask(everything)
            assert (ctx.get(control.due), ctx.get(control.refreshing)) == (0, 0), clock
            assert (ctx.get(control.victim), ctx.get(control.barred)) == (victim, barred), clock
            wanted = choice is not None
            assert (ctx.get(control.wanted), ctx.get(control.single)) == (wanted, wanted), clock
            assert ctx.get(control.grant) == (1 << choice if wanted and free else 0), clock
            if choice is not None:
                assert ctx.get(control.bank) == choice, clock
                refused += not free
                if free:
                    model.refresh(clock, choice)
            await ctx.tick()

    run_bench(control, bench)
    assert refused > 10


CHECKS = {
    "per-bank refresher": check_per_bank_refresher,
    "all-bank control": check_all_bank_control,
    "per-bank control": check_per_bank_control,
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("check", list(CHECKS))
def test_refused_refreshes(check, seed):
    CHECKS[check](seed)


MUTANTS = (
    (
        "per-bank refresher",
        Mutant(
            "refused REFpb counts",
            PerBankRefresher,
            "elaborate",
            "self.wanted & self.slot_free",
            "self.wanted",
            "",
        ),
    ),
    (
        "per-bank refresher",
        Mutant(
            "proposed only if free",
            PerBankRefresher,
            "elaborate",
            "self.wanted.eq(chosen != 0)",
            "self.wanted.eq((chosen != 0) & self.slot_free)",
            "",
        ),
    ),
    (
        "per-bank refresher",
        Mutant(
            "refused bank joins the round",
            PerBankRefresher,
            "elaborate",
            "after.eq(refreshed | self.grant)",
            "after.eq(refreshed | chosen)",
            "",
        ),
    ),
    (
        "all-bank control",
        Mutant(
            "refused REF counts",
            AllBankRefresher,
            "elaborate",
            "self.ready & self.slot_free",
            "self.ready",
            "",
        ),
    ),
    (
        "all-bank control",
        Mutant(
            "REF takes no slot",
            RefreshControl,
            "_all_bank",
            "self.slot_free & ~taken",
            "~taken",
            "",
        ),
    ),
    (
        "per-bank control",
        Mutant(
            "REFpb takes no slot",
            RefreshControl,
            "_per_bank",
            "single.slot_free.eq(self.slot_free)",
            "single.slot_free.eq(1)",
            "",
        ),
    ),
)


@pytest.mark.parametrize(
    ("check", "mutant"), MUTANTS, ids=[mutant.name.replace(" ", "_") for _, mutant in MUTANTS]
)
def test_wrong_refresh_is_caught(check, mutant, monkeypatch):
    mutant.inject(monkeypatch)
    with pytest.raises(AssertionError):
        CHECKS[check](0)
