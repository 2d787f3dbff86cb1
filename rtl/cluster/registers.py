"""The cluster's registers: run-time settings in, counters and status out."""

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
from recspeed.rtl.cluster.memory_channel import ChannelSettings
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS
from recspeed.rtl.pooling.tables import DescriptorWrite

__all__ = ["ClusterRegisters"]


CHANNEL_REGISTERS = {
    Register.RUN: "run",
    Register.OUTSTANDING: "outstanding",
    Register.REFRESH_GROUP: "refresh_group",
    Register.PER_BANK: "per_bank",
    Register.ROW_HITS: "row_hits",
    Register.SLOT_SHIFT: "slot_shift",
}
"""Registers that are settings of the channel, by the member's name."""


class ClusterRegisters(wiring.Component):
    """A register file with the map of `models.spec.register_map`.

    Members
    -------
    address : In(ADDRESS_BITS)
        Which word.
    write : In(1)
        Sets the register at `address` in this clock.
    write_data : In(64)
        To what.
    read_data : Out(64)
        Word at `address`, in the clock after.
    bags : Out(BAG_NUMBER_BITS)
        Bags of the run.
    slots : Out(range(bag_slots + 1))
        Bag slots in use.
    output_fp32 : Out(1)
        Results in FP32, else in FP16.
    channel : Out(ChannelSettings)
        The registers that are for the channel.
    tables : Out(DescriptorWrite)
        Writes of table descriptors.
    counters : In(64).array(len(Counter))
        What is read, by number of the counter.

    *Timing*: a register is seen in the clock after its write.

    Source: `models.spec.register_map`.
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "write_data": In(64),
                "read_data": Out(64),
                "bags": Out(BAG_NUMBER_BITS),
                "slots": Out(bits(parameters.bag_slots + 1)),
                "output_fp32": Out(1),
                "channel": Out(ChannelSettings(parameters)),
                "tables": Out(DescriptorWrite()),
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
            self.tables.write.eq(self.write & in_tables),
            self.tables.table.eq(offset >> bits(TABLE_STRIDE)),
            self.tables.field.eq(offset),
            self.tables.value.eq(self.write_data),
        ]
        registers = {
            Register.BAGS: self.bags,
            Register.SLOTS: self.slots,
            Register.OUTPUT_FP32: self.output_fp32,
        }
        for register, name in CHANNEL_REGISTERS.items():
            registers[register] = getattr(self.channel, name)
        assert set(registers) == set(Register)
        assert len(TableRegister) <= TABLE_STRIDE
        with m.If(self.write), m.Switch(self.address):
            for register, value in registers.items():
                with m.Case(register.value):
                    m.d.sync += value.eq(self.write_data)
        m.d.sync += self.read_data.eq(0)
        with m.Switch(self.address):
            for counter in Counter:
                with m.Case(COUNTER_BASE + counter.value):
                    m.d.sync += self.read_data.eq(self.counters[counter.value])
        return m
