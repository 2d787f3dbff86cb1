"""All that a chip has per link: the link end, its send engine and its receive engine."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import EngineError
from recspeed.models.spec.link import LinkParameters
from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    ERROR_BITS,
    LINE_BITS,
    LINK_LAYOUT,
    RANK_BITS,
    OperandPort,
    ReadPort,
    WritePort,
)
from recspeed.rtl.collective.framing import FLIT_BITS
from recspeed.rtl.collective.link import COUNTER_LAYOUT, Link
from recspeed.rtl.collective.receive_engine import ReceiveEngine
from recspeed.rtl.collective.send_engine import SendEngine


class CollectivePort(wiring.Component):
    """One link of a chip with its engines.

    Members
    -------
    tx, rx, take_down, up, counters
        As in `Link`.
    launch, incoming, common
        As in the engines.
    rank, peer
        Ranks of the two ends.
    written
        Lines of the reduced slice that may be sent on.
    read, write, operand
        To buffers and reduction.
    idle
        Nothing left to send or to receive.
    error
        `EngineError` of this link.
    """

    def __init__(self, parameters: LinkParameters) -> None:
        self._parameters = parameters
        super().__init__(
            {
                "tx": Out(FLIT_BITS),
                "rx": In(FLIT_BITS),
                "take_down": In(1),
                "up": Out(1),
                "counters": Out(COUNTER_LAYOUT),
                "launch": In(1),
                "incoming": In(LINK_LAYOUT),
                "common": In(COMMON_LAYOUT),
                "rank": In(RANK_BITS),
                "peer": In(RANK_BITS),
                "written": In(LINE_BITS),
                "read": Out(ReadPort()),
                "write": Out(WritePort()),
                "operand": Out(OperandPort()),
                "idle": Out(1),
                "error": Out(ERROR_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.link = link = Link(self._parameters)
        channels = self._parameters.virtual_channels
        m.submodules.send = send = SendEngine(channels)
        m.submodules.receive = receive = ReceiveEngine(channels)
        m.d.comb += [
            self.tx.eq(link.tx),
            link.rx.eq(self.rx),
            link.take_down.eq(self.take_down),
            self.up.eq(link.up),
            self.counters.eq(link.counters),
            send.launch.eq(self.launch),
            send.incoming.eq(self.incoming),
            send.common.eq(self.common),
            send.rank.eq(self.rank),
            send.written.eq(self.written),
            receive.launch.eq(self.launch),
            receive.incoming.eq(self.incoming),
            receive.common.eq(self.common),
            receive.peer.eq(self.peer),
            self.idle.eq(send.idle & receive.idle),
            self.error.eq(receive.error),
        ]
        with m.If(link.down):
            m.d.comb += self.error.eq(EngineError.LINK_DOWN)
        wiring.connect(m, send.o, link.i)
        self._select(m, link, receive)
        wiring.connect(m, send.read, wiring.flipped(self.read))
        wiring.connect(m, receive.write, wiring.flipped(self.write))
        wiring.connect(m, receive.operand, wiring.flipped(self.operand))
        return m

    def _select(self, m: Module, link: Link, receive: ReceiveEngine) -> None:
        """Give the receive engine the virtual channel of the collective in force."""
        if self._parameters.virtual_channels == 1:
            wiring.connect(m, link.o[0], receive.i)
            return
        with m.Switch(self.common.sequence[0]):
            for channel in range(2):
                with m.Case(channel):
                    mine, other = link.o[channel], link.o[1 - channel]
                    m.d.comb += [
                        receive.i.valid.eq(mine.valid),
                        receive.i.payload.eq(mine.payload),
                        mine.ready.eq(receive.i.ready),
                        receive.overtaken.eq(other.valid & ~mine.valid),
                    ]
