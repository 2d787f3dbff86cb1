"""Two ends of a link in Amaranth's simulator: latency, order, start-up, silence, replay."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from recspeed.models.spec.link import Kind, LinkParameters
from recspeed.rtl.collective.link import Link

LATENCY = 5
PARAMETERS = LinkParameters(
    latency=LATENCY, replay_depth=128, receive_depth=128, report_interval=40, status_interval=20
)


class Pair:
    """Two ends, a wire of LATENCY clocks each way; `cut` silences the wire from a to b."""

    def __init__(self):
        self.a, self.b = Link(PARAMETERS), Link(PARAMETERS)
        self.cut = Signal()
        self.flip = Signal(544)
        self.module = m = Module()
        m.submodules.a, m.submodules.b = self.a, self.b
        forward, backward = self.a.tx, self.b.tx
        for stage in range(LATENCY):
            next_forward = Signal(544, name=f"forward_{stage}")
            next_backward = Signal(544, name=f"backward_{stage}")
            m.d.sync += [next_forward.eq(forward), next_backward.eq(backward)]
            if stage == 0:
                with m.If(self.cut):
                    m.d.sync += next_forward.eq(0)
                with m.Elif(forward[:3] == Kind.DATA):
                    m.d.sync += next_forward.eq(forward ^ self.flip)
            forward, backward = next_forward, next_backward
        m.d.comb += [self.b.rx.eq(forward), self.a.rx.eq(backward)]

    def run(self, bench):
        simulator = Simulator(self.module)
        simulator.add_clock(1e-9)
        simulator.add_testbench(bench)
        simulator.run()


async def until_up(context, pair):
    for clock in range(200):
        if context.get(pair.a.up) and context.get(pair.b.up):
            return clock
        await context.tick()
    raise AssertionError("the link does not come up")


async def send(context, pair, count, clocks, flipped=()):
    """Offer `count` flits; the clock and payload of what arrives. `flipped`: clocks with errors."""
    context.set(pair.b.o[0].ready, 1)
    sent, taken, arrived = 0, [], []
    for clock in range(clocks):
        context.set(pair.a.i.valid, sent < count)
        context.set(pair.a.i.payload.payload, 1000 + sent)
        context.set(pair.flip, 1 << 100 if clock in flipped else 0)
        if sent < count and context.get(pair.a.i.ready):
            taken.append(clock)
            sent += 1
        if context.get(pair.b.o[0].valid):
            arrived.append((clock, context.get(pair.b.o[0].payload.payload)))
        await context.tick()
    return taken, arrived


def test_latency_and_order():
    pair = Pair()

    async def bench(context):
        await until_up(context, pair)
        taken, arrived = await send(context, pair, 100, 130)
        wait = pair.a.latency_out + LATENCY + pair.b.latency_in
        assert [clock for clock, _ in arrived] == [clock + wait for clock in taken]
        assert [payload for _, payload in arrived] == list(range(1000, 1100))

    pair.run(bench)


def test_start_up_takes_one_interval_and_two_ways():
    pair = Pair()

    async def bench(context):
        clocks = await until_up(context, pair)
        # INIT in clock 0, heard in clock L + 3; the next INIT says so, in clock 16.
        assert clocks == PARAMETERS.start_interval + LATENCY + 4

    pair.run(bench)


@pytest.mark.parametrize("flipped", [{3}, {0, 1, 2}, {5, 9, 30, 31}])
def test_replay_delivers_everything_once(flipped):
    pair = Pair()

    async def bench(context):
        await until_up(context, pair)
        _, arrived = await send(context, pair, 60, 260, flipped)
        assert [payload for _, payload in arrived] == list(range(1000, 1060))
        counters = context.get(pair.b.counters)
        assert counters.crc_errors >= 1
        assert counters.naks_sent >= 1
        assert context.get(pair.a.counters).flits_replayed >= 1
        assert context.get(pair.a.counters).flits_sent == 60

    pair.run(bench)


def test_silence_takes_the_link_down_at_its_clock_and_not_before():
    pair = Pair()

    async def bench(context):
        await until_up(context, pair)
        last_heard = None
        for clock in range(2 * PARAMETERS.silence_limit):
            if clock == 3 * PARAMETERS.status_interval:
                context.set(pair.cut, 1)
            if context.get(pair.b.rx[:3]):
                last_heard = clock
            if context.get(pair.b.down):
                # Stage 1 a clock later, the count from the clock after, the state one more.
                assert last_heard is not None
                assert clock == last_heard + PARAMETERS.silence_limit + 3
                return
            await context.tick()
        raise AssertionError("the link does not go down")

    pair.run(bench)
