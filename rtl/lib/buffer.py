"""Register slices: one or two entries between two streams, to cut long paths."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Buffer", "SkidBuffer"]


class Buffer(wiring.Component):
    """One register: cuts the path of payload and valid, not that of ready.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.

    Members
    -------
    i : In(stream of `shape`)
        Taken while the register is empty or its content moves on.
    o : Out(stream of `shape`)
        The register.

    *Timing*: an entry taken in clock t is at `o` from t + 1 on. One entry per clock. `i.ready` is
    combinational from `o.ready`.

    *Undefined*: `o.payload` while `o.valid` is 0.
    """

    latency = 1

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            with m.If(self.i.valid):
                m.d.sync += self.o.payload.eq(self.i.payload)
        return m


class SkidBuffer(wiring.Component):
    """Two registers: cuts every path between the streams, that of ready too.

    Parameters
    ----------
    shape : ShapeLike
        Payload of both streams.

    Members
    -------
    i : In(stream of `shape`)
        Taken while the second register is empty.
    o : Out(stream of `shape`)
        The first register.

    *Timing*: an entry taken in clock t is at `o` from t + 1 on. One entry per clock. `i.ready` is a
    register's value: after `o.ready` was 0 for a clock it takes one entry more.

    *Undefined*: `o.payload` while `o.valid` is 0.
    """

    latency = 1

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        spare = Signal(self.shape)
        m.d.comb += self.i.ready.eq(~held)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [self.o.valid.eq(held | self.i.valid), held.eq(0)]
            with m.If(held):
                m.d.sync += self.o.payload.eq(spare)
            with m.Elif(self.i.valid):
                m.d.sync += self.o.payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~held):
            m.d.sync += [held.eq(1), spare.eq(self.i.payload)]
        return m
