"""The row scheduler against a model of tRRD_S, tRRD_L, tFAW and age, to the clock."""

from functools import cache

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.cluster_runs import preset_with
from support.mutation import Mutant

from recspeed.rtl.dram.row_scheduler import RowScheduler

TIGHT = {"tRRD_S": 4, "tRRD_L": 6}


@cache
def window_preset(window: int):
    return preset_with(f"window-{window}", tFAW=window, **TIGHT)


def activates(window: int, density: float, clocks: int, seed: int = 0) -> list[int]:
    """Clocks of the ACTs, each held against a model of tRRD_S, tRRD_L, tFAW and age."""
    preset = window_preset(window)
    banks = preset.banks
    scheduler = RowScheduler(preset)
    rng = np.random.default_rng(seed)
    decided: list[tuple[int, int]] = []

    async def bench(ctx):
        ages = rng.permutation(1000)[:banks].tolist()
        for number, age in enumerate(ages):
            ctx.set(scheduler.age[number], age)
        for clock in range(clocks):
            wants = (rng.random(banks) < density).tolist()
            blocked = bool(rng.random() < 0.02)
            ctx.set(scheduler.can_activate, sum(1 << bank for bank in range(banks) if wants[bank]))
            ctx.set(scheduler.slot_free, not blocked)
            recent = [at for at, _ in decided if at > clock - window]
            window_open = len(recent) < 4
            ready = [
                bank
                for bank in range(banks)
                if wants[bank]
                and all(
                    clock - at >= TIGHT["tRRD_L"] for at, other in decided if other % 4 == bank % 4
                )
            ]
            spaced = all(clock - at >= TIGHT["tRRD_S"] for at, _ in decided)
            expected = bool(ready) and spaced and window_open and not blocked
            assert ctx.get(scheduler.window_permits) == ((1 << banks) - 1 if window_open else 0), (
                clock
            )
            assert ctx.get(scheduler.activate) == expected, clock
            if expected:
                oldest = min(ready, key=lambda bank: ages[bank])
                assert ctx.get(scheduler.bank) == oldest
                assert ctx.get(scheduler.grant) == 1 << oldest
                decided.append((clock, oldest))
            else:
                assert ctx.get(scheduler.grant) == 0
            del decided[:-8]
            await ctx.tick()
            if expected:
                at.append(clock)

    at: list[int] = []
    run_bench(scheduler, bench)
    return at


@pytest.mark.parametrize("window", [4, 15, 16, 17, 18, 23, 24, 25, 40])
def test_four_activates_per_window_and_the_fifth_at_its_end(window):
    """With every bank ready the fifth ACT comes exactly tFAW after the first, or tRRD_S binds."""
    found = activates(window, 1.0, 300)
    distances = [later - earlier for earlier, later in zip(found, found[4:], strict=False)]
    assert min(distances) == max(window, 4 * TIGHT["tRRD_S"])


@pytest.mark.parametrize("seed", range(4))
def test_row_scheduler_at_random(seed):
    found = activates(23, [0.02, 0.1, 0.3, 0.8][seed], 1200, seed)
    assert len(found) > 100


def test_a_window_that_is_one_clock_short_is_caught(monkeypatch):
    Mutant(
        "tFAW",
        RowScheduler,
        "_window",
        "(oldest == slot), t.tFAW)",
        "(oldest == slot), t.tFAW - 1)",
        "",
    ).inject(monkeypatch)
    with pytest.raises(AssertionError):
        activates(23, 1.0, 100)
