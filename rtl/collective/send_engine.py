"""Send engine of one link: one or two messages of a collective."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import Operation
from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    HEAD_LAYOUT,
    LENGTH_BITS,
    LINE_BITS,
    LINK_LAYOUT,
    RANK_BITS,
    ReadPort,
    lines,
)
from recspeed.rtl.collective.transmitter import body_layout


class MessageState(enum.Enum, shape=2):
    """Where an engine is in its message."""

    IDLE = 0
    HEAD = 1
    BODY = 2


class SendEngine(wiring.Component):
    """Sends message 1 of a descriptor and, of an all-reduce, the reduced slice as message 2.

    Members
    -------
    launch
        Take over `incoming`, the link's part of a descriptor, and `incoming_bytes`.
    common : `COMMON_LAYOUT`
        The descriptor in force, from the clock after `launch` on.
    rank
        Own rank.
    written
        Lines of the result that are written.
    read : `ReadPort`
        To the chip's buffers.
    o : stream of `body_layout`
        To the link.
    idle
        Nothing left to send.

    *Timing*: the head is offered in the clock after `launch`, then one flit per clock.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(
            {
                "launch": In(1),
                "incoming": In(LINK_LAYOUT),
                "common": In(COMMON_LAYOUT),
                "rank": In(RANK_BITS),
                "written": In(LINE_BITS),
                "read": Out(ReadPort()),
                "o": Out(stream.Signature(body_layout(512, channels))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(MessageState)
        phase = Signal()
        length = Signal(LENGTH_BITS)
        left = Signal(LINE_BITS)
        to_fetch = Signal(LINE_BITS)
        index = Signal(LINE_BITS)
        address = Signal(LINE_BITS)
        held = Signal()
        handed = Signal()
        finished = Signal()

        head = Signal(HEAD_LAYOUT)
        m.d.comb += [
            self.idle.eq(state == MessageState.IDLE),
            head.operation.eq(self.common.operation),
            head.wire.eq(self.common.wire),
            head.phase.eq(phase),
            head.rank.eq(self.rank),
            head.sequence.eq(self.common.sequence),
            head.length.eq(length),
            self.o.valid.eq((state == MessageState.HEAD) | held & (state == MessageState.BODY)),
            self.o.payload.head.eq(state == MessageState.HEAD),
            # The collective's virtual channel; the field has no bit where there is but one.
            self.o.payload.channel.eq(self.common.sequence),
            self.o.payload.payload.eq(
                Mux(state == MessageState.HEAD, head.as_value(), self.read.data)
            ),
            handed.eq(held & (state == MessageState.BODY) & self.o.ready),
            self.read.address.eq(address),
            self.read.enable.eq(
                (state != MessageState.IDLE)
                & (to_fetch != 0)
                & (~phase | (index < self.written))
                & (~held | handed)
            ),
        ]
        m.d.sync += held.eq(self.read.enable | held & ~handed)
        with m.If(self.read.enable):
            m.d.sync += [
                address.eq(address + 1),
                index.eq(index + 1),
                to_fetch.eq(to_fetch - 1),
            ]
        with m.If((state == MessageState.HEAD) & self.o.ready):
            m.d.sync += state.eq(MessageState.BODY)
            m.d.comb += finished.eq(left == 0)
        with m.If(handed):
            m.d.sync += left.eq(left - 1)
            m.d.comb += finished.eq(left == 1)
        with m.If(finished):
            m.d.sync += state.eq(MessageState.IDLE)
            with m.If((self.common.operation == Operation.ALL_REDUCE) & ~phase):
                m.d.sync += [
                    state.eq(MessageState.HEAD),
                    phase.eq(1),
                    length.eq(self.common.result_bytes),
                    left.eq(lines(self.common.result_bytes)),
                    to_fetch.eq(lines(self.common.result_bytes)),
                    index.eq(0),
                    address.eq(self.common.result),
                ]
        with m.If(self.launch):
            m.d.sync += [
                state.eq(MessageState.HEAD),
                phase.eq(0),
                length.eq(self.incoming.source_bytes),
                left.eq(lines(self.incoming.source_bytes)),
                to_fetch.eq(lines(self.incoming.source_bytes)),
                address.eq(self.incoming.source),
            ]
        return m
