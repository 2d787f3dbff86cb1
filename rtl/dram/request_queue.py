"""The requests of one direction that wait for one bank."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import Request
from recspeed.rtl.lib.queue import Queue

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
        m.submodules.queue = queue = Queue(self.layout, self.depth)
        m.d.comb += [
            queue.i.valid.eq(self.push),
            queue.i.payload.eq(self.entry),
            queue.o.ready.eq(self.pop),
            self.head.eq(queue.o.payload),
            self.full.eq(~queue.i.ready),
            self.waiting.eq(queue.o.valid),
            self.several.eq(queue.level > 1),
        ]
        return m
