"""A memory channel in Amaranth's own simulator: slow, but it needs no build.

Peers as ARCHITECTURE.md describes them, in Python, clock by clock: an implementation of the harness
that shares nothing with `tb/harness/peers.sv`. Tests use it for channels with injected faults.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Module, Value
from amaranth.sim import Simulator

from recspeed.models.spec.registers import COUNTER_BASE, Counter, Register
from recspeed.models.spec.run import COMMAND_LOG, ChannelResult, ChannelRun, CommandCode
from recspeed.rtl.chip.memory_channel import MemoryChannel
from recspeed.tb.channel import register_writes
from recspeed.tb.harness.image import memory_image
from recspeed.tb.harness.stream_law import StreamLaw


@dataclass(frozen=True)
class Outcome:
    """What a simulation gave: `done` is False when it was stopped at the limit of clocks."""

    result: ChannelResult
    law_violations: int
    done: bool


@dataclass
class Source:
    """Offers items in order; bit `t mod 64` permits one in t + 1."""

    items: deque
    pattern: int
    held: int | None = None

    def step(self, clock: int, transferred: bool) -> None:
        """From clock `clock` to the next one."""
        if self.held is None or transferred:
            permitted = self.items and self.pattern >> clock % 64 & 1
            self.held = self.items.popleft() if permitted else None


class Dram:
    """Returns the two beats of a read tCL clocks after it, and keeps the command log."""

    def __init__(self, run: ChannelRun):
        self.latency = run.preset.clocks.tCL
        self.image = memory_image(run.preset, run.tables, run.contents)
        self.open_row = [0] * run.preset.banks
        self.due: dict[int, int] = {}
        self.log: list[tuple] = []

    def beat(self, row: int, bank: int, place: int) -> int:
        """16 bytes of a DRAM row, at beat `place`; zeros beyond what was loaded."""
        if row >= len(self.image):
            return 0
        return int.from_bytes(self.image[row, bank, 16 * place : 16 * place + 16], "little")

    def command(self, clock: int, ctx, bus) -> None:
        """Obey what is on the bus in `clock`."""
        if ctx.get(bus.row_valid):
            if ctx.get(bus.row_refresh):
                code = CommandCode.REFPB if ctx.get(bus.row_per_bank) else CommandCode.REF
                self.log.append((clock, 0, 0, ctx.get(bus.row_bank), code))
            else:
                bank, row = ctx.get(bus.row_bank), ctx.get(bus.row_address)
                self.open_row[bank] = row
                self.log.append((clock, row, 0, bank, CommandCode.ACT))
        if ctx.get(bus.column_valid):
            bank, column = ctx.get(bus.column_bank), ctx.get(bus.column_address)
            code = CommandCode.RDA if ctx.get(bus.column_precharge) else CommandCode.RD
            row = self.open_row[bank]
            self.log.append((clock, row, column, bank, code))
            for beat in range(2):
                self.due[clock + self.latency + beat] = self.beat(row, bank, 2 * column + beat)


def simulate_in_amaranth(run: ChannelRun, *, limit: int) -> Outcome:
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


async def _execute(ctx, run: ChannelRun, channel, law, limit: int) -> Outcome:
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
    dram = Dram(run)
    transfers = await _clocks(ctx, run, channel, dram, limit)
    counters = {}
    for counter in Counter:
        ctx.set(channel.address, COUNTER_BASE + counter.value)
        await ctx.tick()
        counters[counter] = ctx.get(channel.read_data)
    lanes = np.array([lanes for _, _, _, lanes in transfers], dtype=np.uint32)
    result = ChannelResult(
        bag=np.array([bag for _, bag, _, _ in transfers], dtype=np.int64),
        beat=np.array([beat for _, _, beat, _ in transfers], dtype=np.int64),
        lanes=lanes.reshape(-1, run.parameters.lanes),
        transfer_cycle=np.array([clock for clock, _, _, _ in transfers], dtype=np.int64),
        commands=np.array(dram.log, dtype=COMMAND_LOG),
        counters=counters,
    )
    return Outcome(result, ctx.get(law.violations), bool(ctx.get(channel.done)))


async def _clocks(ctx, run: ChannelRun, channel, dram: Dram, limit: int) -> list[tuple]:
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
        dram.command(clock, ctx, bus)
        data = dram.due.pop(clock, None)
        ctx.set(bus.data_valid, data is not None)
        if data is not None:
            ctx.set(bus.data, data)
        if ctx.get(pooled.valid) and ctx.get(pooled.ready):
            payload = ctx.get(pooled.payload)
            lanes = [payload.lanes[lane] for lane in range(run.parameters.lanes)]
            transfers.append((clock, payload.bag, payload.beat, lanes))
        taken = [ctx.get(port.valid) and ctx.get(port.ready) for port, _ in sources]
        await ctx.tick()
        for (_, source), transferred in zip(sources, taken, strict=True):
            source.step(clock, bool(transferred))
    return transfers
