"""The golden sums against exact fractions, and the RTL's lane against the golden sums."""

from fractions import Fraction

import numpy as np
import pytest
from amaranth.sim import Simulator

from recspeed.models.collective.reduction import partial_sums, reduced
from recspeed.models.spec.collective import EXACT_VALUE_BITS, WireFormat
from recspeed.rtl.collective.reduction_lane import ReductionLane

SEED = 31
UNIT = Fraction(1, 1 << 24)


def nearest_fp16(value: Fraction) -> int:
    """FP16 bits of a sum, to nearest even, by trying the neighbours; zero is +0.0."""
    if value == 0:
        return 0
    magnitude = abs(value)
    candidates = np.arange(0, 0x7C01, dtype=np.uint16)
    finite = candidates[:-1].view(np.float16).astype(np.float64)
    place = int(np.searchsorted(finite, float(magnitude)))
    best = None
    for bits in range(max(place - 2, 0), min(place + 3, 0x7C01)):
        # Infinity stands where the next binade would go on, as IEEE 754 rounds.
        worth = Fraction(65536) if bits == 0x7C00 else Fraction(float(finite[bits]))
        key = (abs(worth - magnitude), bits & 1)
        if best is None or key < best[0]:
            best = (key, bits)
    assert best is not None
    return best[1] | (0x8000 if value < 0 else 0)


def test_sums_of_fp16_match_fractions():
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        count = int(rng.integers(2, 17))
        values = (rng.normal(size=count) * 2.0 ** rng.integers(-24, 15)).astype(np.float16)
        if rng.random() < 0.3:
            values[1] = -values[0]
        values = np.where(np.isfinite(values), values, np.float16(65504))
        exact = sum((Fraction(float(value)) for value in values), Fraction(0))
        raw = [np.array([value], "<f2").view(np.uint8) for value in values]
        assert reduced(raw, WireFormat.FP16).view("<u2")[0] == nearest_fp16(exact), f"seed {SEED}"


@pytest.mark.parametrize("wire", WireFormat)
def test_every_wire_format_gives_the_same_bits(wire):
    rng = np.random.default_rng(SEED)
    values = [rng.integers(0, 1 << 16, 5000).astype(np.uint16).view(np.float16) for _ in range(7)]
    sums = reduced([partial_sums(value, wire) for value in values], wire)
    assert np.array_equal(
        sums, reduced([value.view(np.uint8) for value in values], WireFormat.FP16)
    )
    backwards = reduced([partial_sums(value, wire) for value in values[::-1]], wire)
    assert np.array_equal(sums, backwards)


def fp16(*values: float) -> list[np.ndarray]:
    return [np.array([value], "<f2").view(np.uint8) for value in values]


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        ((1.0, -1.0), 0x0000),
        ((-0.0, -0.0), 0x0000),
        ((np.inf, 1.0), 0x7C00),
        ((-np.inf, 65504.0), 0xFC00),
        ((np.inf, -np.inf), 0x7E00),
        ((np.nan, 1.0), 0x7E00),
        ((65504.0, 16.0), 0x7C00),
        ((65504.0, 15.99), 0x7BFF),
        ((65504.0, 65504.0, -65504.0), 0x7BFF),
        ((2.0**-24, 2.0**-24), 0x0002),
        ((2048.0, 1.0), 0x6800),
        ((2050.0, 1.0), 0x6802),
    ],
)
def test_special_sums(values, bits):
    assert reduced(fp16(*values), WireFormat.FP16).view("<u2")[0] == bits


def test_fp32_that_is_no_sum_of_fp16_is_nan():
    for value in (2.0**-25, 1e-40, 2.0**36, -(2.0**40), 1.5 * 2.0**-24):
        raw = [np.array([value], "<f4").view(np.uint8), np.array([0], "<f4").view(np.uint8)]
        assert reduced(raw, WireFormat.FP32).view("<u2")[0] == 0x7E00, value
    raw = [np.array([2.0**35.9], "<f4").view(np.uint8)] * 2
    assert reduced(raw, WireFormat.FP32).view("<u2")[0] == 0x7C00


def exact_words(rng: np.random.Generator, count: int) -> np.ndarray:
    spread = rng.integers(1, EXACT_VALUE_BITS, count)
    integers = rng.integers(-(1 << 60), 1 << 60, count) >> spread
    flags = np.where(rng.random(count) < 0.05, rng.integers(0, 8, count), 0).astype(np.uint64)
    mask = np.uint64((1 << EXACT_VALUE_BITS) - 1)
    return (integers.view(np.uint64) & mask) | flags << np.uint64(EXACT_VALUE_BITS)


@pytest.mark.parametrize("operands", [2, 5, 16])
def test_lane_matches_golden_sums(operands):
    """Timing too: `latency` clocks with advance, and nothing moves without it."""
    rng = np.random.default_rng(SEED)
    lane = ReductionLane(operands, WireFormat.EXACT)
    makers = {
        WireFormat.FP16: lambda: rng.integers(0, 1 << 16, operands).astype("<u2"),
        WireFormat.FP32: lambda: (
            rng.integers(-(1 << 30), 1 << 30, operands).astype(np.float32)
            * np.float32(2.0) ** rng.integers(-26, 8, operands).astype(np.float32)
        ),
        WireFormat.EXACT: lambda: exact_words(rng, operands),
    }

    async def bench(context):
        for wire, make in makers.items():
            context.set(lane.wire_format, wire)
            for number in range(60):
                words = make()
                raw = [np.array([word]).view(np.uint8) for word in words]
                for port, one in zip(lane.operand, raw, strict=True):
                    context.set(port[wire.name.lower()], int.from_bytes(one.tobytes(), "little"))
                for _ in range(lane.latency):
                    if number % 3 == 0:
                        context.set(lane.advance, 0)
                        await context.tick()
                    context.set(lane.advance, 1)
                    await context.tick()
                expected = int(reduced(raw, wire).view("<u2")[0])
                assert context.get(lane.value) == expected, (wire, words, f"seed {SEED}")

    simulator = Simulator(lane)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
