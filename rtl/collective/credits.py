"""Credits of one virtual channel, kept as totals modulo the sequence numbers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class TransmitCredits(wiring.Component):
    """The sender's side: may the flit numbered `next` go?

    Members: `update` takes `limit`, the number that may not be sent yet, from a report;
    `next` is the number of the next new flit; `available` says that it may be sent.

    *Timing*: an update in clock t counts from t + 1 on. *Undefined*: a limit that goes back.
    """

    def __init__(self, sequence_bits: int) -> None:
        super().__init__(
            {
                "update": In(1),
                "limit": In(sequence_bits),
                "next": In(sequence_bits),
                "available": Out(1),
            }
        )
        self._bits = sequence_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        limit = Signal(self._bits)
        with m.If(self.update):
            m.d.sync += limit.eq(self.limit)
        m.d.comb += self.available.eq(limit != self.next)
        return m


class ReceiveCredits(wiring.Component):
    """The receiver's side: what to advertise, and how much of it is news.

    Members: `freed` pulses when a flit leaves the receive buffer; `limit` is the number that the
    peer may not send yet; `news` counts the flits freed since the last `reported`, and an event in
    the clock of `reported` itself counts for the next report.
    """

    def __init__(self, sequence_bits: int, depth: int) -> None:
        super().__init__(
            {
                "freed": In(1),
                "reported": In(1),
                "limit": Out(sequence_bits, init=depth % (1 << sequence_bits)),
                "news": Out(sequence_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [
            self.limit.eq(self.limit + self.freed),
            self.news.eq(self.news + self.freed),
        ]
        with m.If(self.reported):
            m.d.sync += self.news.eq(self.freed)
        return m
