"""Table descriptors: what the cluster knows of each embedding table."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import TABLE_STRIDE, TableRegister
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, TABLE_BITS

__all__ = ["DescriptorRead", "DescriptorWrite", "TableDescriptor", "Tables"]

ROWS_BITS = 41


class TableDescriptor(data.StructLayout):
    """`rows`, vector size in `elements` and `bursts` (both counted from 1), place, and `Policy`."""

    def __init__(self, preset: MemoryPreset):
        super().__init__(
            {
                "rows": unsigned(ROWS_BITS),
                "elements": unsigned(ELEMENT_COUNT_BITS),
                "bursts": unsigned(bits(preset.bursts_per_row + 1)),
                "base_row": unsigned(bits(preset.organization.rows)),
                "row_span": unsigned(bits(preset.organization.rows + 1)),
                "policy": unsigned(2),
            }
        )


class DescriptorWrite(Signature):
    """Sets one field of one table's descriptor, seen from who writes.

    Members
    -------
    write : Out(1)
        Set the field in this clock.
    table : Out(TABLE_BITS)
        Number of the table.
    field : Out(range(TABLE_STRIDE))
        Which field, by its `TableRegister`.
    value : Out(64)
        What it becomes.
    """

    def __init__(self):
        super().__init__(
            {
                "write": Out(1),
                "table": Out(TABLE_BITS),
                "field": Out(bits(TABLE_STRIDE)),
                "value": Out(64),
            }
        )


class DescriptorRead(Signature):
    """Looks a descriptor up, seen from who reads.

    Members
    -------
    table : Out(TABLE_BITS)
        Number of the table.
    descriptor : In(TableDescriptor)
        Its descriptor, in the same clock.
    """

    def __init__(self, preset: MemoryPreset):
        super().__init__({"table": Out(TABLE_BITS), "descriptor": In(TableDescriptor(preset))})


class Tables(wiring.Component):
    """Memory of descriptors: one write port of single fields, one read port.

    Members
    -------
    write : In(DescriptorWrite)
        From the registers.
    read : In(DescriptorRead)
        From the lookup issue.

    *Timing*: a field is seen in the clock after its write; reading is combinational.

    *Undefined*: tables beyond the `tables` of the parameters.

    Source: `models.spec.register_map`, `TableRegister`.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.preset = preset
        self.parameters = parameters
        super().__init__({"write": In(DescriptorWrite()), "read": In(DescriptorRead(preset))})

    def elaborate(self, platform):
        m = Module()
        fields = TableDescriptor(self.preset).members
        for register in TableRegister:
            name = register.name.lower()
            memory = Memory(shape=fields[name], depth=self.parameters.tables, init=[])
            m.submodules[name] = memory
            write = memory.write_port()
            read = memory.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(self.write.write & (self.write.field == register.value)),
                write.addr.eq(self.write.table),
                write.data.eq(self.write.value),
                read.addr.eq(self.read.table),
                self.read.descriptor[name].eq(read.data),
            ]
        return m
