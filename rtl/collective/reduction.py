"""Reduction of a chip: adds the own slice and one message of every link, line by line."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import WireFormat
from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    LENGTH_BITS,
    LINE_BITS,
    OperandPort,
    WritePort,
    bytes_of_line,
    lines,
    reduces,
)
from recspeed.rtl.collective.reduction_lane import ReductionLane

LANES = 32


def widest_of(lane: int) -> WireFormat:
    """The widest format that has an element for lane `lane` in a flit."""
    if lane < 8:
        return WireFormat.EXACT
    return WireFormat.FP32 if lane < 16 else WireFormat.FP16


class Reduction(wiring.Component):
    """Takes a line of every operand at once, and writes FP16 lines of the result.

    Members
    -------
    launch, incoming
        Take over the descriptor's common part.
    operand : array of `OperandPort`
        The links', then the own slice.
    write : `WritePort`
        To the chip's buffers.
    written
        Lines of the result that are written.
    idle
        Nothing left to write.

    *Timing*: a line is offered `latency` clocks after the operands that complete it were taken; one
    operand line per clock; an offered line that is not accepted stalls all stages.
    """

    latency = ReductionLane.latency + 1

    def __init__(self, operands: int) -> None:
        self._operands = operands
        super().__init__(
            {
                "launch": In(1),
                "incoming": In(COMMON_LAYOUT),
                "operand": In(OperandPort()).array(operands),
                "write": Out(WritePort()),
                "written": Out(LINE_BITS),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wire = Signal(WireFormat)
        advance = Signal()
        taken = Signal()
        occupied = Signal(ReductionLane.latency)
        operands = [self.operand[index] for index in range(self._operands)]
        m.d.comb += [
            advance.eq(~self.write.valid | self.write.ready),
            taken.eq(advance & Cat(operand.valid for operand in operands).all()),
        ]
        m.d.comb += [operand.take.eq(taken) for operand in operands]
        with m.If(advance):
            m.d.sync += occupied.eq(Cat(taken, occupied))

        values = []
        for index in range(LANES):
            widest = widest_of(index)
            m.submodules[f"lane_{index}"] = lane = ReductionLane(self._operands, widest)
            m.d.comb += [lane.wire_format.eq(wire), lane.advance.eq(advance)]
            for operand, port in zip(operands, lane.operand, strict=True):
                m.d.comb += port.fp16.eq(operand.data.word_select(index, 16))
                if widest >= WireFormat.FP32:
                    m.d.comb += port.fp32.eq(operand.data.word_select(index, 32))
                if widest >= WireFormat.EXACT:
                    m.d.comb += port.exact.eq(operand.data.word_select(index, 64))
            values.append(lane.value)
        self._write(m, wire, advance, occupied[-1], Cat(values))
        return m

    def _write(self, m: Module, wire: Signal, advance: Signal, fresh: Signal, values: Cat) -> None:
        """Pack results into lines and write them."""
        length = Signal(LENGTH_BITS)
        left = Signal(LINE_BITS)
        inputs = Signal(LINE_BITS)
        address = Signal(LINE_BITS)
        part = Signal(2)
        full = Signal()
        parts = Mux(wire == WireFormat.FP16, 1, Mux(wire == WireFormat.FP32, 2, 4))
        m.d.comb += [
            self.idle.eq(left == 0),
            self.write.address.eq(address),
            self.write.bytes.eq(bytes_of_line(length, left == 1)),
            full.eq((part == parts - 1) | (inputs == 1)),
        ]
        with m.If(advance):
            m.d.sync += self.write.valid.eq(fresh & full)
            with m.If(fresh):
                m.d.sync += [
                    inputs.eq(inputs - 1),
                    part.eq(Mux(full, 0, part + 1)),
                ]
                with m.Switch(wire):
                    with m.Case(WireFormat.FP16):
                        m.d.sync += self.write.data.eq(values)
                    with m.Case(WireFormat.FP32):
                        m.d.sync += self.write.data.word_select(part[0], 256).eq(values[:256])
                    with m.Default():
                        m.d.sync += self.write.data.word_select(part, 128).eq(values[:128])
        with m.If(self.write.valid & self.write.ready):
            m.d.sync += [
                address.eq(address + 1),
                left.eq(left - 1),
                self.written.eq(self.written + 1),
            ]
        with m.If(self.launch):
            summed = reduces(self.incoming.operation)
            m.d.sync += [
                wire.eq(self.incoming.wire),
                length.eq(self.incoming.result_bytes),
                left.eq(Mux(summed, lines(self.incoming.result_bytes), 0)),
                inputs.eq(lines(self.incoming.local_bytes)),
                address.eq(self.incoming.result),
                self.written.eq(0),
            ]
