"""The oracle's data: what DRAM holds, what FP16 means and how sums are rounded, with fractions."""

from fractions import Fraction

import numpy as np

from recspeed.models.spec import content
from recspeed.models.spec.run import ChannelRun

MASK = (1 << 64) - 1


def half_value(bits):
    """FP16 bits as a Fraction, or "nan", "+inf", "-inf"."""
    sign, exponent, mantissa = bits >> 15, bits >> 10 & 31, bits & 1023
    if exponent == 31:
        return "nan" if mantissa else ("-inf" if sign else "+inf")
    scale = Fraction(2) ** (max(exponent, 1) - 25)
    return (-1) ** sign * ((1024 if exponent else 0) + mantissa) * scale


def rounded_bits(value, precision, minimum_exponent, maximum_exponent):
    """Bits without sign of the positive Fraction, rounded to nearest even in a binary format."""
    exponent = minimum_exponent
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - precision + 1)
    whole = value // unit
    rest = value - whole * unit
    if rest * 2 > unit or (rest * 2 == unit and whole % 2):
        whole += 1
    if whole == 1 << precision:
        whole, exponent = whole >> 1, exponent + 1
    hidden = 1 << (precision - 1)
    if exponent > maximum_exponent:
        return (maximum_exponent - minimum_exponent + 2) << (precision - 1)
    if whole < hidden:
        return int(whole)
    return ((exponent - minimum_exponent + 1) << (precision - 1)) + int(whole) - hidden


def pooled_bits(total, specials, output):
    """Result bits of an exact sum and the special values among its addends."""
    half = output == "fp16"
    sign_bit, infinity = (0x8000, 0x7C00) if half else (0x80000000, 0x7F800000)
    if "nan" in specials or {"+inf", "-inf"} <= specials:
        return 0x7E00 if half else 0x7FC00000
    if specials:
        return infinity | (sign_bit if "-inf" in specials else 0)
    if total == 0:
        return 0
    bits = rounded_bits(abs(total), *((11, -14, 15) if half else (24, -126, 127)))
    return bits | (sign_bit if total < 0 else 0)


class Dram:
    """What a read returns: 16 FP16 bit patterns per burst."""

    def __init__(self, run: ChannelRun):
        self.run = run
        self.bursts = {}
        if run.contents is None:
            return
        preset = run.preset
        rubbish = np.random.default_rng(1)
        for table, vectors in zip(run.tables, run.contents, strict=True):
            for v, vector in enumerate(vectors):
                w = v // preset.banks
                row = table.base_row + w % table.row_span
                first = w // table.row_span * table.bursts(preset)
                data = rubbish.integers(0, 1 << 16, table.bursts(preset) * 16).tolist()
                data[: len(vector)] = vector.tolist()
                for burst in range(table.bursts(preset)):
                    place = (row, v % preset.banks, first + burst)
                    self.bursts[place] = data[16 * burst : 16 * burst + 16]

    def read(self, row, bank, burst):
        if self.run.contents is not None:
            return self.bursts[row, bank, burst]
        preset, elements = self.run.preset, []
        for word in range(4):
            w = ((row * preset.banks + bank) * preset.bursts_per_row + burst) * 4 + word
            x = (w + self.run.seed * content.SEED_FACTOR) * content.FACTOR_1 & MASK
            x ^= x >> 32
            x = x * content.FACTOR_2 & MASK
            x ^= x >> 32
            for e in range(4):
                bits = x >> 16 * e & 0xFFFF
                elements.append(bits & 0xBFFF if bits >> 10 & 31 == 31 else bits)
        return elements
