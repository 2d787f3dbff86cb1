"""CRC-16 over a whole word in one clock."""

from amaranth.hdl import Cat, Const, Value

POLYNOMIAL = 0xA001
"""x^16 + x^15 + x^2 + 1 with bit 0 standing for x^15, as bits enter in order from bit 0."""


def _contributions(width: int) -> list[int]:
    """CRC of the word of `width` bits in which only bit i is set, for every i."""
    remainder = POLYNOMIAL
    result = []
    for _ in range(width):
        result.append(remainder)
        remainder = (remainder >> 1) ^ (POLYNOMIAL if remainder & 1 else 0)
    return result[::-1]


def crc16(word: Value) -> Value:
    """CRC-16/ARC of `word`, bit 0 first, initial value 0; 16 bits, combinational.

    The CRC is linear, so each of its bits is the parity of a fixed subset of the word. Appended
    above the word it makes the CRC of the whole 0.
    """
    contributions = _contributions(len(word))
    parities = []
    for bit in range(16):
        mask = sum(((value >> bit) & 1) << i for i, value in enumerate(contributions))
        parities.append((word & Const(mask, len(word))).xor())
    return Cat(*parities)
