"""The memory channel's registers: run-time settings in, counters and status out."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.register_map import (
    ADDRESS_BITS,
    COUNTER_BASE,
    TABLE_BASE,
    TABLE_STRIDE,
    Counter,
    Register,
    TableRegister,
)
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.bank_machine import HIT_BITS
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, TABLE_BITS

__all__ = ["ChannelRegisters"]


class ChannelRegisters(wiring.Component):
    """A register file with the map of `models.spec.registers`.

    Members
    -------
    address, write, write_data : In
        Sets the register at `address` in this clock, if `write` is 1.
    read_data : Out(64)
        Word at `address`, in the clock after.
    run, bags, outstanding, refresh_group, slots, slot_shift, fp32 : Out
        The control registers.
    table_write : Out(1), table, field : Out
        `write_data` goes to this field of a table descriptor.
    counters : In(64) for each Counter
    """

    def __init__(self, parameters: ClusterParameters):
        self.widths = {
            Register.RUN: 1,
            Register.BAGS: BAG_NUMBER_BITS,
            Register.OUTSTANDING: bits(parameters.maximum_outstanding + 1),
            Register.REFRESH_GROUP: bits(MAXIMUM_REFRESH_DEBT + 1),
            Register.SLOTS: bits(parameters.bag_slots + 1),
            Register.SLOT_SHIFT: bits(bits(parameters.accumulator_words) + 1),
            Register.OUTPUT_FP32: 1,
            Register.PER_BANK: 1,
            Register.ROW_HITS: HIT_BITS,
        }
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "write_data": In(64),
                "read_data": Out(64),
                **{register.name.lower(): Out(width) for register, width in self.widths.items()},
                "table_write": Out(1),
                "table": Out(TABLE_BITS),
                "field": Out(bits(TABLE_STRIDE)),
                "counters": In(64).array(len(Counter)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        offset = Signal(ADDRESS_BITS)
        in_tables = Signal()
        m.d.comb += [
            offset.eq(self.address - TABLE_BASE),
            in_tables.eq((self.address >= TABLE_BASE) & (self.address < COUNTER_BASE)),
            self.table_write.eq(self.write & in_tables),
            self.table.eq(offset >> bits(TABLE_STRIDE)),
            self.field.eq(offset),
        ]
        assert len(TableRegister) <= TABLE_STRIDE
        with m.If(self.write), m.Switch(self.address):
            for register in self.widths:
                with m.Case(register.value):
                    m.d.sync += getattr(self, register.name.lower()).eq(self.write_data)
        m.d.sync += self.read_data.eq(0)
        with m.Switch(self.address):
            for counter in Counter:
                with m.Case(COUNTER_BASE + counter.value):
                    m.d.sync += self.read_data.eq(self.counters[counter.value])
        return m
