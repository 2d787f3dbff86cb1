"""The row command slot: which bank is activated in this clock."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.bank_machine import AGE_BITS
from recspeed.rtl.dram.signature import BankAddress, bits
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.timer import Timer

__all__ = ["RowScheduler"]

WINDOW = 4
"""Activates in a tFAW window (JESD235C)."""


class RowScheduler(wiring.Component):
    """Activates the oldest request that tRRD_S, tRRD_L, tFAW and refresh permit.

    Since the queue heads of other bank groups become ready at tRRD_S and those of the latest bank
    group at tRRD_L only, oldest-ready-first rotates over bank groups by itself.

    Members
    -------
    can_activate : In(banks)
        Banks that may be activated as far as they are concerned.
    age : In for each bank
        Age of the request that would be activated.
    blocked : In(1)
        Refresh forbids activates.
    activate : Out(1), bank : Out, grant : Out(banks)
        ACT is decided in this clock, for that bank, and the same one-hot.
    window_open : Out(1)
        tFAW permits.

    Timing: combinational from the registers; its timers follow in the next clock.
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        super().__init__(
            {
                "can_activate": In(preset.banks),
                "age": In(AGE_BITS).array(preset.banks),
                "blocked": In(1),
                "activate": Out(1),
                "bank": Out(bits(preset.banks)),
                "grant": Out(preset.banks),
                "window_open": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = self.preset.clocks
        banks = self.preset.banks
        address = BankAddress(self.preset)
        m.submodules.arbiter = arbiter = OldestReady(banks, AGE_BITS)

        spacing = Timer(t.tRRD_S, "tRRD_S")
        spacing.set(self.activate, t.tRRD_S)
        spacing.elaborate_into(m)

        groups = []
        for group in range(address.group(banks - 1) + 1):
            members = [self.grant[bank] for bank in range(banks) if address.group(bank) == group]
            timer = Timer(t.tRRD_L, f"tRRD_L_{group}")
            timer.set(Cat(members).any(), t.tRRD_L)
            timer.elaborate_into(m)
            groups.append(timer)

        # One timer for each of the latest four activates; the oldest of them rules.
        oldest = Signal(range(WINDOW))
        window = [Timer(t.tFAW, f"tFAW_{slot}") for slot in range(WINDOW)]
        for slot, timer in enumerate(window):
            timer.set(self.activate & (oldest == slot), t.tFAW)
            timer.elaborate_into(m)
        with m.If(self.activate):
            m.d.sync += oldest.eq(oldest + 1)
        with m.Switch(oldest):
            for slot, timer in enumerate(window):
                with m.Case(slot):
                    m.d.comb += self.window_open.eq(timer.expired)

        for bank in range(banks):
            m.d.comb += [
                arbiter.ready[bank].eq(
                    self.can_activate[bank] & groups[address.group(bank)].expired
                ),
                arbiter.age[bank].eq(self.age[bank]),
            ]
        m.d.comb += [
            self.activate.eq(arbiter.valid & spacing.expired & self.window_open & ~self.blocked),
            self.bank.eq(arbiter.index),
            self.grant.eq(self.activate << self.bank),
        ]
        return m
