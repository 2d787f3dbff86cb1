"""All-bank refresh of one rank: when it is due, and when it may be issued."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.distances import Distances
from recspeed.rtl.lib.timer import Timer

__all__ = ["AllBankRefresher"]


class AllBankRefresher(wiring.Component):
    """Issues groups of all-bank refreshes, ahead of their time (JEDEC: tREFI, tRFC).

    With a group of R the first R refreshes are due in clock tREFI and R more every R * tREFI: R - 1
    of each group are pulled in, of the `MAXIMUM_REFRESH_DEBT` that the standard allows. The pause
    to drain the banks is thus paid once per group. Ranks refresh together: while one alone
    refreshes, the requests in flight pile up in front of it and the other one starves.

    Members
    -------
    run : In(1)
        Clocks count from the first one in which this is 1.
    group : In(range(MAXIMUM_REFRESH_DEBT + 1))
        R; 0 switches all-bank refresh off.
    banks_idle : In(1)
        Every bank of the rank is closed and its timers permit REF.
    slot_free : In(1)
        No other command takes the row slot.
    due : Out(1)
        Refreshes are due: no ACT may be issued in the rank.
    busy : Out(1)
        `due`, or the latest REF is less than tRFC ago.
    ready : Out(1)
        REF can be decided in this clock, and is if `slot_free`.

    *Timing*: combinational from registers and inputs.

    Source: docs/dram.md, "Refresh control".
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        super().__init__(
            {
                "run": In(1),
                "group": In(range(MAXIMUM_REFRESH_DEBT + 1)),
                "banks_idle": In(1),
                "slot_free": In(1),
                "due": Out(1),
                "busy": Out(1),
                "ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = Distances(self.preset)
        tREFI = self.preset.clocks.tREFI
        interval = Signal(range(MAXIMUM_REFRESH_DEBT * tREFI), init=tREFI - 1)
        left = Signal(range(2 * MAXIMUM_REFRESH_DEBT + 1))
        remaining = Signal.like(left)
        refresh = Signal()
        cycle_time = Timer(t.tRFC, "tRFC")
        m.d.comb += [
            self.due.eq(left != 0),
            self.busy.eq(self.due | ~cycle_time.expired),
            self.ready.eq(self.due & self.banks_idle & cycle_time.expired),
            refresh.eq(self.ready & self.slot_free),
            remaining.eq(left - refresh),
        ]
        cycle_time.set(refresh, t.tRFC)
        cycle_time.elaborate_into(m)
        m.d.sync += left.eq(remaining)
        with m.If(self.run & (self.group != 0)):
            m.d.sync += interval.eq(interval - 1)
            with m.If(interval == 0):
                m.d.sync += left.eq(remaining + self.group)
                with m.Switch(self.group):
                    for group in range(1, MAXIMUM_REFRESH_DEBT + 1):
                        with m.Case(group):
                            m.d.sync += interval.eq(group * tREFI - 1)
        return m
