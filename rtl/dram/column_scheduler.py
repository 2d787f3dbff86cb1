"""The column command slot: which open bank is read in this clock."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.bank_machine import AGE_BITS
from recspeed.rtl.dram.signature import BankAddress, bits
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.timer import Timer

__all__ = ["ColumnScheduler"]


class ColumnScheduler(wiring.Component):
    """Reads for the oldest open request that tCCD_S, tCCD_L and tCCD_R permit.

    The latest bank group is ready again at tCCD_L only and the others at tCCD_S, so the bursts of
    two or more vectors interleave over bank groups; with several stack IDs, reads stay on one while
    it has ready banks.

    Members
    -------
    can_read : In(banks)
        Banks that may be read as far as they are concerned.
    age : In for each bank
        Age of the request that is open.
    read : Out(1), bank : Out, grant : Out(banks)
        A read is decided in this clock, for that bank, and the same one-hot.
    waits_on_group, waits_on_stack : Out(1)
        No read is decided though a bank could be read: column spacing forbids it, within one stack
        ID, or only for the change of stack IDs (tCCD_R).

    Timing: combinational from the registers; its timers follow in the next clock.
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        super().__init__(
            {
                "can_read": In(preset.banks),
                "age": In(AGE_BITS).array(preset.banks),
                "read": Out(1),
                "bank": Out(bits(preset.banks)),
                "grant": Out(preset.banks),
                "waits_on_group": Out(1),
                "waits_on_stack": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = self.preset.clocks
        banks = self.preset.banks
        stacks = self.preset.organization.stack_ids
        address = BankAddress(self.preset)
        m.submodules.arbiter = arbiter = OldestReady(banks, AGE_BITS)

        spacing = Timer(t.tCCD_S, "tCCD_S")
        spacing.set(self.read, t.tCCD_S)
        spacing.elaborate_into(m)
        turnaround = Timer(t.tCCD_R, "tCCD_R")
        turnaround.set(self.read, t.tCCD_R)
        turnaround.elaborate_into(m)

        groups = []
        for group in range(address.group(banks - 1) + 1):
            members = [self.grant[bank] for bank in range(banks) if address.group(bank) == group]
            timer = Timer(t.tCCD_L, f"tCCD_L_{group}")
            timer.set(Cat(members).any(), t.tCCD_L)
            timer.elaborate_into(m)
            groups.append(timer)

        latest_stack = Signal(range(max(stacks, 2)))
        stack_permitted = Signal(stacks)
        for stack in range(stacks):
            m.d.comb += stack_permitted[stack].eq(turnaround.expired | (latest_stack == stack))
        if stacks > 1:
            with m.If(self.read):
                m.d.sync += latest_stack.eq(self.bank >> bits(address.banks_per_stack))

        permitted = Signal(banks)
        for bank in range(banks):
            m.d.comb += [
                permitted[bank].eq(stack_permitted[address.stack(bank)]),
                arbiter.ready[bank].eq(
                    self.can_read[bank] & permitted[bank] & groups[address.group(bank)].expired
                ),
                arbiter.age[bank].eq(self.age[bank]),
            ]
        m.d.comb += [
            self.read.eq(arbiter.valid & spacing.expired),
            self.bank.eq(arbiter.index),
            self.grant.eq(Mux(self.read, 1 << self.bank, 0)),
            self.waits_on_group.eq(~self.read & (self.can_read & permitted).any()),
            self.waits_on_stack.eq(~self.read & self.can_read.any() & ~self.waits_on_group),
        ]
        return m
