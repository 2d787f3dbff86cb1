"""Receiver of a link: order, acknowledgement, and the receive buffer."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.link import Kind, LinkParameters
from recspeed.rtl.collective.credits import ReceiveCredits
from recspeed.rtl.collective.framing import flit_layout, report_layout
from recspeed.rtl.collective.transmitter import body_layout


class ReceiveBuffer(wiring.Component):
    """A queue of flits in a memory that is read synchronously.

    Members: `write`, `data`; `o` the oldest flit. *Timing*: a flit written in clock t into an empty
    buffer is at `o` in t + 1; one in and one out per clock. *Undefined*: a write when full; credits
    rule it out.
    """

    def __init__(self, depth: int, body: data.StructLayout) -> None:
        self._depth = depth
        self._body = body
        super().__init__(
            {
                "write": In(1),
                "data": In(self._body),
                "o": Out(stream.Signature(self._body)),
            }
        )
        self.level = Signal(range(depth + 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._body, depth=self._depth, init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=(write,))
        head = Signal(range(self._depth))
        tail = Signal(range(self._depth))
        taken = Signal()
        m.d.comb += [
            taken.eq(self.o.valid & self.o.ready),
            write.addr.eq(tail),
            write.data.eq(self.data),
            write.en.eq(self.write),
            read.addr.eq(head + taken),
            read.en.eq(1),
            self.o.payload.eq(read.data),
            self.o.valid.eq(self.level != 0),
        ]
        m.d.sync += [
            head.eq(head + taken),
            tail.eq(tail + self.write),
            self.level.eq(self.level + self.write - taken),
        ]
        return m


class Receiver(wiring.Component):
    """Accepts each flit once and in order, as docs/collective.md lists under Receiver, stage 1.

    Members
    -------
    flit, good
        Receiver stage 1: a flit and whether its CRC was right.
    o[channel] : stream of `body_layout`
        Accepted flits of each virtual channel.
    alive, up
        State of the link.
    ack_valid, ack
        A good report, for the transmitter.
    report, forced, some, reported
        What the transmitter's next CONTROL flit tells, and that it was chosen.
    heard_peer
        The peer is known to hear this end: START may end.
    silent
        The silence limit is reached.
    wrong_crc, gap, duplicate, nak_sent
        Events of this clock, for counters.
    """

    def __init__(self, parameters: LinkParameters, payload_bits: int = 512) -> None:
        self._parameters = parameters
        self._payload_bits = payload_bits
        bits, channels = parameters.sequence_bits, parameters.virtual_channels
        body = body_layout(payload_bits, channels)
        super().__init__(
            {
                "flit": In(flit_layout(bits, payload_bits, channels)),
                "good": In(1),
                "o": Out(stream.Signature(body)).array(channels),
                "alive": In(1),
                "up": In(1),
                "ack_valid": Out(1),
                "ack": Out(report_layout(bits, channels)),
                "report": Out(report_layout(bits, channels)),
                "forced": Out(1),
                "some": Out(1),
                "reported": In(1),
                "heard_peer": Out(1),
                "silent": Out(1),
                "wrong_crc": Out(1),
                "gap": Out(1),
                "duplicate": Out(1),
                "nak_sent": Out(1),
            }
        )
        self.accept = Signal()
        self.buffers = [ReceiveBuffer(parameters.receive_depth, body) for _ in range(channels)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._parameters
        bits = p.sequence_bits
        flit = self.flit
        expected = Signal(bits)
        accepted = Signal(bits)
        heard = Signal()
        answer = Signal()
        silence = Signal(range(p.silence_limit + 1))
        freed = self._buffers(m)
        good, control, initial, body = Signal(), Signal(), Signal(), Signal()
        behind = Signal(bits)
        m.d.comb += [
            good.eq(self.alive & self.good),
            self.wrong_crc.eq(self.alive & ~self.good),
            control.eq(good & (flit.kind == Kind.CONTROL)),
            initial.eq(good & (flit.kind == Kind.INIT)),
            body.eq(good & ((flit.kind == Kind.DATA) | (flit.kind == Kind.HEAD))),
            behind.eq(expected - flit.sequence),
            self.accept.eq(body & (behind == 0)),
            self.duplicate.eq(body & (behind != 0) & ~behind[-1]),
            self.gap.eq(body & behind[-1]),
            self.ack_valid.eq(control | initial),
            self.ack.eq(flit.report),
            self.heard_peer.eq(control | body | (initial & flit.report.heard)),
            self.silent.eq(silence == p.silence_limit),
            self.report.ack.eq(expected),
            self.report.heard.eq(heard),
            self.forced.eq(
                self.report.nak
                | answer
                | (accepted >= p.report_interval)
                | (freed >= p.report_interval)
            ),
            self.some.eq((accepted != 0) | (freed != 0)),
        ]
        news = self.accept | self.duplicate
        m.d.sync += [
            expected.eq(expected + self.accept),
            accepted.eq(Mux(self.reported, 0, accepted) + news),
            heard.eq(heard | control | initial),
            answer.eq((answer & ~self.reported) | (initial & ~flit.report.heard & self.up)),
            silence.eq(Mux(control | initial | body, 0, silence + self.alive)),
        ]
        self._naks(m)
        return m

    def _buffers(self, m: Module) -> Value:
        """Buffer and credits of every channel; returns the flits freed since the last report."""
        p = self._parameters
        freed = []
        for channel, buffer in enumerate(self.buffers):
            m.submodules[f"buffer_{channel}"] = buffer
            credits = ReceiveCredits(p.sequence_bits, p.receive_depth)
            m.submodules[f"credits_{channel}"] = credits
            m.d.comb += [
                buffer.write.eq(self.accept & (self.flit.channel == channel)),
                buffer.data.payload.eq(self.flit.payload),
                buffer.data.head.eq(self.flit.kind == Kind.HEAD),
                buffer.data.channel.eq(self.flit.channel),
                credits.freed.eq(buffer.o.valid & buffer.o.ready),
                credits.reported.eq(self.reported),
                self.report.limit[channel].eq(credits.limit),
            ]
            wiring.connect(m, buffer.o, wiring.flipped(self.o[channel]))
            freed.append(credits.news)
        return sum(freed[1:], freed[0])

    def _naks(self, m: Module) -> None:
        """One negative acknowledgement per loss, again only after the hold time."""
        pending = Signal()
        timer = Signal(range(self._parameters.nak_hold + 1))
        m.d.comb += [
            self.report.nak.eq(pending),
            self.nak_sent.eq(pending & self.reported),
        ]
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.If(self.nak_sent):
            m.d.sync += [pending.eq(0), timer.eq(self._parameters.nak_hold)]
        with m.If(self.accept):
            m.d.sync += [pending.eq(0), timer.eq(0)]
        with m.Elif((self.wrong_crc | self.gap) & ~pending & (timer == 0)):
            m.d.sync += pending.eq(1)
