"""A memory channel: DRAM front-end, row decoder and pooling slice; requests in, exact sums out."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.attribution import Cause
from recspeed.rtl.dram.bank_machine import HIT_BITS
from recspeed.rtl.dram.dram_bus import DramBus, Request, bits
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.pooling.lookup_layouts import LookupTag
from recspeed.rtl.pooling.partial_sums import PartialSums
from recspeed.rtl.pooling.pooling_slice import PoolingSlice
from recspeed.rtl.pooling.row_decoder import RowDecoder
from recspeed.rtl.pooling.slot_ports import CompletedLookup

__all__ = ["ChannelActivity", "ChannelSettings", "MemoryChannel"]


class ChannelSettings(Signature):
    """Run-time settings of a channel, seen from who makes them.

    Members
    -------
    run : Out(1)
        Refresh counts clocks from the first one in which this is 1.
    outstanding : Out(range(maximum_outstanding + 1))
        Bursts in flight at most.
    refresh_group : Out(range(MAXIMUM_REFRESH_DEBT + 1))
        All-bank refreshes per group, 0 for none.
    per_bank : Out(1)
        Per-bank refresh in place of all-bank refresh.
    row_hits : Out(HIT_BITS)
        Requests per activation at most; 0 closes every row after one request.
    slot_shift : Out(range(bits(accumulator_words) + 1))
        log2 of the accumulator words per bag slot.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {
                "run": Out(1),
                "outstanding": Out(range(parameters.maximum_outstanding + 1)),
                "refresh_group": Out(range(MAXIMUM_REFRESH_DEBT + 1)),
                "per_bank": Out(1),
                "row_hits": Out(HIT_BITS),
                "slot_shift": Out(range(bits(parameters.accumulator_words) + 1)),
            }
        )


class ChannelActivity(Signature):
    """What a channel does in a clock, for counting, seen from the channel.

    Members
    -------
    cause : Out(Cause)
        What the clock is spent on.
    activate : Out(1)
        An ACT is decided.
    move_read : Out(1)
        A read is decided.
    move_write : Out(1)
        A write is decided.
    refresh : Out(1)
        A refresh is decided.
    """

    def __init__(self):
        super().__init__(
            {
                "cause": Out(Cause),
                "activate": Out(1),
                "move_read": Out(1),
                "move_write": Out(1),
                "refresh": Out(1),
            }
        )


class MemoryChannel(wiring.Component):
    """One channel of a cluster: reads rows and adds them to the exact sums of their bags.

    Members
    -------
    settings : In(ChannelSettings)
        Held while the run lasts.
    requests : In(stream.Signature(Request))
        Reads of lookups, tagged with `LookupTag`.
    completed : Out(CompletedLookup)
        To the bag slots.
    partials : Out(PartialSums)
        The exact sums of this channel's lookups.
    dram : Out(DramBus)
        The memory.
    activity : Out(ChannelActivity)
        For the counters.

    *Timing*: see `DramFrontEnd`, `RowDecoder` and `PoolingSlice`. One request and one beat per
    clock.

    *Undefined*: a reset in the middle of a run, which leaves sums behind in the accumulators.

    Source: docs/cluster.md.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters | None = None):
        self.preset = preset
        self.parameters = parameters or ClusterParameters()
        self.tag_layout = LookupTag(preset, self.parameters)
        super().__init__(
            {
                "settings": In(ChannelSettings(self.parameters)),
                "requests": In(stream.Signature(Request(preset, self.tag_layout.size))),
                "completed": Out(CompletedLookup(self.parameters)),
                "partials": Out(PartialSums(self.parameters)),
                "dram": Out(DramBus(preset)),
                "activity": Out(ChannelActivity()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        settings, activity = self.settings, self.activity
        m.submodules.front_end = front_end = DramFrontEnd(
            self.preset,
            tag_bits=self.tag_layout.size,
            queue_depth=self.parameters.queue_depth,
            maximum_outstanding=self.parameters.maximum_outstanding,
        )
        m.submodules.decoder = decoder = RowDecoder(self.preset, self.parameters)
        m.submodules.slice = pooling = PoolingSlice(self.preset, self.parameters)
        wiring.connect(m, wiring.flipped(self.requests), front_end.reads)
        wiring.connect(m, wiring.flipped(self.dram), front_end.dram)
        wiring.connect(m, decoder.decoded, pooling.decoded)
        wiring.connect(m, wiring.flipped(self.completed), pooling.completed)
        wiring.connect(m, wiring.flipped(self.partials), pooling.partials)
        m.d.comb += [
            front_end.run.eq(settings.run),
            front_end.outstanding.eq(settings.outstanding),
            front_end.refresh_group.eq(settings.refresh_group),
            front_end.per_bank.eq(settings.per_bank),
            front_end.row_hits.eq(settings.row_hits),
            pooling.slot_shift.eq(settings.slot_shift),
            decoder.response_valid.eq(front_end.response_valid),
            decoder.response.eq(front_end.response),
            activity.cause.eq(front_end.cause),
            activity.activate.eq(front_end.activate),
            activity.move_read.eq(front_end.move_read),
            activity.move_write.eq(front_end.move_write),
            activity.refresh.eq(front_end.refresh),
        ]
        return m
