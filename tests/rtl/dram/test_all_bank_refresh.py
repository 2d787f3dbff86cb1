"""All-bank refresh of a rank: when it is due, and when it is issued."""

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.cluster_runs import preset_with

from recspeed.models.spec.memory import memory_preset
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher


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
