"""A run of a DRAM front-end alone, in Amaranth's own simulator or compiled, open to faults.

Source of every rule: docs/dram.md, "A run of the front-end alone".
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from amaranth.sim import Simulator

from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.runs.dram import BEATS, TAG_LIMIT, WRITTEN, DramResult, DramRun
from recspeed.models.spec import hashed_contents as content
from recspeed.models.spec.memory import BEAT_BYTES
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.rtl.dram.attribution import Cause
from recspeed.rtl.dram.front_end import DramFrontEnd
from support.amaranth_peers import Dram, Source
from support.verilated import VerilatedDesign

TAG_BITS = (TAG_LIMIT - 1).bit_length()
WORDS_PER_BEAT = BEAT_BYTES // 8
WORD_MASK = (1 << 64) - 1
SETTINGS = (
    *("outstanding", "write_buffer", "refresh_group", "per_bank", "turnaround_limit", "row_hits"),
)
Grants = Callable[[int], tuple[bool, bool]]
"""Of a clock: whether the row and the column command bus are granted."""
Stop = Callable[[int, Dram, "Record"], bool]
"""Of a clock and of what came out before it: whether the simulation may end."""


@dataclass(frozen=True)
class FrontEndOutcome:
    """What a simulation gave.

    Attributes
    ----------
    result : DramResult
    data_faults : list of str
        Clocks in which the DRAM missed write data, or got some unasked.
    done : bool
        False when it was stopped before.
    """

    result: DramResult
    data_faults: list[str]
    done: bool


@dataclass
class Record:
    """What came out of the front-end so far."""

    beats: list[tuple] = field(default_factory=list)
    written: list[tuple] = field(default_factory=list)
    counters: dict[Counter, int] = field(
        default_factory=lambda: dict.fromkeys(
            (
                *(Counter.CYCLES, Counter.DATA, *IDLE_CAUSES),
                *(Counter.ACTIVATES, Counter.READS, Counter.WRITES, Counter.REFRESHES),
            ),
            0,
        )
    )

    def observe(self, clock: int, ctx, front) -> None:
        """Beats, completed writes and counters of one clock."""
        if ctx.get(front.response_valid):
            response = ctx.get(front.response)
            words = (response.data & WORD_MASK, response.data >> 64)
            self.beats.append((clock, response.tag, response.burst, response.beat, words))
        if ctx.get(front.written):
            self.written.append((clock, ctx.get(front.written_tag)))
        self.counters[Counter.CYCLES] += 1
        self.counters[self._cause(ctx, front)] += 1
        for counter, event in (
            (Counter.ACTIVATES, front.activate),
            (Counter.READS, front.move_read),
            (Counter.WRITES, front.move_write),
            (Counter.REFRESHES, front.refresh),
        ):
            self.counters[counter] += ctx.get(event)

    @staticmethod
    def _cause(ctx, front) -> Counter:
        cause = ctx.get(front.cause)
        if cause == Cause.NOTHING:
            offered = ctx.get(front.reads.valid) or ctx.get(front.writes.valid)
            return Counter.IDLE_OUTSTANDING if offered else Counter.IDLE_NO_REQUEST
        return Counter.DATA if cause == Cause.DATA else Counter[f"IDLE_{cause.name}"]


def hashed_beat(number: int, seed: int) -> int:
    """Beat `number` of hashed content: its two words, the lower one first."""
    beat = 0
    for place in range(WORDS_PER_BEAT):
        word = (WORDS_PER_BEAT * number + place + seed * content.SEED_FACTOR) & WORD_MASK
        word = word * content.FACTOR_1 & WORD_MASK
        word ^= word >> 32
        word = word * content.FACTOR_2 & WORD_MASK
        word ^= word >> 32
        for element in range(4):
            if word >> 16 * element + 10 & 0x1F == 0x1F:
                word &= ~(0x4000 << 16 * element)
        beat |= word << 64 * place
    return beat


def front_end_of(run: DramRun) -> DramFrontEnd:
    """The front-end that a run is for."""
    return DramFrontEnd(
        run.preset,
        tag_bits=TAG_BITS,
        queue_depth=run.queue_depth,
        maximum_outstanding=256,
        writes=True,
    )


def simulate_front_end_in_amaranth(
    run: DramRun, *, limit: int, grants: Grants | None = None, stop: Stop | None = None
) -> FrontEndOutcome:
    """Outcome of `run` after at most `limit` clocks; with `grants` the command buses are shared."""
    front = front_end_of(run)
    simulator = Simulator(front)
    simulator.add_clock(1e-9)
    answer: list[FrontEndOutcome] = []

    async def bench(ctx):
        answer.append(await _execute(ctx, run, front, limit, grants, stop))

    simulator.add_testbench(bench)
    simulator.run()
    return answer[0]


def simulate_front_end_verilated(
    run: DramRun,
    design: VerilatedDesign,
    *,
    fault: int = 0,
    limit: int,
    stop: Stop | None = None,
) -> FrontEndOutcome:
    """The same on a built front-end, with a switched fault in it."""
    answer: list[FrontEndOutcome] = []

    async def bench(ctx):
        answer.append(await _execute(ctx, run, design.component, limit, None, stop))

    design.run(bench, fault=fault)
    return answer[0]


async def _execute(ctx, run: DramRun, front, limit: int, grants, stop) -> FrontEndOutcome:
    """Settings, then every clock."""
    for name in SETTINGS:
        ctx.set(getattr(front, name), int(getattr(run.settings, name)))
    ctx.set(front.run, 1)
    return await _clocks(ctx, run, front, limit, grants, stop)


def _sources(run: DramRun, front) -> tuple[tuple[object, Source], ...]:
    """The ports of the three streams, and what is offered on each."""

    def requests(array: np.ndarray) -> deque:
        return deque(
            {
                "bank": int(entry["bank"]),
                "row": int(entry["row"]),
                "column": int(entry["column"]),
                "bursts": int(entry["bursts"]) - 1,
                "tag": number % TAG_LIMIT,
            }
            for number, entry in enumerate(array)
        )

    beats = int(run.writes["bursts"].sum()) * run.preset.burst_clocks
    data = deque(hashed_beat(number, run.seed + 1) for number in range(beats))
    return (
        (front.reads, Source(requests(run.reads), run.patterns.reads)),
        (front.writes, Source(requests(run.writes), run.patterns.writes)),
        (front.write_data, Source(data, run.patterns.write_data)),
    )


async def _clocks(
    ctx, run: DramRun, front, limit: int, grants: Grants | None, stop: Stop | None
) -> FrontEndOutcome:
    """Every clock from 0 until done."""
    preset = run.preset
    beats_per_row = preset.bursts_per_row * preset.burst_clocks

    def held(row: int, bank: int, place: int) -> int:
        return hashed_beat((row * preset.banks + bank) * beats_per_row + place, run.seed)

    dram, record = Dram(preset, held), Record()
    sources = _sources(run, front)
    read_beats = int(run.reads["bursts"].sum()) * preset.burst_clocks
    done = False
    for clock in range(limit):
        done = len(record.beats) >= read_beats and len(record.written) >= len(run.writes)
        if done or (stop is not None and stop(clock, dram, record)):
            break
        if grants is not None:
            row_grant, burst_grant = grants(clock)
            ctx.set(front.buses.row_grant, row_grant)
            ctx.set(front.buses.burst_grant, burst_grant)
        dram.clock(clock, ctx, front.dram)
        record.observe(clock, ctx, front)
        taken = [bool(ctx.get(port.valid) and ctx.get(port.ready)) for port, _ in sources]
        await ctx.tick()
        for (port, source), transferred in zip(sources, taken, strict=True):
            before = source.held
            source.step(clock, transferred)
            if source.held is not before:
                ctx.set(port.valid, source.held is not None)
                if source.held is not None:
                    ctx.set(port.payload, source.held)
    result = DramResult(
        commands=np.array(dram.log, dtype=COMMAND_LOG),
        beats=np.array(record.beats, dtype=BEATS),
        written=np.array(record.written, dtype=WRITTEN),
        counters=record.counters,
    )
    return FrontEndOutcome(result, dram.faults, done)
