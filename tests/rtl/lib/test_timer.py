"""The timer: blocked for its clocks and no clock longer."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from support.amaranth_bench import run_bench

from recspeed.rtl.lib.timer import Timer


class TwoSettings(wiring.Component):
    """A timer that is set to one of two values."""

    def __init__(self, first: int, second: int):
        self.clocks = (first, second)
        super().__init__({"set": In(2), "expired": Out(1)})

    def elaborate(self, platform):
        m = Module()
        timer = Timer(max(self.clocks), "tested")
        for number, clocks in enumerate(self.clocks):
            timer.set(self.set[number], clocks)
        timer.elaborate_into(m)
        m.d.comb += self.expired.eq(timer.expired)
        # A timer that is never set has no register otherwise, and the domain must exist.
        m.d.sync += Signal(name="ticked").eq(1)
        return m


@pytest.mark.parametrize("clocks", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 350])
def test_timer_not_at_one_clock_less_but_at_its_clock(clocks):
    timer = TwoSettings(clocks, clocks)

    async def bench(ctx):
        for _ in range(3):
            assert ctx.get(timer.expired) == 1
            ctx.set(timer.set, 1)
            await ctx.tick()
            ctx.set(timer.set, 0)
            for _ in range(1, clocks):
                assert ctx.get(timer.expired) == 0
                await ctx.tick()
            assert ctx.get(timer.expired) == 1

    run_bench(timer, bench)


@pytest.mark.parametrize(("first", "second"), [(3, 8), (8, 3), (1, 5), (4, 4), (47, 19)])
def test_the_later_end_of_two_settings_wins(first, second):
    timer = TwoSettings(first, second)
    rng = np.random.default_rng(first)

    async def bench(ctx):
        end = 0
        blocked = 0
        for clock in range(3000):
            assert ctx.get(timer.expired) == (clock >= end), clock
            blocked += clock < end
            choice = int(rng.choice([0, 1, 2, 3], p=[0.85, 0.06, 0.06, 0.03]))
            ctx.set(timer.set, choice)
            for number, clocks in enumerate((first, second)):
                if choice >> number & 1:
                    end = max(end, clock + clocks)
            await ctx.tick()
        assert 0 < blocked < 3000

    run_bench(timer, bench)
