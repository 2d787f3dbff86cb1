"""FP16 to fixed point and back, against fractions: every value, every boundary of rounding."""

import struct
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from support.amaranth_bench import run_bench

from recspeed.models.spec.table import MAXIMUM_BAG
from recspeed.rtl.lib.fixed_point import SUM_BITS, ExactSum, Fp16ToFixed, RoundSum

UNIT = Fraction(1, 1 << 24)


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
