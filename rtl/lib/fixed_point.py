"""FP16 and FP32 bit patterns against exact fixed-point sums in units of 2**-24.

Every finite FP16 number is an integer multiple of 2**-24 (its smallest subnormal) of at most 40
bits, so a sum of them is exact in an integer, whatever the order.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.table import MAXIMUM_BAG

__all__ = ["SUM_BITS", "ExactSum", "Fp16ToFixed", "RoundSum"]

VALUE_BITS = 41
SUM_BITS = VALUE_BITS + MAXIMUM_BAG.bit_length()
"""Signed width of the sum of `MAXIMUM_BAG` values."""

FP16_FRACTION = 10
FP32_FRACTION = 23
FP32_EXPONENT_OF_UNIT = 127 - 24
"""Biased FP32 exponent of 2**-24."""


class ExactSum(data.StructLayout):
    """A sum: `integer` in units of 2**-24, and sticky flags of the non-finite summands."""

    def __init__(self):
        super().__init__(
            {
                "integer": signed(SUM_BITS),
                "positive_infinity": unsigned(1),
                "negative_infinity": unsigned(1),
                "nan": unsigned(1),
            }
        )


class Fp16ToFixed(wiring.Component):
    """One FP16 number as an `ExactSum` of itself.

    Members
    -------
    value : In(16)
        An FP16 bit pattern.
    fixed : Out(ExactSum)
        Its value; integer 0 with a flag for infinities and NaN.

    *Timing*: combinational.
    """

    def __init__(self):
        super().__init__({"value": In(16), "fixed": Out(ExactSum())})

    def elaborate(self, platform):
        m = Module()
        fraction = self.value[:FP16_FRACTION]
        exponent = self.value[FP16_FRACTION:15]
        sign = self.value[15]
        normal = Signal()
        finite = Signal()
        shift = Signal(5)
        magnitude = Signal(VALUE_BITS - 1)
        m.d.comb += [
            normal.eq(exponent != 0),
            finite.eq(exponent != 31),
            shift.eq(Mux(normal, exponent - 1, 0)),
            magnitude.eq(Mux(finite, Cat(fraction, normal) << shift, 0)),
            self.fixed.integer.eq(Mux(sign, -magnitude, magnitude)),
            self.fixed.positive_infinity.eq(~finite & (fraction == 0) & ~sign),
            self.fixed.negative_infinity.eq(~finite & (fraction == 0) & sign),
            self.fixed.nan.eq(~finite & (fraction != 0)),
        ]
        return m


class RoundSum(wiring.Component):
    """Rounds an `ExactSum` once, to nearest even, to FP16 or FP32.

    Overflow of FP16 gives infinity; FP32 cannot overflow. NaN is the quiet one of positive sign. A
    zero sum is +0.0. The rounding of subnormal FP16 results is exact, since their unit is that of
    the sum.

    Members
    -------
    sum : In(ExactSum)
        What is rounded.
    fp32 : In(1)
        To FP32, else to FP16.
    value : Out(32)
        An FP32 bit pattern, or an FP16 one in the low half and zeros above.

    *Timing*: combinational.
    """

    def __init__(self):
        super().__init__({"sum": In(ExactSum()), "fp32": In(1), "value": Out(32)})

    def elaborate(self, platform):
        m = Module()
        width = SUM_BITS - 1
        negative = Signal()
        magnitude = Signal(width)
        m.d.comb += [
            negative.eq(self.sum.integer[-1]),
            magnitude.eq(Mux(negative, -self.sum.integer, self.sum.integer)),
        ]

        # Shift left until the top bit is set; `leading` becomes the number of leading zeros.
        normalized = magnitude
        leading_bits = []
        for stage in reversed(range((width - 1).bit_length())):
            distance = 1 << stage
            empty = Signal(name=f"empty_{distance}")
            shifted = Signal(width, name=f"shifted_{distance}")
            m.d.comb += [
                empty.eq(normalized[-distance:] == 0),
                shifted.eq(Mux(empty, normalized << distance, normalized)),
            ]
            normalized = shifted
            leading_bits.insert(0, empty)
        leading = Signal(len(leading_bits))
        position = Signal(range(width))
        m.d.comb += [leading.eq(Cat(leading_bits)), position.eq(width - 1 - leading)]

        fp16 = Signal(15)
        fp32 = Signal(31)
        rounded_16 = self._round(m, normalized, FP16_FRACTION, "fp16")
        rounded_32 = self._round(m, normalized, FP32_FRACTION, "fp32")
        # The rounded significand holds its leading one, which adds the missing 1 to the exponent; a
        # carry out of the fraction does so once more.
        encoded_16 = Signal(range((width + 2) << FP16_FRACTION))
        m.d.comb += encoded_16.eq(((position - FP16_FRACTION) << FP16_FRACTION) + rounded_16)
        with m.If(magnitude < (2 << FP16_FRACTION)):
            m.d.comb += fp16.eq(magnitude)
        with m.Elif(encoded_16 >= 0x7C00):
            m.d.comb += fp16.eq(0x7C00)
        with m.Else():
            m.d.comb += fp16.eq(encoded_16)
        with m.If(magnitude != 0):
            m.d.comb += fp32.eq(
                ((position + (FP32_EXPONENT_OF_UNIT - 1)) << FP32_FRACTION) + rounded_32
            )

        any_infinity = self.sum.positive_infinity | self.sum.negative_infinity
        with m.If(self.sum.nan | (self.sum.positive_infinity & self.sum.negative_infinity)):
            m.d.comb += self.value.eq(Mux(self.fp32, 0x7FC00000, 0x7E00))
        with m.Elif(any_infinity):
            sign = self.sum.negative_infinity
            m.d.comb += self.value.eq(
                Mux(self.fp32, Cat(Const(0x7F800000, 31), sign), Cat(Const(0x7C00, 15), sign))
            )
        with m.Else():
            m.d.comb += self.value.eq(Mux(self.fp32, Cat(fp32, negative), Cat(fp16, negative)))
        return m

    @staticmethod
    def _round(m, normalized, fraction_bits, name):
        """The top `fraction_bits` + 1 bits of `normalized`, rounded to nearest even."""
        kept = len(normalized) - 1 - fraction_bits
        significand = normalized[kept:]
        half = normalized[kept - 1]
        rest = normalized[: kept - 1] != 0
        rounded = Signal(fraction_bits + 2, name=f"rounded_{name}")
        m.d.comb += rounded.eq(significand + (half & (rest | significand[0])))
        return rounded
