"""The requests of one direction that wait for one bank."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import Request

__all__ = ["AGE_BITS", "QueueEntry", "RequestQueue"]

AGE_BITS = 16
"""Width of a request's age. A bank's queue drains within a few thousand requests of other banks."""


class QueueEntry(data.StructLayout):
    """A waiting request: all of `Request` but its bank, and its age."""

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        fields = Request(preset, tag_bits).members
        kept = {name: fields[name] for name in ("row", "column", "bursts", "tag")}
        super().__init__({**kept, "age": unsigned(AGE_BITS)})


class RequestQueue(wiring.Component):
    """First in, first out; the head is always visible.

    Members
    -------
    push, entry : In
        Enqueue. Not while `full`.
    pop : In(1)
        Remove the head. Only while `waiting`.
    full, waiting, several : Out(1)
        It takes no more; it holds a request; it holds two or more.
    head : Out(QueueEntry)

    Timing: a pushed request is seen from the next clock on.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int, depth: int):
        self.preset = preset
        self.tag_bits = tag_bits
        self.depth = depth
        self.layout = QueueEntry(preset, tag_bits)
        super().__init__(
            {
                "push": In(1),
                "entry": In(self.layout),
                "pop": In(1),
                "full": Out(1),
                "waiting": Out(1),
                "several": Out(1),
                "head": Out(self.layout),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.layout, depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        level = Signal(range(self.depth + 1))
        m.d.comb += [
            write.en.eq(self.push),
            write.data.eq(self.entry),
            self.head.eq(read.data),
            self.full.eq(level == self.depth),
            self.waiting.eq(level != 0),
            self.several.eq(level > 1),
        ]
        m.d.sync += level.eq(level + self.push - self.pop)
        with m.If(self.push):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(self.pop):
            m.d.sync += read.addr.eq(read.addr + 1)
        return m
