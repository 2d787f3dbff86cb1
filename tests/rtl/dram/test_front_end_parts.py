"""Parts of the DRAM front-end in Amaranth's own simulator."""

from functools import cache

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.cluster_runs import preset_with
from support.mutation import Mutant

from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.models.spec.table import Table, place_tables
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.rtl.pooling.vector_placement import AddressMap


def check_address_map(preset, table: Table, vectors) -> set[tuple[int, int, int]]:
    """The place of each vector against `divmod`; returns the places."""
    mapping = AddressMap(preset)
    places = set()

    async def bench(ctx):
        ctx.set(mapping.base_row, table.base_row)
        ctx.set(mapping.row_span, table.row_span)
        ctx.set(mapping.bursts, table.bursts(preset))
        for vector in vectors:
            ctx.set(mapping.vector, int(vector))
            number, bank = divmod(int(vector), preset.banks)
            place, row = divmod(number, table.row_span)
            expected = (bank, table.base_row + row, place * table.bursts(preset))
            found = (ctx.get(mapping.bank), ctx.get(mapping.row), ctx.get(mapping.column))
            assert found == expected, vector
            assert found[2] + table.bursts(preset) <= preset.bursts_per_row
            places.add(found)

    run_bench(mapping, bench, clocked=False)
    return places


@pytest.mark.parametrize("name", memory_preset_names())
def test_every_vector_of_small_tables(name):
    preset = memory_preset(name)
    shapes = [(1, 64), (17, 32), (1500, 32), (700, 96), (129, 1024), (1024, 512), (333, 1000)]
    taken = set()
    for table in place_tables(preset, shapes):
        places = check_address_map(preset, table, range(table.rows))
        assert len(places) == table.rows
        assert not places & taken
        taken |= places


@pytest.mark.parametrize("size", [32, 64, 160, 352, 1024])
@pytest.mark.parametrize("name", memory_preset_names())
def test_random_vectors_of_a_table_that_fills_the_channel(name, size):
    preset = memory_preset(name)
    per_row = preset.bursts_per_row // -(-size // preset.burst_bytes)
    rows = preset.banks * preset.organization.rows * per_row
    (table,) = place_tables(preset, [(rows, size)])
    rng = np.random.default_rng(size)
    vectors = [0, rows - 1, rows - preset.banks, *rng.integers(0, rows, 1500)]
    places = check_address_map(preset, table, vectors)
    last = (preset.banks - 1, preset.organization.rows - 1, (per_row - 1) * table.bursts(preset))
    assert last in places
    if size == 32:
        assert last[2] == preset.bursts_per_row - 1


def refresh_preset():
    return preset_with("short", tREFI=120, tRFC=25, tRFCpb=20, tRREFD=2)


@pytest.mark.parametrize("group", range(9))
def test_refresher(group):
    """Due at tREFI and not one clock before, then every `group` tREFI; REFs tRFC apart."""
    refresher = AllBankRefresher(refresh_preset())
    rng = np.random.default_rng(group)
    interval, tRFC = 120, 25

    async def bench(ctx):
        ctx.set(refresher.group, group)
        ctx.set(refresher.slot_free, 1)
        for _ in range(7):
            assert ctx.get(refresher.due) == 0
            await ctx.tick()
        ctx.set(refresher.run, 1)
        due, free_from, issued = 0, 0, []
        for clock in range(40 * interval):
            idle = rng.random() < 0.9
            ctx.set(refresher.banks_idle, idle)
            # In clock tREFI (1 + group * j) they are seen due.
            if group and clock % interval == 0 and (clock // interval - 1) % group == 0 and clock:
                due += group
            busy = due > 0 or clock < free_from
            refresh = due > 0 and idle and clock >= free_from
            found = (ctx.get(refresher.due), ctx.get(refresher.busy), ctx.get(refresher.ready))
            assert found == (due > 0, busy, refresh), clock
            if refresh:
                due -= 1
                free_from = clock + tRFC
                issued.append(clock)
            await ctx.tick()
        if group == 0:
            assert issued == []
        else:
            assert 40 - group <= len(issued) <= 40 + group
            assert min(issued) >= interval

    run_bench(refresher, bench)


def test_refresher_at_its_interval_and_no_clock_before():
    refresher = AllBankRefresher(memory_preset("hbm2-2000"))

    async def bench(ctx):
        ctx.set(refresher.group, 1)
        ctx.set(refresher.slot_free, 1)
        ctx.set(refresher.banks_idle, 1)
        ctx.set(refresher.run, 1)
        for clock in range(3 * 3900 + 2):
            expected = clock > 0 and clock % 3900 == 0
            assert ctx.get(refresher.ready) == expected, clock
            await ctx.tick()

    run_bench(refresher, bench)


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
