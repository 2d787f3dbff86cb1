"""A queue between streams of two clock domains."""

from amaranth.hdl import Module, Shape
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["AsyncQueue"]


class AsyncQueue(wiring.Component):
    """First in, first out, between clocks of any frequencies and phases, with Gray-coded pointers.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.
    depth : int
        Entries that it holds, a power of two of at least 2; 8 or more for one entry per clock.
    write_domain, read_domain : str
        Clock domains of `i` and of `o`.

    Members
    -------
    i : In(stream of `shape`)
        Of `write_domain`.
    o : Out(stream of `shape`)
        Of `read_domain`.

    *Timing*: an entry taken at an edge of the write clock is at `o` after two to three edges of the
    read clock; its room is free after two to three edges of the write clock from its transfer at
    `o`. Each pointer crosses in two registers.

    *Undefined*: `o.payload` while `o.valid` is 0, and a reset of the read domain alone; one of the
    write domain empties the queue.

    Source: C. E. Cummings, Simulation and Synthesis Techniques for Asynchronous FIFO Design, SNUG
    2002, as implemented by `amaranth.lib.fifo.AsyncFIFO`.

    Raises
    ------
    ValueError
        For another depth.
    """

    def __init__(self, shape, depth: int, *, write_domain: str, read_domain: str):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two of at least 2, not {depth}")
        self.shape = shape
        self.depth = depth
        self.write_domain = write_domain
        self.read_domain = read_domain
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = fifo = AsyncFIFO(
            width=Shape.cast(self.shape).width,
            depth=self.depth,
            w_domain=self.write_domain,
            r_domain=self.read_domain,
        )
        m.d.comb += [
            fifo.w_data.eq(self.i.payload),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            self.o.payload.eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
        ]
        return m
