"""The requests of one direction that wait for one bank."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, stream, wiring
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

    Parameters
    ----------
    preset : MemoryPreset
    tag_bits : int
        Width of a request's tag.
    depth : int
        Requests that it holds.

    Members
    -------
    i : In(stream of QueueEntry)
        Requests as they are accepted.
    o : Out(stream of QueueEntry)
        The head.
    several : Out(1)
        It holds two or more.

    *Timing*: as of `Queue`: a request taken in clock t is seen from t + 1 on.

    Source: docs/dram.md, "Request queues".
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int, depth: int):
        self.preset = preset
        self.tag_bits = tag_bits
        self.depth = depth
        entries = stream.Signature(QueueEntry(preset, tag_bits))
        super().__init__({"i": In(entries), "o": Out(entries), "several": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self.o.payload.shape(), self.depth)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        m.d.comb += self.several.eq(queue.level > 1)
        return m
