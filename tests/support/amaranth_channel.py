"""A memory channel in Amaranth's own simulator: slow, but it needs no build.

An implementation of the harness that shares nothing with `tb/peers`. Tests use it for
channels with injected faults.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Module, Value
from amaranth.sim import Simulator

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.register_map import COUNTER_BASE, Counter, Register
from recspeed.rtl.cluster.memory_channel import MemoryChannel
from recspeed.tb.checkers.stream_law import StreamLaw
from recspeed.tb.cluster.simulation import register_writes
from recspeed.tb.peers.memory_image import memory_image
from support.amaranth_peers import Dram, Source


@dataclass(frozen=True)
class Outcome:
    """What a simulation gave: `done` is False when it was stopped at the limit of clocks."""

    result: ClusterResult
    law_violations: int
    done: bool


def simulate_in_amaranth(run: ClusterRun, *, limit: int) -> Outcome:
    """Outcome of `run` (with contents in arrays) after at most `limit` clocks."""
    channel = MemoryChannel(run.preset, run.parameters)
    law = StreamLaw(len(Value.cast(channel.pooled.payload)))
    top = Module()
    top.submodules.channel = channel
    top.submodules.law = law
    top.d.comb += [
        law.enable.eq(channel.running),
        law.valid.eq(channel.pooled.valid),
        law.ready.eq(channel.pooled.ready),
        law.payload.eq(Value.cast(channel.pooled.payload)),
    ]
    simulator = Simulator(top)
    simulator.add_clock(1e-9)
    answer: list[Outcome] = []

    async def bench(ctx):
        answer.append(await _execute(ctx, run, channel, law, limit))

    simulator.add_testbench(bench)
    simulator.run()
    return answer[0]


async def _execute(ctx, run: ClusterRun, channel, law, limit: int) -> Outcome:
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
    return Outcome(result, ctx.get(law.violations), bool(ctx.get(channel.done)))


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
        for port, source in sources:
            ctx.set(port.valid, source.held is not None)
            if source.held is not None:
                ctx.set(port.payload, source.held)
        ctx.set(pooled.ready, run.patterns.pooled >> clock % 64 & 1)
        dram.clock(clock, ctx, bus)
        if ctx.get(pooled.valid) and ctx.get(pooled.ready):
            payload = ctx.get(pooled.payload)
            lanes = [payload.lanes[lane] for lane in range(run.parameters.lanes)]
            transfers.append((clock, payload.bag, payload.beat, lanes))
        taken = [ctx.get(port.valid) and ctx.get(port.ready) for port, _ in sources]
        await ctx.tick()
        for (_, source), transferred in zip(sources, taken, strict=True):
            source.step(clock, bool(transferred))
    return transfers
