"""The pooling slice: adds decoded beats into the sums of their bags, and hands exact sums on."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.pooling.partial_sums import PartialSums
from recspeed.rtl.pooling.pooling_lane import PoolingLane
from recspeed.rtl.pooling.row_decoder import DecodedBeats
from recspeed.rtl.pooling.slot_ports import CompletedLookup

__all__ = ["PoolingSlice"]


class PoolingSlice(wiring.Component):
    """8 lanes of exact accumulation for one memory channel; several bags in flight, in any order.

    Members
    -------
    slot_shift : In(range(bits(accumulator_words) + 1))
        log2 of the accumulator words per slot.
    decoded : In(DecodedBeats)
        Beats of lookups from the row decoder. Never stalled.
    completed : Out(CompletedLookup)
        To the bag slots: a lookup's last beat was added.
    partials : Out(PartialSums)
        The sums, word by word as they are asked for. A word starts again from zero with its read.

    *Timing*: a beat in clock d is in its sum from d + 2 on, and `completed.valid` is 1 in d + 1. A
    read that is accepted in clock t is answered from t + 1 on; a read is accepted while no answer
    waits, or in the clock in which it is taken. One beat in and one out per clock.

    *Undefined*: beats for a bag that is being read out.

    Source: docs/cluster.md, "Accumulators".
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.parameters = parameters
        words = parameters.accumulator_words
        super().__init__(
            {
                "slot_shift": In(range(bits(words) + 1)),
                "decoded": In(DecodedBeats(preset, parameters)),
                "completed": Out(CompletedLookup(parameters)),
                "partials": Out(PartialSums(parameters)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words = self.parameters.accumulator_words
        reads, beats = self.partials.reads, self.partials.beats
        m.submodules.touched = touched = Memory(shape=1, depth=words, init=[])
        set_touched = touched.write_port()
        clear_touched = touched.write_port()
        add_touched = touched.read_port(transparent_for=(set_touched,))
        read_touched = touched.read_port()

        place, valid = self.decoded.place, self.decoded.valid
        add_word = Signal(range(words))
        read_word = Signal(range(words))
        read = Signal()
        add_enable = Signal()
        written_word = Signal(range(words))
        m.d.comb += [
            reads.ready.eq(~beats.valid | beats.ready),
            read.eq(reads.valid & reads.ready),
            add_word.eq((place.tag.slot << self.slot_shift) + Cat(place.beat, place.burst)),
            read_word.eq((reads.payload.slot << self.slot_shift) + reads.payload.beat),
            add_touched.addr.eq(add_word),
            set_touched.addr.eq(written_word),
            set_touched.en.eq(add_enable),
            set_touched.data.eq(1),
            read_touched.addr.eq(read_word),
            read_touched.en.eq(read),
            clear_touched.addr.eq(read_word),
            clear_touched.en.eq(read),
            clear_touched.data.eq(0),
        ]
        with m.If(reads.ready):
            m.d.sync += beats.valid.eq(reads.valid)

        padding = place.last & (place.beat > place.tag.last_beat)
        last_beat = place.beat.all()
        m.d.sync += [
            add_enable.eq(valid & ~padding),
            written_word.eq(add_word),
            self.completed.valid.eq(valid & place.last & last_beat),
            self.completed.slot.eq(place.tag.slot),
        ]

        for number in range(self.parameters.lanes):
            lane = PoolingLane(words)
            m.submodules[f"lane_{number}"] = lane
            m.d.comb += [
                lane.add_word.eq(add_word),
                lane.add_enable.eq(add_enable),
                lane.add_touched.eq(add_touched.data),
                lane.addend.eq(self.decoded.addends[number]),
                lane.read_word.eq(read_word),
                lane.read_enable.eq(read),
                lane.read_touched.eq(read_touched.data),
                beats.payload.lanes[number].eq(lane.sum),
            ]
        return m
