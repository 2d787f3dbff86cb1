"""A memory channel in Amaranth's own simulator or compiled, open to faults.

An implementation of the harness that shares nothing with `tb/peers`.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import COUNTER_BASE, Counter, Register
from recspeed.rtl.cluster.cluster import Cluster
from recspeed.tb.checkers.stream_law import StreamLaw
from recspeed.tb.cluster.simulation import register_writes
from recspeed.tb.peers.memory_image import memory_image
from support.amaranth_peers import Dram, Source
from support.verilated import VerilatedDesign


@dataclass(frozen=True)
class Outcome:
    """What a simulation gave: `done` is False when it was stopped at the limit of clocks."""

    result: ClusterResult
    law_violations: int
    done: bool


class WatchedChannel(wiring.Component):
    """A memory channel whose `pooled` stream is watched.

    Members
    -------
    Those of `Cluster`, and

    law_violations : Out(32)
        Violations of the stream law on `pooled`.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.channel = Cluster(preset, parameters)
        super().__init__({**self.channel.signature.members, "law_violations": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.channel = channel = self.channel
        for name, member in channel.signature.members.items():
            outer, inner = getattr(self, name), getattr(channel, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), inner)
            elif member.flow is wiring.In:
                m.d.comb += inner.eq(outer)
            else:
                m.d.comb += outer.eq(inner)
        m.submodules.law = law = StreamLaw(len(Value.cast(channel.pooled.payload)))
        m.d.comb += [
            law.enable.eq(channel.running),
            law.valid.eq(channel.pooled.valid),
            law.ready.eq(channel.pooled.ready),
            law.payload.eq(Value.cast(channel.pooled.payload)),
            self.law_violations.eq(law.violations),
        ]
        return m


def channel_of(run: ClusterRun) -> WatchedChannel:
    """The channel that a run is for."""
    return WatchedChannel(run.preset, run.parameters)


def simulate_in_amaranth(run: ClusterRun, *, limit: int) -> Outcome:
    """Outcome of `run` (with contents in arrays) after at most `limit` clocks."""
    channel = channel_of(run)
    simulator = Simulator(channel)
    simulator.add_clock(1e-9)
    answer: list[Outcome] = []

    async def bench(ctx):
        answer.append(await _execute(ctx, run, channel, limit))

    simulator.add_testbench(bench)
    simulator.run()
    return answer[0]


def simulate_verilated(
    run: ClusterRun, design: VerilatedDesign, *, fault: int = 0, limit: int
) -> Outcome:
    """The same on a built channel, with a switched fault in it."""
    answer: list[Outcome] = []

    async def bench(ctx):
        answer.append(await _execute(ctx, run, design.component, limit))

    design.run(bench, fault=fault)
    return answer[0]


async def _execute(ctx, run: ClusterRun, channel, limit: int) -> Outcome:
    """Program the registers, run to the end, read the counters."""

    async def write(address, value):
        ctx.set(channel.address, address)
        ctx.set(channel.write_data, value)
        ctx.set(channel.write, 1)
        await ctx.tick()
        ctx.set(channel.write, 0)

    for address, value in register_writes(run):
        await write(address, value)
    await write(int(Register.RUN), 1)
    image = memory_image(run.preset, run.tables, run.contents)

    def held(row: int, bank: int, place: int) -> int:
        """Zeros beyond what was loaded."""
        if row >= len(image):
            return 0
        return int.from_bytes(image[row, bank, 16 * place : 16 * place + 16], "little")

    dram = Dram(run.preset, held)
    transfers = await _clocks(ctx, run, channel, dram, limit)
    counters = {}
    for counter in Counter:
        ctx.set(channel.address, COUNTER_BASE + counter.value)
        await ctx.tick()
        counters[counter] = ctx.get(channel.read_data)
    lanes = np.array([lanes for _, _, _, lanes in transfers], dtype=np.uint32)
    result = ClusterResult(
        bag=np.array([bag for _, bag, _, _ in transfers], dtype=np.int64),
        beat=np.array([beat for _, _, beat, _ in transfers], dtype=np.int64),
        lanes=lanes.reshape(-1, run.parameters.lanes),
        transfer_cycle=np.array([clock for clock, _, _, _ in transfers], dtype=np.int64),
        commands=np.array(dram.log, dtype=COMMAND_LOG),
        counters=counters,
    )
    return Outcome(result, ctx.get(channel.law_violations), bool(ctx.get(channel.done)))


async def _clocks(ctx, run: ClusterRun, channel, dram: Dram, limit: int) -> list[tuple]:
    """Every clock from 0 until done; the transfers on `pooled`."""
    bags = zip(run.bag_tables.tolist(), run.bag_lengths.tolist(), strict=True)
    sources = (
        (
            channel.bags,
            Source(deque({"table": t, "length": n} for t, n in bags), run.patterns.bags),
        ),
        (
            channel.indices,
            Source(deque(index % 2**64 for index in run.indices.tolist()), run.patterns.indices),
        ),
    )
    pooled, bus = channel.pooled, channel.dram
    transfers = []
    for clock in range(limit):
        if ctx.get(channel.done):
            break
        ctx.set(pooled.ready, run.patterns.pooled >> clock % 64 & 1)
        dram.clock(clock, ctx, bus)
        if ctx.get(pooled.valid) and ctx.get(pooled.ready):
            payload = ctx.get(pooled.payload)
            lanes = [payload.lanes[lane] for lane in range(run.parameters.lanes)]
            transfers.append((clock, payload.bag, payload.beat, lanes))
        taken = [ctx.get(port.valid) and ctx.get(port.ready) for port, _ in sources]
        await ctx.tick()
        for (port, source), transferred in zip(sources, taken, strict=True):
            before = source.held
            source.step(clock, bool(transferred))
            if source.held is not before:
                ctx.set(port.valid, source.held is not None)
                if source.held is not None:
                    ctx.set(port.payload, source.held)
    return transfers
