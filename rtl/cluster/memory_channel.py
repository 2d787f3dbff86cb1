"""A memory channel: lookup issue, DRAM front-end and pooling slice of one HBM pseudo channel."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import ADDRESS_BITS, Counter
from recspeed.rtl.cluster.counters import COUNTED_EVENTS, ChannelCounters
from recspeed.rtl.cluster.registers import ChannelRegisters
from recspeed.rtl.dram.dram_bus import DramBus
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.pooling.bag_slots import BagSlots
from recspeed.rtl.pooling.lookup_issue import LookupIssue
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, INDEX_BITS, Bag, PooledBeat
from recspeed.rtl.pooling.pooling_slice import PoolingSlice
from recspeed.rtl.pooling.tables import Tables

__all__ = ["MemoryChannel"]


class MemoryChannel(wiring.Component):
    """From a lookup trace in CSR form to pooled vectors (behaviour to the clock: ARCHITECTURE.md).

    Members
    -------
    address, write, write_data : In; read_data : Out
        Register bus, map in `models.spec.registers`; see `ChannelRegisters`.
    bags : In stream of Bag, indices : In stream of 64-bit row numbers
    pooled : Out stream of PooledBeat
    dram : Out(DramBus)
    running : Out(1)
        The run was started and is not done.
    done : Out(1)
        The run was started and all its bags have left, or it ended at a fatal lookup.

    Timing: see the parts. A run ends with every slot free, so the next one needs a reset of the
    registers alone.

    Undefined: a reset in the middle of a run, which leaves sums behind in the accumulators.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters | None = None):
        self.preset = preset
        self.parameters = parameters or ClusterParameters()
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "write_data": In(64),
                "read_data": Out(64),
                "bags": In(stream.Signature(Bag())),
                "indices": In(stream.Signature(unsigned(INDEX_BITS))),
                "pooled": Out(stream.Signature(PooledBeat(self.parameters))),
                "dram": Out(DramBus(preset)),
                "running": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.registers = registers = ChannelRegisters(self.parameters)
        m.submodules.counters = counters = ChannelCounters()
        m.submodules.tables = tables = Tables(self.preset, self.parameters)
        m.submodules.issue = issue = LookupIssue(self.preset, self.parameters)
        m.submodules.slots = slots = BagSlots(self.parameters)
        m.submodules.slice = pooling = PoolingSlice(self.preset, self.parameters)
        m.submodules.front_end = front_end = DramFrontEnd(
            self.preset,
            tag_bits=issue.tag_layout.size,
            queue_depth=self.parameters.queue_depth,
            maximum_outstanding=self.parameters.maximum_outstanding,
        )
        wiring.connect(m, wiring.flipped(self.bags), issue.bags)
        wiring.connect(m, wiring.flipped(self.indices), issue.indices)
        wiring.connect(m, issue.requests, front_end.reads)
        wiring.connect(m, wiring.flipped(self.dram), front_end.dram)
        wiring.connect(m, wiring.flipped(self.pooled), pooling.pooled)

        m.d.comb += [
            registers.address.eq(self.address),
            registers.write.eq(self.write),
            registers.write_data.eq(self.write_data),
            self.read_data.eq(registers.read_data),
            tables.write.eq(registers.table_write),
            tables.table.eq(registers.table),
            tables.field.eq(registers.field),
            tables.value.eq(self.write_data),
            tables.address.eq(issue.table),
            issue.descriptor.eq(tables.descriptor),
            issue.run.eq(self.running),
            front_end.run.eq(registers.run),
            front_end.outstanding.eq(registers.outstanding),
            front_end.refresh_group.eq(registers.refresh_group),
            front_end.per_bank.eq(registers.per_bank),
            front_end.row_hits.eq(registers.row_hits),
            slots.slots.eq(registers.slots),
            pooling.slot_shift.eq(registers.slot_shift),
            pooling.fp32.eq(registers.output_fp32),
            pooling.response_valid.eq(front_end.response_valid),
            pooling.response.eq(front_end.response),
        ]
        self._bag_slots(m, issue, slots, pooling)
        self._done(m, registers, issue, slots, pooling)
        self._count(m, registers, counters, issue, slots, front_end)
        return m

    @staticmethod
    def _bag_slots(m, issue, slots, pooling):
        """Lookup issue opens and closes bags; the slice completes lookups and releases bags."""
        m.d.comb += [
            issue.slot_free.eq(slots.free),
            issue.open_slot.eq(slots.open_slot),
            slots.take.eq(issue.take),
            slots.elements.eq(issue.elements),
            slots.close.eq(issue.close),
            slots.closing_slot.eq(issue.closing_slot),
            slots.issued.eq(issue.issued),
            slots.open.eq(issue.open),
            slots.lookup_complete.eq(pooling.lookup_complete),
            slots.complete_slot.eq(pooling.complete_slot),
            slots.release.eq(pooling.release),
            pooling.head_slot.eq(slots.head_slot),
            pooling.head_elements.eq(slots.head_elements),
            pooling.head_complete.eq(slots.head_complete),
        ]

    def _done(self, m, registers, issue, slots, pooling):
        """Done when the last bag has left, or after a fatal lookup when nothing can leave."""
        bags_out = Signal(BAG_NUMBER_BITS)
        with m.If(self.pooled.valid & self.pooled.ready & self.pooled.payload.last):
            m.d.sync += bags_out.eq(bags_out + 1)
        drained = issue.halted & ~slots.occupied & pooling.empty
        m.d.comb += [
            self.done.eq(registers.run & ((bags_out == registers.bags) | drained)),
            self.running.eq(registers.run & ~self.done),
        ]

    def _count(self, m, registers, counters, issue, slots, front_end):
        """Counters and status words to the register file."""
        events = {
            Counter.ACTIVATES: front_end.activate,
            Counter.READS: front_end.move_read,
            Counter.REFRESHES: front_end.refresh,
            Counter.LOOKUPS: issue.lookups,
            Counter.CLAMPED: issue.clamped,
            Counter.DROPPED: issue.dropped,
            Counter.WRITES: front_end.move_write,
        }
        status = {
            Counter.ERROR: issue.halted,
            Counter.ERROR_BAG: issue.error_bag,
            Counter.ERROR_POSITION: issue.error_position,
            Counter.ERROR_INDEX: issue.error_index,
        }
        m.d.comb += [
            counters.count.eq(self.running),
            counters.cause.eq(front_end.cause),
            counters.request_offered.eq(issue.requests.valid),
            counters.output_blocked.eq(~slots.free & slots.head_complete),
            counters.events.eq(Cat(events[counter] for counter in COUNTED_EVENTS)),
        ]
        for counter in Counter:
            m.d.comb += registers.counters[counter.value].eq(
                status.get(counter, counters.values[counter.value])
            )
