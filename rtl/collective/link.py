"""One end of a full-duplex link: transmitter, receiver, framing, state and counters."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.link import LinkParameters
from recspeed.rtl.collective.framing import FLIT_BITS, Deframer, Framer, flit_layout
from recspeed.rtl.collective.receiver import Receiver
from recspeed.rtl.collective.transmitter import Transmitter, body_layout

COUNTERS = (
    "flits_sent",
    "flits_replayed",
    "controls_sent",
    "crc_errors",
    "sequence_gaps",
    "duplicates",
    "naks_sent",
    "naks_received",
    "timeouts",
)
"""Event counters of a link end, 32 bits each. `naks_received` counts those that start a replay."""

COUNTER_LAYOUT = data.StructLayout(dict.fromkeys(COUNTERS, 32))


class LinkState(enum.Enum, shape=2):
    """START until the peer is known to hear this end; DOWN for good after a failure."""

    START = 0
    UP = 1
    DOWN = 2


class Link(wiring.Component):
    """Delivers every flit once and in order, or goes down.

    Members
    -------
    tx, rx
        The wire, 544 bits per clock.
    i, o[channel] : streams of `body_layout`
        Flits to the peer; flits from the peer, per virtual channel.
    take_down
        Take the link down.
    up, down
        Its state.
    counters : `COUNTER_LAYOUT`

    *Timing*: a flit taken at `i` in clock t is on `tx` in t + 2; a flit on `rx` in clock t is at
    `o` in t + 2. Source: docs/collective.md.
    """

    latency_out = 2
    latency_in = 2

    def __init__(self, parameters: LinkParameters) -> None:
        self._parameters = parameters
        body = body_layout(512, parameters.virtual_channels)
        super().__init__(
            {
                "tx": Out(FLIT_BITS),
                "rx": In(FLIT_BITS),
                "i": In(stream.Signature(body)),
                "o": Out(stream.Signature(body)).array(parameters.virtual_channels),
                "take_down": In(1),
                "up": Out(1),
                "down": Out(1),
                "counters": Out(COUNTER_LAYOUT),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.transmitter = transmitter = Transmitter(self._parameters)
        m.submodules.receiver = receiver = Receiver(self._parameters)
        channels = self._parameters.virtual_channels
        m.submodules.framer = framer = Framer(channels)
        m.submodules.deframer = deframer = Deframer(channels)

        received = Signal(flit_layout(12, 512, channels))
        good = Signal(init=1)
        m.d.sync += [
            self.tx.eq(framer.word),
            received.eq(deframer.flit),
            good.eq(deframer.good),
        ]
        state = Signal(LinkState)
        m.d.comb += [
            deframer.word.eq(self.rx),
            framer.flit.eq(transmitter.flit),
            receiver.flit.eq(received),
            receiver.good.eq(good),
            self.up.eq(state == LinkState.UP),
            self.down.eq(state == LinkState.DOWN),
            transmitter.start.eq(state == LinkState.START),
            transmitter.up.eq(self.up),
            transmitter.report.eq(receiver.report),
            transmitter.forced.eq(receiver.forced),
            transmitter.some.eq(receiver.some),
            transmitter.ack_valid.eq(receiver.ack_valid),
            transmitter.ack.eq(receiver.ack),
            receiver.reported.eq(transmitter.reported),
            receiver.up.eq(self.up),
            receiver.alive.eq(~self.down),
        ]
        wiring.connect(m, wiring.flipped(self.i), transmitter.i)
        for channel in range(channels):
            wiring.connect(m, receiver.o[channel], wiring.flipped(self.o[channel]))

        with m.If((state == LinkState.START) & receiver.heard_peer):
            m.d.sync += state.eq(LinkState.UP)
        with m.If(self.take_down | receiver.silent | transmitter.exhausted):
            m.d.sync += state.eq(LinkState.DOWN)

        events = {
            "flits_sent": transmitter.sent,
            "flits_replayed": transmitter.replayed,
            "controls_sent": transmitter.controlled,
            "crc_errors": receiver.wrong_crc,
            "sequence_gaps": receiver.gap,
            "duplicates": receiver.duplicate,
            "naks_sent": receiver.nak_sent,
            "naks_received": transmitter.naked,
            "timeouts": transmitter.timed_out,
        }
        for name, event in events.items():
            with m.If(event):
                m.d.sync += self.counters[name].eq(self.counters[name] + 1)
        return m
