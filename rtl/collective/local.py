"""The own slice: copied, or handed to the reduction."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    LENGTH_BITS,
    LINE_BITS,
    OperandPort,
    ReadPort,
    WritePort,
    bytes_of_line,
    lines,
    reduces,
)


class LocalSlice(wiring.Component):
    """Reads the own slice and copies it, or offers it as one operand of the reduction.

    Members: `launch` takes over `incoming`; `read`, `write`, `operand` to buffers and reduction;
    `idle` when nothing is left. *Timing*: the first word is asked for in the clock after `launch`
    and there in the next one; one word per clock.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "launch": In(1),
                "incoming": In(COMMON_LAYOUT),
                "read": Out(ReadPort()),
                "write": Out(WritePort()),
                "operand": Out(OperandPort()),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        length = Signal(LENGTH_BITS)
        summed = Signal()
        left = Signal(LINE_BITS)
        to_fetch = Signal(LINE_BITS)
        address = Signal(LINE_BITS)
        destination = Signal(LINE_BITS)
        held = Signal()
        handed = Signal()
        m.d.comb += [
            self.idle.eq(left == 0),
            self.read.address.eq(address),
            self.read.enable.eq((to_fetch != 0) & (~held | handed)),
            self.write.valid.eq(held & ~summed),
            self.write.address.eq(destination),
            self.write.bytes.eq(bytes_of_line(length, left == 1)),
            self.write.data.eq(self.read.data),
            self.operand.valid.eq(held & summed),
            self.operand.data.eq(self.read.data),
            handed.eq(held & Mux(summed, self.operand.take, self.write.ready)),
        ]
        m.d.sync += held.eq(self.read.enable | held & ~handed)
        with m.If(self.read.enable):
            m.d.sync += [address.eq(address + 1), to_fetch.eq(to_fetch - 1)]
        with m.If(handed):
            m.d.sync += [destination.eq(destination + 1), left.eq(left - 1)]
        with m.If(self.launch):
            m.d.sync += [
                length.eq(self.incoming.local_bytes),
                summed.eq(reduces(self.incoming.operation)),
                left.eq(lines(self.incoming.local_bytes)),
                to_fetch.eq(lines(self.incoming.local_bytes)),
                address.eq(self.incoming.local_source),
                destination.eq(self.incoming.result),
            ]
        return m
