"""The pooling slice: adds tagged beats into the sums of their bags, and puts finished bags out."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.cluster.readout import Readout
from recspeed.rtl.dram.dram_bus import ReadResponse, bits
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, LookupTag, PooledBeat
from recspeed.rtl.pooling.pooling_lane import PoolingLane

__all__ = ["PoolingSlice"]


class PoolingSlice(wiring.Component):
    """8 lanes of exact accumulation for one memory channel; several bags in flight, in any order.

    Members
    -------
    response_valid, response : In
        Beats of lookups, tagged with LookupTag. Never stalled.
    slot_shift : In
        log2 of the accumulator words per slot.
    fp32 : In(1)
        Results in FP32, else in FP16.
    lookup_complete, complete_slot : Out
        A lookup's last beat was added. To `BagSlots`.
    head_complete, head_slot, head_elements : In; release : Out(1)
        The oldest bag. From and to `BagSlots`.
    pooled : Out stream of PooledBeat
    empty : Out(1)
        Nothing waits to leave.

    Timing: a beat in clock d is in its sum from d + 2 on, and `lookup_complete` is 1 in d + 1.
    Readout as in `Readout`. One beat in and one out per clock.

    Undefined: beats for a bag that is being read out.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.parameters = parameters
        self.tag_layout = LookupTag(preset, parameters)
        self.response_layout = ReadResponse(preset, self.tag_layout.size)
        words = parameters.accumulator_words
        super().__init__(
            {
                "response_valid": In(1),
                "response": In(self.response_layout),
                "slot_shift": In(range(bits(words) + 1)),
                "fp32": In(1),
                "lookup_complete": Out(1),
                "complete_slot": Out(range(parameters.bag_slots)),
                "head_complete": In(1),
                "head_slot": In(range(parameters.bag_slots)),
                "head_elements": In(ELEMENT_COUNT_BITS),
                "release": Out(1),
                "pooled": Out(stream.Signature(PooledBeat(parameters))),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words = self.parameters.accumulator_words
        m.submodules.readout = readout = Readout(self.parameters)
        m.submodules.touched = touched = Memory(shape=1, depth=words, init=[])
        set_touched = touched.write_port()
        clear_touched = touched.write_port()
        add_touched = touched.read_port(transparent_for=(set_touched,))
        read_touched = touched.read_port()

        tag = self.tag_layout(self.response.tag)
        last_beat = self.response.beat.all()
        add_word = Signal(range(words))
        read_word = Signal(range(words))
        add_enable = Signal()
        written_word = Signal(range(words))
        m.d.comb += [
            add_word.eq(
                (tag.slot << self.slot_shift) + Cat(self.response.beat, self.response.burst)
            ),
            read_word.eq((self.head_slot << self.slot_shift) + readout.beat),
            add_touched.addr.eq(add_word),
            set_touched.addr.eq(written_word),
            set_touched.en.eq(add_enable),
            set_touched.data.eq(1),
            read_touched.addr.eq(read_word),
            read_touched.en.eq(readout.read),
            clear_touched.addr.eq(read_word),
            clear_touched.en.eq(readout.read),
            clear_touched.data.eq(0),
        ]
        padding = self.response.last & (self.response.beat > tag.last_beat)
        m.d.sync += [
            add_enable.eq(self.response_valid & ~padding),
            written_word.eq(add_word),
            self.lookup_complete.eq(self.response_valid & self.response.last & last_beat),
            self.complete_slot.eq(tag.slot),
        ]

        for number in range(self.parameters.lanes):
            lane = PoolingLane(words)
            m.submodules[f"lane_{number}"] = lane
            m.d.comb += [
                lane.value.eq(self.response.data.word_select(Const(number), 16)),
                lane.add_word.eq(add_word),
                lane.add_enable.eq(add_enable),
                lane.add_touched.eq(add_touched.data),
                lane.read_word.eq(read_word),
                lane.read_enable.eq(readout.read),
                lane.read_touched.eq(read_touched.data),
                lane.fp32.eq(self.fp32),
                readout.results[number].eq(lane.result),
            ]
        m.d.comb += [
            readout.complete.eq(self.head_complete),
            readout.elements.eq(self.head_elements),
            self.release.eq(readout.release),
            self.empty.eq(readout.empty),
        ]
        wiring.connect(m, wiring.flipped(self.pooled), readout.pooled)
        return m
