"""A queue between two streams of one clock domain."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """First in, first out, in a memory of `depth` entries whose oldest one is always visible.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.
    depth : int
        Entries that it holds, at least 2.

    Members
    -------
    i : In(stream of `shape`)
        Taken while fewer than `depth` entries are held.
    o : Out(stream of `shape`)
        The oldest entry.
    level : Out(range(depth + 1))
        Entries held.

    *Timing*: an entry taken in clock t is seen at `o` and in `level` from t + 1 on. One entry in
    and one out per clock; a full queue takes the next one in the clock after a transfer at `o`.
    `i.ready` and `o.valid` depend on registers alone.

    *Undefined*: `o.payload` while `o.valid` is 0.

    Raises
    ------
    ValueError
        For a depth below 2.
    """

    latency = 1

    def __init__(self, shape, depth: int):
        if depth < 2:
            raise ValueError(f"a queue has at least 2 entries, not {depth}")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        taken, given = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            self.o.valid.eq(self.level != 0),
            self.o.payload.eq(read.data),
            taken.eq(self.i.valid & self.i.ready),
            given.eq(self.o.valid & self.o.ready),
            write.en.eq(taken),
            write.data.eq(self.i.payload),
        ]
        m.d.sync += self.level.eq(self.level + taken - given)
        with m.If(taken):
            m.d.sync += write.addr.eq(self._after(write.addr))
        with m.If(given):
            m.d.sync += read.addr.eq(self._after(read.addr))
        return m

    def _after(self, place):
        """The place behind `place` in the ring."""
        if self.depth & (self.depth - 1) == 0:
            return place + 1
        return Mux(place == self.depth - 1, 0, place + 1)
