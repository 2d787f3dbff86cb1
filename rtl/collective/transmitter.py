"""Transmitter of a link: numbering, replay buffer, go-back-N, and the choice of every clock."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.link import Kind, LinkParameters
from recspeed.rtl.collective.credits import TransmitCredits
from recspeed.rtl.collective.framing import channel_bits, flit_layout, report_layout


def body_layout(payload_bits: int, channels: int) -> data.StructLayout:
    """A flit as the engines see it: `head` marks HEAD, else it is DATA; `channel` it travels on."""
    return data.StructLayout(
        {"payload": payload_bits, "head": 1, "channel": channel_bits(channels)}
    )


class Transmitter(wiring.Component):
    """Chooses what goes on the wire in each clock, as docs/collective.md lists under Transmitter.

    Members
    -------
    i : stream of `body_layout`
        New flits, one per clock at most.
    flit : `flit_layout`
        The choice of the clock before; complete, for the framer.
    start, up
        State of the link; neither means DOWN.
    report, forced, some
        What a CONTROL flit would tell; that one must go now; that there is something to tell.
    reported
        A CONTROL flit was chosen in this clock.
    ack_valid, ack
        A report arrived in receiver stage 1.
    exhausted
        The last permitted replay was fruitless.
    sent, replayed, controlled, naked, timed_out
        Events of this clock, for counters.

    *Timing*: the choice of clock t is at `flit` in t + 1. `i.ready` depends on `i.valid`.
    """

    def __init__(self, parameters: LinkParameters, payload_bits: int = 512) -> None:
        self._parameters = parameters
        self._payload_bits = payload_bits
        bits, channels = parameters.sequence_bits, parameters.virtual_channels
        self._body = body_layout(payload_bits, channels)
        super().__init__(
            {
                "i": In(stream.Signature(self._body)),
                "flit": Out(flit_layout(bits, payload_bits, channels)),
                "start": In(1),
                "up": In(1),
                "report": In(report_layout(bits, channels)),
                "forced": In(1),
                "some": In(1),
                "reported": Out(1),
                "ack_valid": In(1),
                "ack": In(report_layout(bits, channels)),
                "exhausted": Out(1),
                "sent": Out(1),
                "replayed": Out(1),
                "controlled": Out(1),
                "naked": Out(1),
                "timed_out": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._parameters
        bits = p.sequence_bits
        next_ = Signal(bits)
        acked = Signal(bits)
        cursor = Signal(bits)
        replaying = Signal()
        since_control = Signal(range(p.status_interval + 1))
        start_timer = Signal(range(p.start_interval))

        forced = Signal()
        window = Signal()
        credit = self._credit(m, next_)
        initial = Signal()
        outstanding = Signal(bits)
        m.d.comb += [
            outstanding.eq(next_ - acked),
            forced.eq(self.forced | (since_control >= p.status_interval - 1)),
            window.eq(outstanding < p.replay_depth),
            initial.eq(self.start & (start_timer == 0)),
        ]
        with m.If(self.up):
            with m.If(forced):
                m.d.comb += self.controlled.eq(1)
            with m.Elif(replaying):
                m.d.comb += self.replayed.eq(1)
            with m.Elif(self.i.valid & window & credit):
                m.d.comb += self.sent.eq(1)
            with m.Elif(self.some):
                m.d.comb += self.controlled.eq(1)
            m.d.sync += since_control.eq(Mux(self.controlled, 0, since_control + 1))
        with m.If(self.start):
            m.d.sync += start_timer.eq(Mux(initial, p.start_interval - 1, start_timer - 1))
        m.d.comb += [self.i.ready.eq(self.sent), self.reported.eq(self.controlled)]

        self._output(m, next_, cursor, initial)
        self._replay(m, next_, acked, cursor, replaying, outstanding)
        return m

    def _credit(self, m: Module, next_: Signal) -> Signal:
        """Whether the channel of the offered flit has credit."""
        bits, channels = self._parameters.sequence_bits, self._parameters.virtual_channels
        available = Signal(channels)
        for channel in range(channels):
            sent = next_
            if channels > 1:
                sent = Signal(bits, name=f"sent_{channel}")
                mine = self.i.payload.channel == channel
                m.d.sync += sent.eq(sent + (self.sent & mine))
            m.submodules[f"credits_{channel}"] = credits = TransmitCredits(bits)
            m.d.comb += [
                credits.update.eq(self.ack_valid),
                credits.limit.eq(self.ack.limit[channel]),
                credits.next.eq(sent),
                available[channel].eq(credits.available),
            ]
        credit = Signal()
        m.d.comb += credit.eq(available.bit_select(self.i.payload.channel, 1))
        return credit

    def _output(self, m: Module, next_: Signal, cursor: Signal, initial: Signal) -> None:
        """Store new flits, and register the choice; a replayed flit comes from the memory."""
        p = self._parameters
        address_bits = (p.replay_depth - 1).bit_length()
        body = self._body
        m.submodules.replay_memory = memory = Memory(shape=body, depth=p.replay_depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        m.d.comb += [
            write.addr.eq(next_[:address_bits]),
            write.data.eq(self.i.payload),
            write.en.eq(self.sent),
            read.addr.eq(cursor[:address_bits]),
            read.en.eq(self.replayed),
        ]
        kind = Signal(3)
        sequence = Signal.like(next_)
        new = Signal(body)
        report = Signal.like(self.report)
        from_memory = Signal()
        m.d.sync += [
            kind.eq(Kind.IDLE),
            sequence.eq(0),
            new.eq(0),
            report.eq(self.report),
            from_memory.eq(self.replayed),
        ]
        with m.If(self.sent):
            m.d.sync += [
                kind.eq(Mux(self.i.payload.head, Kind.HEAD, Kind.DATA)),
                sequence.eq(next_),
                new.eq(self.i.payload),
            ]
        with m.If(self.replayed):
            m.d.sync += sequence.eq(cursor)
        with m.If(self.controlled):
            m.d.sync += kind.eq(Kind.CONTROL)
        with m.If(initial):
            m.d.sync += kind.eq(Kind.INIT)
        m.d.comb += [
            self.flit.kind.eq(Mux(from_memory, Mux(read.data.head, Kind.HEAD, Kind.DATA), kind)),
            self.flit.channel.eq(Mux(from_memory, read.data.channel, new.channel)),
            self.flit.sequence.eq(sequence),
            self.flit.payload.eq(Mux(from_memory, read.data.payload, new.payload)),
            self.flit.report.eq(report),
        ]

    def _replay(
        self,
        m: Module,
        next_: Signal,
        acked: Signal,
        cursor: Signal,
        replaying: Signal,
        outstanding: Signal,
    ) -> None:
        """Acknowledgements, the start and the end of replays, the timeout."""
        p = self._parameters
        bits = p.sequence_bits
        timer = Signal(range(p.retry_timeout))
        fruitless = Signal(range(p.retry_limit + 1))
        advance = Signal(bits)
        progress = Signal()
        fruitful = Signal()
        failed = Signal()
        new_cursor = Signal(bits)
        difference = Signal(bits)
        walked = Signal(bits)
        m.d.comb += [
            difference.eq(self.ack.ack - acked),
            progress.eq(self.ack_valid & (difference <= outstanding)),
            advance.eq(Mux(progress, difference, 0)),
            fruitful.eq(advance != 0),
            self.naked.eq(progress & self.ack.nak & (self.ack.ack != next_)),
            self.timed_out.eq(
                self.up
                & (timer == p.retry_timeout - 1)
                & (acked != next_)
                & ~replaying
                & ~fruitful
                & ~self.naked
            ),
            walked.eq(cursor + self.replayed - acked),
            new_cursor.eq(Mux(walked < advance, self.ack.ack, cursor + self.replayed)),
            failed.eq(self.timed_out | (self.naked & ~fruitful)),
            self.exhausted.eq(failed & (fruitless == p.retry_limit - 1)),
        ]
        m.d.sync += [
            next_.eq(next_ + self.sent),
            acked.eq(acked + advance),
            cursor.eq(new_cursor),
            replaying.eq(replaying & (new_cursor != next_)),
            timer.eq(timer + 1),
        ]
        with m.If(fruitful):
            m.d.sync += fruitless.eq(0)
        with m.If(failed):
            m.d.sync += fruitless.eq(fruitless + 1)
        with m.If(self.naked):
            m.d.sync += [cursor.eq(self.ack.ack), replaying.eq(1)]
        with m.If(self.timed_out):
            m.d.sync += [cursor.eq(acked), replaying.eq(1)]
        with m.If((acked == next_) | replaying | fruitful | self.naked | self.timed_out):
            m.d.sync += timer.eq(0)
