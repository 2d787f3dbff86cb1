"""Where the clocks go: names the cause of every clock in which the data bus starts nothing."""

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset

__all__ = ["Attribution", "Cause"]


class Cause(enum.Enum, shape=3):
    """What a clock was spent on, as far as the front-end knows. NOTHING: it has no request."""

    NOTHING = 0
    DATA = 1
    REFRESH = 2
    TCCD_L = 3
    TURNAROUND = 4
    BANK_BUSY = 5
    TFAW = 6
    TRRD = 7


class Attribution(wiring.Component):
    """Applies the rules of docs/dram.md, "Where the clocks go", 1 to 5.

    Members
    -------
    move : In(1)
        A column command is decided in this clock.
    activate : In(1)
        An ACT is decided in this clock.
    waits_on_spacing : In(1)
        From the column scheduler.
    waits_on_turn : In(1)
        From the column scheduler.
    waiting : In(banks)
        Banks that are not active and have a request of the direction that rows are opened for.
    refreshing : In(banks)
        Banks whose rank is in all-bank refresh, or waits for it.
    timer_expired : In(banks)
        Banks whose own timers permit ACT.
    barred : In(banks)
        Banks that per-bank refresh keeps from being activated.
    window_permits : In(banks)
        Banks in whose rank tFAW permits.
    active : In(1)
        A bank is active.
    other_waits : In(1)
        A request of the other direction waits.
    cause : Out(Cause)
        What this clock is spent on.

    *Timing*: combinational, with memory of the last burst and of the latest row cause.

    Source: docs/dram.md, "Where the clocks go".
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        banks = preset.banks
        super().__init__(
            {
                "move": In(1),
                "activate": In(1),
                "waits_on_spacing": In(1),
                "waits_on_turn": In(1),
                "waiting": In(banks),
                "refreshing": In(banks),
                "timer_expired": In(banks),
                "barred": In(banks),
                "window_permits": In(banks),
                "active": In(1),
                "other_waits": In(1),
                "cause": Out(Cause),
            }
        )

    def elaborate(self, platform):
        m = Module()
        banks = self.preset.banks
        bursting = Signal(self.preset.burst_clocks - 1)
        m.d.sync += bursting.eq((bursting << 1) | self.move)

        all_refreshing = Signal()
        served = Signal(banks)
        ready = Signal(banks)
        row_cause = Signal(Cause, init=Cause.BANK_BUSY)
        row_cause_now = Signal(Cause)
        m.d.comb += [
            all_refreshing.eq(self.refreshing.all()),
            served.eq(self.waiting & ~self.refreshing),
            ready.eq(served & self.timer_expired),
        ]
        with m.If(served == 0):
            m.d.comb += row_cause_now.eq(Cause.REFRESH)
        with m.Elif(ready == 0):
            m.d.comb += row_cause_now.eq(Cause.BANK_BUSY)
        with m.Elif((ready & ~self.barred) == 0):
            m.d.comb += row_cause_now.eq(Cause.REFRESH)
        with m.Elif((ready & self.window_permits) == 0):
            m.d.comb += row_cause_now.eq(Cause.TFAW)
        with m.Elif(~self.activate):
            m.d.comb += row_cause_now.eq(Cause.TRRD)
        with m.Else():
            m.d.comb += row_cause_now.eq(row_cause)
        with m.If((served != 0) & ~all_refreshing & ~self.activate):
            m.d.sync += row_cause.eq(row_cause_now)

        with m.If(self.move | (bursting != 0)):
            m.d.comb += self.cause.eq(Cause.DATA)
        with m.Elif(all_refreshing):
            m.d.comb += self.cause.eq(Cause.REFRESH)
        with m.Elif(self.waits_on_spacing):
            m.d.comb += self.cause.eq(Cause.TCCD_L)
        with m.Elif(self.waits_on_turn):
            m.d.comb += self.cause.eq(Cause.TURNAROUND)
        with m.Elif(self.waiting != 0):
            m.d.comb += self.cause.eq(row_cause_now)
        with m.Elif(self.active):
            m.d.comb += self.cause.eq(Cause.BANK_BUSY)
        with m.Elif(self.other_waits):
            m.d.comb += self.cause.eq(Cause.TURNAROUND)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.NOTHING)
        return m
