"""A cluster of one memory channel: a lookup trace in CSR form in, pooled vectors out."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import ADDRESS_BITS, Counter
from recspeed.rtl.cluster.counters import COUNTED_EVENTS, ClusterCounters
from recspeed.rtl.cluster.memory_channel import MemoryChannel
from recspeed.rtl.cluster.pooled_beat import PooledBeat
from recspeed.rtl.cluster.readout import Readout
from recspeed.rtl.cluster.registers import ClusterRegisters
from recspeed.rtl.cluster.rounding import Rounding
from recspeed.rtl.dram.dram_bus import DramBus
from recspeed.rtl.pooling.bag_slots import BagSlots
from recspeed.rtl.pooling.lookup_issue import LookupIssue
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, INDEX_BITS, Bag
from recspeed.rtl.pooling.tables import Tables

__all__ = ["Cluster"]


class Cluster(wiring.Component):
    """Lookup issue, bag slots, one memory channel, rounding and read-out.

    A channel hands on exact sums; they are rounded once, here.

    Members
    -------
    address : In(ADDRESS_BITS)
        Register bus, map in `models.spec.register_map`; see `ClusterRegisters`.
    write : In(1)
        Write `write_data` to `address`.
    write_data : In(64)
        What is written.
    read_data : Out(64)
        The word at `address`, one clock later.
    bags : In(stream.Signature(Bag))
        Heads of the bags.
    indices : In(stream.Signature(64))
        Row numbers.
    pooled : Out(stream.Signature(PooledBeat))
        Pooled vectors, bags in order.
    dram : Out(DramBus)
        The memory.
    running : Out(1)
        The run was started and is not done.
    done : Out(1)
        The run was started and all its bags have left, or it ended at a fatal lookup.

    *Timing*: see the parts. A run ends with every slot free, so the next one needs a reset of the
    registers alone.

    *Undefined*: a reset in the middle of a run, which leaves sums behind in the accumulators.

    Source: docs/cluster.md.
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
        m.submodules.registers = registers = ClusterRegisters(self.parameters)
        m.submodules.counters = counters = ClusterCounters()
        m.submodules.tables = tables = Tables(self.preset, self.parameters)
        m.submodules.issue = issue = LookupIssue(self.preset, self.parameters)
        m.submodules.slots = slots = BagSlots(self.parameters)
        m.submodules.channel = channel = MemoryChannel(self.preset, self.parameters)
        m.submodules.rounding = rounding = Rounding(self.parameters)
        m.submodules.readout = readout = Readout(self.parameters)
        wiring.connect(m, wiring.flipped(self.bags), issue.bags)
        wiring.connect(m, wiring.flipped(self.indices), issue.indices)
        wiring.connect(m, registers.tables, tables.write)
        wiring.connect(m, issue.table, tables.read)
        wiring.connect(m, issue.slots, slots.issue)
        wiring.connect(m, issue.requests, channel.requests)
        wiring.connect(m, registers.channel, channel.settings)
        wiring.connect(m, channel.completed, slots.completed)
        wiring.connect(m, slots.oldest, readout.oldest)
        wiring.connect(m, readout.reads, channel.partials.reads)
        wiring.connect(m, channel.partials.beats, rounding.sums)
        wiring.connect(m, rounding.rounded, readout.rounded)
        wiring.connect(m, wiring.flipped(self.dram), channel.dram)
        wiring.connect(m, wiring.flipped(self.pooled), readout.pooled)
        m.d.comb += [
            registers.address.eq(self.address),
            registers.write.eq(self.write),
            registers.write_data.eq(self.write_data),
            self.read_data.eq(registers.read_data),
            issue.run.eq(self.running),
            slots.slots.eq(registers.slots),
            rounding.fp32.eq(registers.output_fp32),
        ]
        self._done(m, registers, issue, slots, readout)
        self._count(m, registers, counters, issue, slots, channel.activity)
        return m

    def _done(self, m, registers, issue, slots, readout):
        """Done when the last bag has left, or after a fatal lookup when nothing can leave."""
        bags_out = Signal(BAG_NUMBER_BITS)
        with m.If(self.pooled.valid & self.pooled.ready & self.pooled.payload.last):
            m.d.sync += bags_out.eq(bags_out + 1)
        run = registers.channel.run
        drained = issue.halted & ~slots.occupied & readout.empty
        m.d.comb += [
            self.done.eq(run & ((bags_out == registers.bags) | drained)),
            self.running.eq(run & ~self.done),
        ]

    def _count(self, m, registers, counters, issue, slots, activity):
        """Counters and status words to the register file."""
        events = {
            Counter.ACTIVATES: activity.activate,
            Counter.READS: activity.move_read,
            Counter.REFRESHES: activity.refresh,
            Counter.LOOKUPS: issue.lookups,
            Counter.CLAMPED: issue.clamped,
            Counter.DROPPED: issue.dropped,
            Counter.WRITES: activity.move_write,
        }
        status = {
            Counter.ERROR: issue.halted,
            Counter.ERROR_BAG: issue.error_bag,
            Counter.ERROR_POSITION: issue.error_position,
            Counter.ERROR_INDEX: issue.error_index,
        }
        m.d.comb += [
            counters.count.eq(self.running),
            counters.cause.eq(activity.cause),
            counters.request_offered.eq(issue.requests.valid),
            counters.output_blocked.eq(~slots.issue.free & slots.oldest.complete),
            counters.events.eq(Cat(events[counter] for counter in COUNTED_EVENTS)),
        ]
        for counter in Counter:
            m.d.comb += registers.counters[counter.value].eq(
                status.get(counter, counters.values[counter.value])
            )
