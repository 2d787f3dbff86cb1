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
    """Applies the rules of ARCHITECTURE.md, "Where the clocks go", 1 to 4.

    Members
    -------
    read, activate : In(1)
        Commands decided in this clock.
    refresh_busy : In(1)
        Refresh is due or in its cycle time.
    waits_on_group, waits_on_stack : In(1)
        From the column scheduler.
    waiting : In(banks)
        Banks that are closed and have a request.
    can_activate : In(banks)
        Those of them whose timers permit ACT.
    window_open : In(1)
        tFAW permits.
    active : In(1)
        A bank is active.
    cause : Out(Cause)

    Timing: combinational, with memory of the last burst and of the latest row cause.
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        super().__init__(
            {
                "read": In(1),
                "activate": In(1),
                "refresh_busy": In(1),
                "waits_on_group": In(1),
                "waits_on_stack": In(1),
                "waiting": In(preset.banks),
                "can_activate": In(preset.banks),
                "window_open": In(1),
                "active": In(1),
                "cause": Out(Cause),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bursting = Signal(max(self.preset.burst_clocks - 1, 1))
        if self.preset.burst_clocks > 1:
            m.d.sync += bursting.eq((bursting << 1) | self.read)

        row_cause = Signal(Cause, init=Cause.BANK_BUSY)
        row_cause_now = Signal(Cause)
        with m.If(self.can_activate == 0):
            m.d.comb += row_cause_now.eq(Cause.BANK_BUSY)
        with m.Elif(~self.window_open):
            m.d.comb += row_cause_now.eq(Cause.TFAW)
        with m.Elif(~self.activate):
            m.d.comb += row_cause_now.eq(Cause.TRRD)
        with m.Else():
            m.d.comb += row_cause_now.eq(row_cause)
        with m.If((self.waiting != 0) & ~self.refresh_busy & ~self.activate):
            m.d.sync += row_cause.eq(row_cause_now)

        with m.If(self.read | (bursting != 0)):
            m.d.comb += self.cause.eq(Cause.DATA)
        with m.Elif(self.refresh_busy):
            m.d.comb += self.cause.eq(Cause.REFRESH)
        with m.Elif(self.waits_on_group):
            m.d.comb += self.cause.eq(Cause.TCCD_L)
        with m.Elif(self.waits_on_stack):
            m.d.comb += self.cause.eq(Cause.TURNAROUND)
        with m.Elif(self.waiting != 0):
            m.d.comb += self.cause.eq(row_cause_now)
        with m.Elif(self.active):
            m.d.comb += self.cause.eq(Cause.BANK_BUSY)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.NOTHING)
        return m
