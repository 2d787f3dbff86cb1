"""Bounded proofs of the link protocol: a transmitter and a receiver with a hostile wire between.

What is proved, for every behaviour of source, sink and wires over a number of clocks, on a reduced
configuration (2 to 4 flits of buffer, short timers, flits of a few bits): the receiver delivers the
flits that the transmitter took, each once and in order, and its buffer never overflows. The wires
may damage or lose any flit in both directions at any time. The CRC is taken as perfect here: a
damaged flit is known as such. Timers may run out far too early: correctness does not hang on them.
"""

from amaranth.hdl import Assert, ClockDomain, Cover, Elaboratable, Module, Signal

from recspeed.models.spec.collective import Kind, LinkParameters
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


def small_link(sequence_bits: int = 2) -> ProofParameters:
    """The smallest link that has all mechanisms: a window of half the sequence numbers."""
    depth = 1 << (sequence_bits - 1)
    return ProofParameters(
        latency=1,
        sequence_bits=sequence_bits,
        replay_depth=depth,
        receive_depth=depth,
        report_interval=1,
        status_interval=4,
        retry_limit=200,
        full_rate=False,
    )


class LinkProof(Elaboratable):
    """Transmitter, receiver, and wires that the solver plays.

    Free inputs: `offer` a new flit, `take` a delivered one, `damage` and `lose` of both wires.
    `goal` is the number of deliveries that the cover statement asks for.
    """

    def __init__(self, parameters: LinkParameters, goal: int = 3) -> None:
        self.parameters = parameters
        self.goal = goal
        self.clock = ClockDomain("sync", reset_less=True)
        self.offer = Signal()
        self.take = Signal()
        self.damage = Signal(2)
        self.lose = Signal(2)
        self.transmitters: list[Transmitter] = []
        self.receivers: list[Receiver] = []

    @property
    def ports(self) -> list[Signal]:
        """Inputs."""
        return [self.clock.clk, self.offer, self.take, self.damage, self.lose]

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
            flit = Signal(flit_layout(p.sequence_bits, PAYLOAD_BITS), name=f"wire_{side}")
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
        offered = Signal(PAYLOAD_BITS)
        wanted = Signal(PAYLOAD_BITS)
        replays = Signal(3)
        m.d.comb += [
            transmitter.i.valid.eq(self.offer),
            transmitter.i.payload.payload.eq(offered),
            receiver.o.ready.eq(self.take),
        ]
        m.d.sync += [
            offered.eq(offered + (transmitter.i.valid & transmitter.i.ready)),
            wanted.eq(wanted + (receiver.o.valid & receiver.o.ready)),
            replays.eq(replays + transmitter.replayed),
        ]
        buffer = receiver.buffer
        outstanding = Signal(PAYLOAD_BITS)
        m.d.comb += outstanding.eq(offered - wanted)
        m.d.comb += [
            Assert(~receiver.o.valid | (receiver.o.payload.payload == wanted)),
            Assert(~receiver.o.valid | (outstanding != 0)),
            Assert(buffer.level <= self.parameters.receive_depth),
            Assert(~buffer.write | (buffer.level < self.parameters.receive_depth)),
            Cover((wanted == self.goal) & (replays >= 2)),
        ]
