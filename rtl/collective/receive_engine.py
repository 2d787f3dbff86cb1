"""Receive engine of one link: checks messages and takes them apart."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import EngineError, Operation
from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    ERROR_BITS,
    HEAD_LAYOUT,
    LENGTH_BITS,
    LINE_BITS,
    LINK_LAYOUT,
    RANK_BITS,
    OperandPort,
    WritePort,
    bytes_of_line,
    lines,
    reduces,
)
from recspeed.rtl.collective.send_engine import MessageState
from recspeed.rtl.collective.transmitter import body_layout


class ReceiveEngine(wiring.Component):
    """Compares each head with the descriptor, then hands data to the buffers or the reduction.

    Members
    -------
    launch, incoming, common
        As in `SendEngine`.
    peer
        Rank at the other end.
    i : stream of `body_layout`
        From the link, the virtual channel of the collective in force.
    overtaken
        Nothing is at `i`, and a flit of another virtual channel is there.
    write : `WritePort`
        To the chip's buffers.
    operand : `OperandPort`
        To the reduction.
    idle
        Nothing left to receive.
    error
        `EngineError` of the flit at `i`, which then is not taken, or of what has overtaken it.

    *Timing*: one clock per head; data pass through in the clock in which they are at `i`.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(
            {
                "launch": In(1),
                "incoming": In(LINK_LAYOUT),
                "common": In(COMMON_LAYOUT),
                "peer": In(RANK_BITS),
                "i": In(stream.Signature(body_layout(512, channels))),
                "overtaken": In(1),
                "write": Out(WritePort()),
                "operand": Out(OperandPort()),
                "idle": Out(1),
                "error": Out(ERROR_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(MessageState)
        phase = Signal()
        destination_bytes = Signal(LENGTH_BITS)
        address = Signal(LINE_BITS)
        left = Signal(LINE_BITS)
        summed = Signal()
        length = Signal(LENGTH_BITS)
        finished = Signal()
        data_here = Signal()

        m.d.comb += [
            self.idle.eq(state == MessageState.IDLE),
            summed.eq(reduces(self.common.operation) & ~phase),
            length.eq(Mux(summed, self.common.local_bytes, destination_bytes)),
            data_here.eq((state == MessageState.BODY) & self.i.valid & ~self.i.payload.head),
            self.write.valid.eq(data_here & ~summed),
            self.write.address.eq(address),
            self.write.bytes.eq(bytes_of_line(length, left == 1)),
            self.write.data.eq(self.i.payload.payload),
            self.operand.valid.eq(data_here & summed),
            self.operand.data.eq(self.i.payload.payload),
        ]
        self._check(m, state, phase, length)
        with m.If((state == MessageState.HEAD) & self.i.valid & (self.error == 0)):
            m.d.comb += [self.i.ready.eq(1), finished.eq(length == 0)]
            m.d.sync += [state.eq(MessageState.BODY), left.eq(lines(length))]
        with m.If(data_here & Mux(summed, self.operand.take, self.write.ready)):
            m.d.comb += [self.i.ready.eq(1), finished.eq(left == 1)]
            m.d.sync += [left.eq(left - 1), address.eq(address + ~summed)]
        with m.If(finished):
            m.d.sync += state.eq(MessageState.IDLE)
            with m.If((self.common.operation == Operation.ALL_REDUCE) & ~phase):
                m.d.sync += [state.eq(MessageState.HEAD), phase.eq(1)]
        with m.If(self.launch):
            m.d.sync += [
                state.eq(MessageState.HEAD),
                phase.eq(0),
                destination_bytes.eq(self.incoming.destination_bytes),
                address.eq(self.incoming.destination),
            ]
        return m

    def _check(self, m: Module, state: Signal, phase: Signal, length: Signal) -> None:
        """Name what is wrong with the flit at `i`."""
        head = Signal(HEAD_LAYOUT)
        m.d.comb += head.eq(self.i.payload.payload[: HEAD_LAYOUT.size])
        # A link delivers in order: what the peer has sent of this message would be here already.
        with m.If(self.overtaken & (state == MessageState.HEAD)):
            m.d.comb += self.error.eq(EngineError.SEQUENCE_ID)
        with m.If(self.overtaken & (state == MessageState.BODY)):
            m.d.comb += self.error.eq(EngineError.FRAMING)
        with m.If(self.i.valid & (state == MessageState.BODY) & self.i.payload.head):
            m.d.comb += self.error.eq(EngineError.FRAMING)
        with m.If(self.i.valid & (state == MessageState.HEAD)):
            with m.If(~self.i.payload.head):
                m.d.comb += self.error.eq(EngineError.FRAMING)
            with m.Elif(head.operation != self.common.operation):
                m.d.comb += self.error.eq(EngineError.OPERATION)
            with m.Elif(head.sequence != self.common.sequence):
                m.d.comb += self.error.eq(EngineError.SEQUENCE_ID)
            with m.Elif(head.length != length):
                m.d.comb += self.error.eq(EngineError.LENGTH)
            with m.Elif(
                (head.wire != self.common.wire) | (head.phase != phase) | (head.rank != self.peer)
            ):
                m.d.comb += self.error.eq(EngineError.FORMAT)
