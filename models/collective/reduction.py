"""Exact sums of FP16 values and of partial sums, rounded once to FP16.

A value is held as `high * 2^32 + low` in units of 2^-24, two int64 arrays, so that sums of 16
partial sums of 61 bits stay exact.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.collective import EXACT_VALUE_BITS, WireFormat

POSITIVE_INFINITY, NEGATIVE_INFINITY, NOT_A_NUMBER = 1, 2, 4

Decoded = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Integers in units of 2^-24, and flags."""


def _decode_fp16(raw: NDArray[np.uint8]) -> Decoded:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        values = raw.view("<f2").astype(np.float64)
    finite = np.isfinite(values)
    integers = np.where(finite, values, 0) * 2.0**24
    return integers.astype(np.int64), _flags(values)


def _flags(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return (
        POSITIVE_INFINITY * np.isposinf(values)
        + NEGATIVE_INFINITY * np.isneginf(values)
        + NOT_A_NUMBER * np.isnan(values)
    ).astype(np.int64)


def _decode_fp32(raw: NDArray[np.uint8]) -> Decoded:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        values = raw.view("<f4").astype(np.float64)
    scaled = np.where(np.isfinite(values), values, 0) * 2.0**24
    usable = (np.abs(scaled) < 2.0**60) & (scaled == np.rint(scaled))
    flags = _flags(values) | np.where(usable, 0, NOT_A_NUMBER)
    return np.where(usable, scaled, 0).astype(np.int64), flags


def _decode_exact(raw: NDArray[np.uint8]) -> Decoded:
    words = raw.view("<u8")
    shift = 64 - EXACT_VALUE_BITS
    integers = (words << np.uint64(shift)).view(np.int64) >> shift
    return integers, (words >> np.uint64(EXACT_VALUE_BITS)).astype(np.int64)


_DECODERS = {
    WireFormat.FP16: _decode_fp16,
    WireFormat.FP32: _decode_fp32,
    WireFormat.EXACT: _decode_exact,
}


def partial_sums(values: NDArray[np.float16], wire: WireFormat) -> NDArray[np.uint8]:
    """FP16 values as partial sums of one summand each, in a wire format; uint8."""
    if wire == WireFormat.FP16:
        return values.astype("<f2").view(np.uint8)
    if wire == WireFormat.FP32:
        return values.astype("<f4").view(np.uint8)
    integers, flags = _decode_fp16(values.astype("<f2").view(np.uint8))
    mask = np.uint64((1 << EXACT_VALUE_BITS) - 1)
    words = (integers.view(np.uint64) & mask) | flags.astype(np.uint64) << np.uint64(
        EXACT_VALUE_BITS
    )
    return words.astype("<u8").view(np.uint8)


def reduced(operands: Sequence[NDArray[np.uint8]], wire: WireFormat) -> NDArray[np.uint8]:
    """Sum of operands in a wire format, rounded once to nearest even; FP16 as uint8."""
    decode = _DECODERS[wire]
    decoded = [decode(np.ascontiguousarray(operand)) for operand in operands]
    high = np.sum([integers >> 32 for integers, _ in decoded], axis=0, dtype=np.int64)
    low = np.sum([integers & 0xFFFFFFFF for integers, _ in decoded], axis=0, dtype=np.int64)
    flags = np.bitwise_or.reduce([flags for _, flags in decoded])
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    # Beyond 2^45 every sum rounds to infinity, so it may be cut there.
    large = (high >= 1 << 13) | (high < -(1 << 13))
    total = np.where(large, np.where(high < 0, -(1 << 45), 1 << 45), (high << 32) + low)
    return _round_fp16(total, flags).view(np.uint8)


def _round_fp16(total: NDArray[np.int64], flags: NDArray[np.int64]) -> NDArray[np.uint16]:
    """FP16 bits of integers below 2^46 in units of 2^-24."""
    magnitude = np.abs(total)
    # Exact: the integers fit a double's significand.
    exponent = np.frexp(magnitude.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(exponent - 11, 0)
    kept = magnitude >> shift
    rest = magnitude - (kept << shift)
    twice = rest * 2
    unit = np.int64(1) << shift
    up = (twice > unit) | ((twice == unit) & (kept & 1 == 1))
    bits = np.minimum((shift << 10) + kept + np.where(shift > 0, up, 0), 0x7C00)
    bits = np.where(total < 0, bits | 0x8000, bits)
    bits = np.where(flags & POSITIVE_INFINITY, 0x7C00, bits)
    bits = np.where(flags & NEGATIVE_INFINITY, 0xFC00, bits)
    both = POSITIVE_INFINITY | NEGATIVE_INFINITY
    nan = (flags & NOT_A_NUMBER != 0) | (flags & both == both)
    return np.where(nan, 0x7E00, bits).astype("<u2")
