"""Shared hardware parts in Amaranth's own simulator: arbiter, timer, fixed point."""

import gc
import struct
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from support.amaranth_bench import run_bench
from support.mutation import Mutant

from recspeed.models.spec.table import MAXIMUM_BAG
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.fixed_point import SUM_BITS, ExactSum, Fp16ToFixed, RoundSum
from recspeed.rtl.lib.timer import Timer

AGE_BITS = 6
UNIT = Fraction(1, 1 << 24)


def check_arbiter(requesters: int, draws: int, order_bits: int = 0) -> None:
    """Every ready mask with ages that wrap around, in many orders."""
    arbiter = OldestReady(requesters, AGE_BITS, order_bits)
    rng = np.random.default_rng(requesters)

    async def bench(ctx):
        for draw in range(draws):
            base = (1 << AGE_BITS) - 1 - draw % 40
            offsets = rng.permutation(1 << (AGE_BITS - 1))[:requesters].tolist()
            for number, offset in enumerate(offsets):
                ctx.set(arbiter.age[number], (base + offset) % (1 << AGE_BITS))
            orders = rng.integers(0, 1 << order_bits, requesters).tolist()
            for number, order in enumerate(orders if order_bits else []):
                ctx.set(arbiter.order[number], order)
            for mask in range(1 << requesters):
                ctx.set(arbiter.ready, mask)
                ready = [number for number in range(requesters) if mask >> number & 1]
                assert ctx.get(arbiter.valid) == bool(ready)
                if ready:
                    oldest = min(ready, key=lambda number: (orders[number], offsets[number]))
                    assert ctx.get(arbiter.index) == oldest, (draw, mask, orders, offsets)
                    assert ctx.get(arbiter.grant) == 1 << oldest
                else:
                    assert ctx.get(arbiter.grant) == 0

    run_bench(arbiter, bench, clocked=False)


@pytest.mark.parametrize(("requesters", "draws"), [(2, 60), (4, 60), (8, 40)])
def test_oldest_ready(requesters, draws):
    check_arbiter(requesters, draws)


@pytest.mark.parametrize("order_bits", [1, 3])
def test_oldest_ready_of_the_smallest_order(order_bits):
    check_arbiter(8, 30, order_bits)


@pytest.mark.parametrize(
    ("old", "new"), [("order_b < order_a", "order_b <= order_a"), ("(order_b == order_a) & ", "")]
)
def test_an_arbiter_with_a_wrong_order_is_caught(old, new, monkeypatch):
    Mutant("order", OldestReady, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_arbiter(4, 60, 2)


def test_an_arbiter_without_wrap_around_is_caught(monkeypatch):
    Mutant(
        "plain comparison", OldestReady, "elaborate", "difference[-1]", "(age_b < age_a)", ""
    ).inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_arbiter(4, 60)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("requesters", [0, 1, 3, 12])
def test_an_arbiter_of_another_size_is_refused(requesters):
    with pytest.raises(
        ValueError, match=f"requesters must be a power of two of at least 2, not {requesters}"
    ):
        OldestReady(requesters, AGE_BITS)
    # Amaranth warns of a component that is dropped without use: here, not in some later test.
    gc.collect()


class TwoSettings(wiring.Component):
    """A timer that is set to one of two values."""

    def __init__(self, first: int, second: int):
        self.clocks = (first, second)
        super().__init__({"set": In(2), "expired": Out(1)})

    def elaborate(self, platform):
        m = Module()
        timer = Timer(max(self.clocks), "tested")
        for number, clocks in enumerate(self.clocks):
            timer.set(self.set[number], clocks)
        timer.elaborate_into(m)
        m.d.comb += self.expired.eq(timer.expired)
        # A timer that is never set has no register otherwise, and the domain must exist.
        m.d.sync += Signal(name="ticked").eq(1)
        return m


@pytest.mark.parametrize("clocks", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 350])
def test_timer_not_at_one_clock_less_but_at_its_clock(clocks):
    timer = TwoSettings(clocks, clocks)

    async def bench(ctx):
        for _ in range(3):
            assert ctx.get(timer.expired) == 1
            ctx.set(timer.set, 1)
            await ctx.tick()
            ctx.set(timer.set, 0)
            for _ in range(1, clocks):
                assert ctx.get(timer.expired) == 0
                await ctx.tick()
            assert ctx.get(timer.expired) == 1

    run_bench(timer, bench)


@pytest.mark.parametrize(("first", "second"), [(3, 8), (8, 3), (1, 5), (4, 4), (47, 19)])
def test_the_later_end_of_two_settings_wins(first, second):
    timer = TwoSettings(first, second)
    rng = np.random.default_rng(first)

    async def bench(ctx):
        end = 0
        blocked = 0
        for clock in range(3000):
            assert ctx.get(timer.expired) == (clock >= end), clock
            blocked += clock < end
            choice = int(rng.choice([0, 1, 2, 3], p=[0.85, 0.06, 0.06, 0.03]))
            ctx.set(timer.set, choice)
            for number, clocks in enumerate((first, second)):
                if choice >> number & 1:
                    end = max(end, clock + clocks)
            await ctx.tick()
        assert 0 < blocked < 3000

    run_bench(timer, bench)


def test_fp16_to_fixed_of_every_value():
    convert = Fp16ToFixed()

    async def bench(ctx):
        for value in range(1 << 16):
            number = struct.unpack("<e", struct.pack("<H", value))[0]
            finite = value & 0x7C00 != 0x7C00
            ctx.set(convert.value, value)
            fixed = ctx.get(convert.fixed)
            assert fixed.integer == (Fraction(number) / UNIT if finite else 0), hex(value)
            assert fixed.positive_infinity == (value == 0x7C00)
            assert fixed.negative_infinity == (value == 0xFC00)
            assert fixed.nan == (not finite and value & 0x3FF != 0)

    run_bench(convert, bench, clocked=False)


def nearest_even(integer: int, fraction_bits: int) -> Fraction:
    """`integer` * 2**-24 rounded to a significand of `fraction_bits` + 1 bits."""
    step = 1 << max(abs(integer).bit_length() - 1 - fraction_bits, 0)
    # Python rounds fractions to nearest even.
    return round(Fraction(integer, step)) * step * UNIT


def expected_bits(integer: int, fp32: bool) -> int:
    """Bit pattern of the sum `integer` * 2**-24."""
    if integer == 0:
        return 0
    if fp32:
        exact = nearest_even(integer, 23)
        return struct.unpack("<I", struct.pack("<f", float(exact)))[0]
    exact = nearest_even(integer, 10)
    if abs(exact) >= 1 << 16:
        return 0xFC00 if integer < 0 else 0x7C00
    return struct.unpack("<H", struct.pack("<e", float(exact)))[0]


def rounding_integers() -> list[int]:
    """Zero, every subnormal and its neighbours, every boundary at every exponent, and random."""
    largest = MAXIMUM_BAG * (65504 << 24)
    assert largest < 1 << (SUM_BITS - 1)
    found = set(range(5000)) | {largest, largest - 1}
    for exponent in range(SUM_BITS - 1):
        power = 1 << exponent
        for fraction_bits in (10, 23):
            step = max(power >> fraction_bits, 1)
            for significand in (0, 1, 2, 3, (1 << fraction_bits) - 2, (1 << fraction_bits) - 1):
                at = power + significand * step
                found |= {at + step // 2 + offset for offset in (-1, 0, 1)}
                found |= {at, at - 1, at + 1}
    # FP16 overflows from 65520 on, halfway between the largest number and the next power of two.
    found |= {(65520 << 24) + offset for offset in range(-3, 4)}
    rng = np.random.default_rng(24)
    found |= {int(rng.integers(0, 1 << int(rng.integers(1, SUM_BITS)))) for _ in range(3000)}
    return sorted(value for value in found if value <= largest)


@pytest.mark.parametrize("fp32", [False, True], ids=["fp16", "fp32"])
def test_round_sum_against_fractions(fp32):
    rounding = RoundSum()

    async def bench(ctx):
        ctx.set(rounding.fp32, fp32)
        for magnitude in rounding_integers():
            for integer in {magnitude, -magnitude}:
                ctx.set(rounding.sum, {"integer": integer})
                assert ctx.get(rounding.value) == expected_bits(integer, fp32), integer

    run_bench(rounding, bench, clocked=False)


def test_the_fraction_model_knows_its_landmarks():
    assert expected_bits(65520 << 24, False) == 0x7C00
    assert expected_bits((65520 << 24) - 1, False) == 0x7BFF
    assert expected_bits(1, False) == 1
    assert expected_bits(2049, False) == 0x0800
    assert expected_bits(2051, False) == 0x0802
    assert expected_bits(-(1 << 24), True) == 0xBF800000


@pytest.mark.parametrize("fp32", [False, True], ids=["fp16", "fp32"])
def test_round_sum_of_flags(fp32):
    """Infinities and NaN rule whatever the integer is."""
    rounding = RoundSum()
    nan, infinity, sign = (0x7FC00000, 0x7F800000, 1 << 31) if fp32 else (0x7E00, 0x7C00, 1 << 15)

    async def bench(ctx):
        ctx.set(rounding.fp32, fp32)
        for integer in (0, 1, -1, 12345 << 20, -(1 << 51)):
            for flags in range(1, 8):
                positive, negative, invalid = flags & 1, flags >> 1 & 1, flags >> 2
                ctx.set(
                    rounding.sum,
                    {
                        "integer": integer,
                        "positive_infinity": positive,
                        "negative_infinity": negative,
                        "nan": invalid,
                    },
                )
                if invalid or (positive and negative):
                    expected = nan
                else:
                    expected = infinity | (sign if negative else 0)
                assert ctx.get(rounding.value) == expected

    run_bench(rounding, bench, clocked=False)


def test_sums_hold_the_largest_bag():
    assert SUM_BITS == 53
    assert ExactSum().members["integer"].width == SUM_BITS
    assert all(a < b for a, b in pairwise(rounding_integers()))
