"""One lane of the reduction: exact sum of one element of every operand, rounded once to FP16."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import EXACT_VALUE_BITS, MAXIMUM_CHIPS, WireFormat
from recspeed.rtl.lib.fixed_point import SUM_BITS, ExactSum, Fp16ToFixed, RoundSum

FP32_UNIT_EXPONENT = 126
"""Biased exponent of the FP32 numbers whose last fraction bit is worth 2^-24."""
FP32_LIMIT_EXPONENT = 163
"""Biased exponent of 2^36, the first FP32 number that is too large for the exact sum."""

TOTAL_BITS = EXACT_VALUE_BITS + (MAXIMUM_CHIPS - 1).bit_length()


class LaneFormats(data.StructLayout):
    """Which wire formats a lane meets, widest field first: 8 B, 4 B or 2 B per operand."""

    def __init__(self, widest: WireFormat) -> None:
        fields: dict[str, int] = {"fp16": 16}
        if widest >= WireFormat.FP32:
            fields["fp32"] = 32
        if widest >= WireFormat.EXACT:
            fields["exact"] = 64
        super().__init__(fields)


class ReductionLane(wiring.Component):
    """Adds `operands` elements.

    Members: `operand` array of `LaneFormats`, `wire_format` the format in force, `advance` moves
    every stage on, `value` the FP16 sum.

    *Timing*: 3 clocks with `advance` from operands to `value`, which is combinational from the
    registers of the last of them: decode, add, limit, round.
    """

    latency = 3

    def __init__(self, operands: int, widest: WireFormat) -> None:
        self._operands = operands
        self._widest = widest
        super().__init__(
            {
                "operand": In(LaneFormats(widest)).array(operands),
                "wire_format": In(2),
                "advance": In(1),
                "value": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = EXACT_VALUE_BITS if self._widest > WireFormat.FP16 else 41
        integers = []
        flags = Signal(3)
        wanted = 0
        for index in range(self._operands):
            integer, special = self._decode(m, index, bits)
            held = Signal(signed(bits), name=f"integer_{index}")
            held_special = Signal(3, name=f"special_{index}")
            with m.If(self.advance):
                m.d.sync += [held.eq(integer), held_special.eq(special)]
            integers.append(held)
            wanted |= held_special
        total = Signal(signed(TOTAL_BITS))
        limited = Signal(ExactSum())
        limit = (1 << (SUM_BITS - 1)) - 1
        with m.If(self.advance):
            m.d.sync += [
                total.eq(sum(integers[1:], integers[0])),
                flags.eq(wanted),
                limited.integer.eq(Mux(total > limit, limit, Mux(total < -limit, -limit, total))),
                limited.positive_infinity.eq(flags[0]),
                limited.negative_infinity.eq(flags[1]),
                limited.nan.eq(flags[2]),
            ]
        m.submodules.round = rounding = RoundSum()
        m.d.comb += [rounding.sum.eq(limited), self.value.eq(rounding.value[:16])]
        return m

    def _decode(self, m: Module, index: int, bits: int) -> tuple[Value, Value]:
        """Integer in units of 2^-24 and flags (+infinity, -infinity, NaN) of operand `index`."""
        operand = self.operand[index]
        m.submodules[f"decode_{index}"] = decode = Fp16ToFixed()
        m.d.comb += decode.value.eq(operand.fp16)
        integer = Signal(signed(bits), name=f"decoded_{index}")
        special = Signal(3, name=f"decoded_special_{index}")
        m.d.comb += [
            integer.eq(decode.fixed.integer),
            special.eq(
                decode.fixed.positive_infinity
                | (decode.fixed.negative_infinity << 1)
                | (decode.fixed.nan << 2)
            ),
        ]
        if self._widest >= WireFormat.FP32:
            with m.If(self.wire_format == WireFormat.FP32):
                self._decode_fp32(m, operand.fp32, integer, special)
        if self._widest >= WireFormat.EXACT:
            with m.If(self.wire_format == WireFormat.EXACT):
                m.d.comb += [
                    integer.eq(operand.exact[:EXACT_VALUE_BITS].as_signed()),
                    special.eq(operand.exact[EXACT_VALUE_BITS:]),
                ]
        return integer, special

    @staticmethod
    def _decode_fp32(m: Module, word: Value, integer: Signal, special: Signal) -> None:
        exponent, fraction, sign = word[23:31], word[:23], word[31]
        significand = fraction | ((exponent != 0) << 23)
        # One shifter for both directions: the unit sits 24 bits up, so lost bits are the low 24.
        shift = Mux(exponent < FP32_UNIT_EXPONENT - 24, 0, exponent - (FP32_UNIT_EXPONENT - 24))
        shifted = (significand << shift[:6])[: EXACT_VALUE_BITS + 24]
        magnitude = shifted[24:]
        tiny = (exponent < FP32_UNIT_EXPONENT - 24) & (significand != 0)
        unusable = (exponent >= FP32_LIMIT_EXPONENT) | tiny | (shifted[:24] != 0)
        infinite = (exponent == 255) & (fraction == 0)
        m.d.comb += integer.eq(Mux(unusable, 0, Mux(sign, -magnitude, magnitude)))
        with m.If(infinite):
            m.d.comb += special.eq(Mux(sign, 2, 1))
        with m.Else():
            m.d.comb += special.eq(unusable << 2)
