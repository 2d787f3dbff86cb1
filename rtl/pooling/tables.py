"""Table descriptors: what the channel knows of each embedding table."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import TableRegister
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, TABLE_BITS

__all__ = ["TableDescriptor", "Tables"]

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


class Tables(wiring.Component):
    """Memory of descriptors: one write port of single fields, one read port.

    Members
    -------
    write : In(1), table, field, value : In
        Sets one field (`TableRegister`) of one table.
    address : In
        Table to read.
    descriptor : Out(TableDescriptor)

    Timing: `descriptor` is combinational from `address`.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.preset = preset
        self.parameters = parameters
        super().__init__(
            {
                "write": In(1),
                "table": In(TABLE_BITS),
                "field": In(3),
                "value": In(64),
                "address": In(TABLE_BITS),
                "descriptor": Out(TableDescriptor(preset)),
            }
        )

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
                write.en.eq(self.write & (self.field == register.value)),
                write.addr.eq(self.table),
                write.data.eq(self.value),
                read.addr.eq(self.address),
                self.descriptor[name].eq(read.data),
            ]
        return m
