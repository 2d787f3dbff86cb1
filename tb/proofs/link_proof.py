"""Bounded proofs of the link protocol: a transmitter and a receiver with a hostile wire between.

What is proved, for every behaviour of source, sink and wires over a number of clocks, on a reduced
configuration (2 to 4 flits of buffer, short timers, flits of a few bits): the receiver delivers the
flits that the transmitter took, each once and in the order of its virtual channel, and its buffers
never overflow. The wires may damage or lose any flit in both directions at any time. The CRC is
taken as perfect here: a damaged flit is known as such. Timers may run out far too early:
correctness does not hang on them.
"""

# As for rtl in pyproject.toml: an Amaranth component's members are unknown to checkers.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from typing import Literal

from amaranth.hdl import Assert, ClockDomain, Cover, Elaboratable, Module, Signal

from recspeed.models.spec.link import Kind, LinkParameters
from recspeed.rtl.collective.framing import flit_layout
from recspeed.rtl.collective.receiver import Receiver
from recspeed.rtl.collective.transmitter import Transmitter

PAYLOAD_BITS = 5


class ProofParameters(LinkParameters):
    """Links with timers that fit into a bounded proof."""

    @property
    def retry_timeout(self) -> int:
        return 9

    @property
    def nak_hold(self) -> int:
        return 5


def small_link(sequence_bits: int = 2, channels: Literal[1, 2] = 1) -> ProofParameters:
    """The smallest link that has all mechanisms: a window of half the sequence numbers."""
    depth = 1 << (sequence_bits - 1)
    return ProofParameters(
        latency=1,
        sequence_bits=sequence_bits,
        virtual_channels=channels,
        replay_depth=depth,
        receive_depth=depth,
        report_interval=1,
        status_interval=4,
        retry_limit=200,
        full_rate=False,
    )


class LinkProof(Elaboratable):
    """Transmitter, receiver, and wires that the solver plays.

    Free inputs: `offer` a new flit of a `channel`, `take` a delivered one of each channel, `damage`
    and `lose` of both wires. `goal` is the number of deliveries that the cover statement asks for;
    with two virtual channels it asks for one on each.
    """

    def __init__(self, parameters: LinkParameters, goal: int = 3) -> None:
        self.parameters = parameters
        self.goal = goal
        self.clock = ClockDomain("sync", reset_less=True)
        self.offer = Signal()
        self.channel = Signal()
        self.take = Signal(parameters.virtual_channels)
        self.damage = Signal(2)
        self.lose = Signal(2)
        self.transmitters: list[Transmitter] = []
        self.receivers: list[Receiver] = []

    @property
    def ports(self) -> list[Signal]:
        """Inputs."""
        return [self.clock.clk, self.offer, self.channel, self.take, self.damage, self.lose]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += self.clock
        p = self.parameters
        for side in range(2):
            transmitter, receiver = Transmitter(p, PAYLOAD_BITS), Receiver(p, PAYLOAD_BITS)
            m.submodules[f"transmitter_{side}"] = transmitter
            m.submodules[f"receiver_{side}"] = receiver
            self.transmitters.append(transmitter)
            self.receivers.append(receiver)
            m.d.comb += [
                transmitter.up.eq(1),
                transmitter.report.eq(receiver.report),
                transmitter.forced.eq(receiver.forced),
                transmitter.some.eq(receiver.some),
                transmitter.ack_valid.eq(receiver.ack_valid),
                transmitter.ack.eq(receiver.ack),
                receiver.reported.eq(transmitter.reported),
                receiver.up.eq(1),
                receiver.alive.eq(1),
            ]
        for side in range(2):
            layout = flit_layout(p.sequence_bits, PAYLOAD_BITS, p.virtual_channels)
            flit = Signal(layout, name=f"wire_{side}")
            good = Signal(init=1, name=f"good_{side}")
            m.d.sync += [flit.eq(self.transmitters[side].flit), good.eq(~self.damage[side])]
            with m.If(self.lose[side]):
                m.d.sync += [flit.kind.eq(Kind.IDLE), good.eq(1)]
            m.d.comb += [
                self.receivers[1 - side].flit.eq(flit),
                self.receivers[1 - side].good.eq(good),
            ]
        self._laws(m, self.transmitters[0], self.receivers[1])
        return m

    def _laws(self, m: Module, transmitter: Transmitter, receiver: Receiver) -> None:
        replays = Signal(3)
        channels = self.parameters.virtual_channels
        payload = transmitter.i.payload
        m.d.comb += [
            transmitter.i.valid.eq(self.offer),
            payload.channel.eq(self.channel),
        ]
        m.d.sync += replays.eq(replays + transmitter.replayed)
        reached = 1
        for channel in range(channels):
            offered = Signal(PAYLOAD_BITS, name=f"offered_{channel}")
            wanted = Signal(PAYLOAD_BITS, name=f"wanted_{channel}")
            outstanding = Signal(PAYLOAD_BITS, name=f"outstanding_{channel}")
            o, buffer = receiver.o[channel], receiver.buffers[channel]
            mine = payload.channel == channel
            with m.If(mine):
                m.d.comb += payload.payload.eq(offered)
            m.d.comb += [
                o.ready.eq(self.take[channel]),
                outstanding.eq(offered - wanted),
            ]
            m.d.sync += [
                offered.eq(offered + (transmitter.i.valid & transmitter.i.ready & mine)),
                wanted.eq(wanted + (o.valid & o.ready)),
            ]
            m.d.comb += [
                Assert(~o.valid | (o.payload.payload == wanted)),
                Assert(~o.valid | (outstanding != 0)),
                Assert(~o.valid | (o.payload.channel == channel)),
                Assert(buffer.level <= self.parameters.receive_depth),
                Assert(~buffer.write | (buffer.level < self.parameters.receive_depth)),
            ]
            reached &= wanted == (self.goal if channels == 1 else 1)
        m.d.comb += Cover(reached & (replays >= 2))
