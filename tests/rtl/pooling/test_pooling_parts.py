"""Parts of the pooling slice in Amaranth's own simulator."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from support.amaranth_bench import run_bench
from support.mutation import Mutant

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import memory_preset
from recspeed.rtl.cluster.readout import Readout
from recspeed.rtl.cluster.rounding import Rounding
from recspeed.rtl.pooling.bag_slots import BagSlots
from recspeed.rtl.pooling.pooling_lane import PoolingLane
from recspeed.rtl.pooling.pooling_slice import PoolingSlice
from recspeed.rtl.pooling.row_decoder import RowDecoder

WORDS = 8
PARAMETERS = ClusterParameters(accumulator_words=64, bag_slots=8)


class PoolingPath(wiring.Component):
    """Row decoder, pooling slice, rounding and read-out of one channel, as a cluster wires them."""

    def __init__(self, preset):
        self.decoder = RowDecoder(preset, PARAMETERS)
        self.pooling = PoolingSlice(preset, PARAMETERS)
        self.rounding = Rounding(PARAMETERS)
        self.readout = Readout(PARAMETERS)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = self.decoder
        m.submodules.pooling = self.pooling
        m.submodules.rounding = self.rounding
        m.submodules.readout = self.readout
        wiring.connect(m, self.decoder.decoded, self.pooling.decoded)
        wiring.connect(m, self.readout.reads, self.pooling.partials.reads)
        wiring.connect(m, self.pooling.partials.beats, self.rounding.sums)
        wiring.connect(m, self.rounding.rounded, self.readout.rounded)
        return m


def fp32_bits(total: int) -> int:
    """Bit pattern of `total` * 2**-24, which must be exact in FP32."""
    value = np.float32(total / (1 << 24))
    assert int(float(value) * (1 << 24)) == total
    return int(value.view(np.uint32))


def small_value(rng: np.random.Generator) -> tuple[int, int]:
    """An FP16 bit pattern, and its value in units of 2**-24; sums of many are exact in FP32."""
    integer = int(rng.integers(-1023, 1024))
    return (0x8000 if integer < 0 else 0) | abs(integer), integer


def exercise_lane(seed: int, repeat: float) -> None:
    """Random additions, to the word of the clock before with probability `repeat`, and reads."""
    lane = PoolingLane(WORDS)
    rng = np.random.default_rng(seed)

    async def bench(ctx):
        sums: dict[int, int] = {}
        added: tuple[int, int] | None = None
        expected: int | None = None
        word = 0
        for _ in range(1500):
            # The addition of the clock before is enabled in this clock; a read after it sees it.
            ctx.set(lane.add_enable, added is not None)
            if added is not None:
                ctx.set(lane.add_touched, added[0] in sums)
                ctx.set(lane.addend, {"integer": added[1]})
                sums[added[0]] = sums.get(added[0], 0) + added[1]
            if expected is not None:
                assert ctx.get(lane.sum.integer) == expected
            just_added = added[0] if added is not None else None
            added = None
            if rng.random() < 0.8:
                word = word if rng.random() < repeat else int(rng.integers(WORDS))
                _, integer = small_value(rng)
                ctx.set(lane.add_word, word)
                added = (word, integer)
            # A word is read when nothing is being added to it, and starts again from zero.
            idle = [w for w in range(WORDS) if w != just_added and (not added or w != added[0])]
            read = int(rng.choice(idle))
            touched = read in sums
            ctx.set(lane.read_word, read)
            ctx.set(lane.read_enable, rng.random() < 0.3)
            if ctx.get(lane.read_enable):
                expected = sums.pop(read, 0)
            await ctx.tick()
            if ctx.get(lane.read_enable):
                ctx.set(lane.read_touched, touched)

    run_bench(lane, bench)


@pytest.mark.parametrize("repeat", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_lane(seed, repeat):
    exercise_lane(seed, repeat)


def test_lane_without_forwarding_is_caught(monkeypatch):
    Mutant(
        "no forwarding",
        PoolingLane,
        "elaborate",
        "read_port(transparent_for=(write,))",
        "read_port()",
        "",
    ).inject(monkeypatch)
    with pytest.raises(AssertionError):
        exercise_lane(0, 0.5)


@dataclass
class SliceModel:
    """Sums of each bag slot, by beat, as integers in units of 2**-24."""

    sums: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def add(self, slot: int, beat: int, values: list[int]) -> None:
        key = (slot, beat)
        self.sums[key] = self.sums.get(key, np.zeros(8, dtype=np.int64)) + values

    def take(self, slot: int, beat: int) -> list[int]:
        return self.sums.pop((slot, beat), np.zeros(8, dtype=np.int64)).tolist()


def exercise_slice(seed: int) -> None:
    """Beats of several bags, often to one word in successive clocks, then the bags' readout."""
    preset = memory_preset("hbm2-2000")
    path = PoolingPath(preset)
    decoder, pooling, readout = path.decoder, path.pooling, path.readout
    rng = np.random.default_rng(seed)
    shift, vector_beats = 2, 3

    async def send(ctx, model, slot, beat, *, last, half):
        """One beat; `half` marks the second beat of the last burst as padding."""
        values = [small_value(rng) for _ in range(8)]
        padding = half and last and beat % 2 == 1
        if padding:
            values = [(0x7E01, 0)] * 8
        ctx.set(decoder.response_valid, 1)
        ctx.set(
            decoder.response,
            {
                "tag": decoder.tag_layout.const({"slot": slot, "last_beat": not half}).as_bits(),
                "burst": beat // 2,
                "beat": beat % 2,
                "last": last,
                "data": sum(bits << 16 * lane for lane, (bits, _) in enumerate(values)),
            },
        )
        if not padding:
            model.add(slot, beat, [integer for _, integer in values])
        await ctx.tick()
        ctx.set(decoder.response_valid, 0)
        complete = last and beat % 2 == 1
        assert ctx.get(pooling.completed.valid) == complete
        if complete:
            assert ctx.get(pooling.completed.slot) == slot

    async def read_out(ctx, model, slot, bag):
        """The whole bag through `pooled`, with a stalling sink; its sums start again from zero."""
        ctx.set(readout.oldest.slot, slot)
        ctx.set(readout.oldest.elements, 8 * vector_beats - 3)
        ctx.set(readout.oldest.complete, 1)
        beats = []
        while len(beats) < vector_beats:
            ready = bool(rng.random() < 0.6)
            ctx.set(readout.pooled.ready, ready)
            released = ctx.get(readout.oldest.release)
            if ready and ctx.get(readout.pooled.valid):
                payload = ctx.get(readout.pooled.payload)
                beat = len(beats)
                lanes = [fp32_bits(total) for total in model.take(slot, beat)]
                if beat == vector_beats - 1:
                    lanes[5:] = [0, 0, 0]
                assert [payload.lanes[lane] for lane in range(8)] == lanes
                assert (payload.bag, payload.beat) == (bag, beat)
                assert payload.last == (beat == vector_beats - 1)
                beats.append(beat)
            await ctx.tick()
            if released:
                ctx.set(readout.oldest.complete, 0)
        assert ctx.get(readout.empty) == 1
        model.take(slot, vector_beats)

    async def bench(ctx):
        model = SliceModel()
        ctx.set(pooling.slot_shift, shift)
        ctx.set(path.rounding.fp32, 1)
        for bag in range(24):
            slot = bag % 5
            half = bool(bag % 2)
            # The same beat of several vectors in successive clocks hits one word again and again.
            for _ in range(int(rng.integers(0, 3))):
                for beat in range(4):
                    for _ in range(int(rng.integers(1, 4))):
                        await send(ctx, model, slot, beat, last=beat // 2 == 1, half=half)
            await ctx.tick()
            await read_out(ctx, model, slot, bag)
            # The beat of padding may hold a sum of full vectors; the next bag must not inherit it.
            ctx.set(readout.oldest.complete, 0)

    run_bench(path, bench)


def exercise_slices() -> None:
    for seed in range(3):
        exercise_slice(seed)


@pytest.mark.parametrize("seed", range(3))
def test_slice(seed):
    exercise_slice(seed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("read_port(transparent_for=(set_touched,))", "read_port()"),
        ("clear_touched.en.eq(read)", "clear_touched.en.eq(0)"),
        ("place.tag.slot << self.slot_shift", "place.tag.slot << 1"),
    ],
)
def test_a_faulty_slice_is_caught(old, new, monkeypatch):
    Mutant("slice", PoolingSlice, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        exercise_slices()


@dataclass
class SlotModel:
    """Bags in flight, oldest first: `[slot, elements, issued, complete, closed]`."""

    slots: int
    bags: list[list[int]] = field(default_factory=list)
    next_slot: int = 0

    def take(self, elements: int, closed: bool) -> None:
        self.bags.append([self.next_slot, elements, 0, 0, closed])
        self.next_slot = (self.next_slot + 1) % self.slots

    def of_slot(self, slot: int) -> list[int]:
        return next(bag for bag in self.bags if bag[0] == slot)

    @property
    def head_complete(self) -> bool:
        return bool(self.bags) and bool(self.bags[0][4]) and self.bags[0][2] == self.bags[0][3]


def exercise_slots(slots: int, clocks: int = 1500) -> None:
    """Random takes, closes, completions and releases against `SlotModel`, clock by clock."""
    ring = BagSlots(PARAMETERS)
    rng = np.random.default_rng(slots)

    async def bench(ctx):
        model = SlotModel(slots)
        open_bag: list[int] | None = None
        pending: list[int] = []
        in_flight = 0
        ctx.set(ring.slots, slots)
        full = released = 0
        for clock in range(clocks):
            assert ctx.get(ring.issue.free) == (len(model.bags) < slots), clock
            assert ctx.get(ring.occupied) == bool(model.bags)
            assert ctx.get(ring.issue.open_slot) == model.next_slot
            assert ctx.get(ring.oldest.complete) == model.head_complete, clock
            if model.bags:
                assert ctx.get(ring.oldest.slot) == model.bags[0][0]
                assert ctx.get(ring.oldest.elements) == model.bags[0][1]
            full += len(model.bags) == slots

            release = model.head_complete and rng.random() < 0.4
            take = open_bag is None and len(model.bags) < slots and rng.random() < 0.7
            complete = bool(pending) and rng.random() < 0.6
            closed = None
            ctx.set(ring.oldest.release, release)
            ctx.set(ring.issue.take, take)
            ctx.set(ring.completed.valid, complete)
            if open_bag is not None:
                # One lookup, and perhaps the last one: then the bag says how many there were.
                slot, issued = open_bag
                last = rng.random() < 0.3
                enters = rng.random() < 0.8
                ctx.set(ring.issue.close, last)
                ctx.set(ring.issue.closing_slot, slot)
                ctx.set(ring.issue.issued, issued + enters)
                in_flight += enters
                if enters:
                    pending.append(slot)
                open_bag = None if last else [slot, issued + enters]
                closed = (slot, issued + enters) if last else None
            else:
                ctx.set(ring.issue.close, 0)
            if take:
                elements = int(rng.integers(2, 513))
                empty = rng.random() < 0.3
                ctx.set(ring.issue.elements, elements)
                model.take(elements, closed=empty)
                if not empty:
                    open_bag = [model.bags[-1][0], 0]
            if complete:
                slot = pending.pop(int(rng.integers(len(pending) - (closed is not None) or 1)))
                ctx.set(ring.completed.slot, slot)
                model.of_slot(slot)[3] += 1
            if release:
                model.bags.pop(0)
                released += 1
            if closed is not None:
                bag = model.of_slot(closed[0])
                bag[2], bag[4] = closed[1], True
            await ctx.tick()
            ctx.set(ring.issue.open, open_bag is not None)
        assert released > clocks // 20
        assert full > 0

    run_bench(ring, bench)


def exercise_rings() -> None:
    for slots in (2, 3, 8):
        exercise_slots(slots)


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8])
def test_bag_slots(slots):
    exercise_slots(slots)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("~(youngest_is_head & issue.open)", "1"),
        ("level < self.slots", "level <= self.slots"),
        ("issued_head == complete_head", "issued_head >= complete_head"),
    ],
)
def test_faulty_bag_slots_are_caught(old, new, monkeypatch):
    Mutant("slots", BagSlots, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises((AssertionError, StopIteration)):
        exercise_rings()


def test_the_largest_bag_is_counted():
    """4095 lookups that all complete only after the bag was closed, twice in the same slot."""
    ring = BagSlots(PARAMETERS)

    async def bench(ctx):
        ctx.set(ring.slots, 1)
        for _ in range(3):
            ctx.set(ring.issue.take, 1)
            await ctx.tick()
            ctx.set(ring.issue.take, 0)
            ctx.set(ring.issue.close, 1)
            ctx.set(ring.issue.issued, 4095)
            await ctx.tick()
            ctx.set(ring.issue.close, 0)
            ctx.set(ring.completed.valid, 1)
            for _ in range(4095):
                assert ctx.get(ring.oldest.complete) == 0
                await ctx.tick()
            ctx.set(ring.completed.valid, 0)
            assert ctx.get(ring.oldest.complete) == 1
            ctx.set(ring.oldest.release, 1)
            await ctx.tick()
            ctx.set(ring.oldest.release, 0)
            assert ctx.get(ring.occupied) == 0

    run_bench(ring, bench)
