"""CRC-16/ARC over a whole word in one clock: x^16 + x^15 + x^2 + 1, bit 0 first, initial value 0.

The polynomial is (x + 1) Q with Q = x^15 + x + 1. Modulo x + 1 the remainder is the word's parity.
Modulo Q the powers x^(15 * 2^k) are sparse, so the upper part of a word folds onto the lower with
two or three XORs per bit: about 1,600 XOR gates for 528 bits, where the rows of the usual matrix
take some 4,000. The two remainders determine the one modulo the product.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

FOLDS = (
    (480, (4, 2, 0)),
    (240, (2, 1, 0)),
    (120, (8, 0)),
    (60, (4, 0)),
    (30, (2, 0)),
    (15, (1, 0)),
)
"""x to the first power is the sum of x to the others, modulo Q."""

Q_BITS = 0xC001
"""Q in a 16-bit remainder, bit 0 standing for x^15."""


def _times(value: Value, power: int, width: int) -> Value:
    """`value` times x^power in `width` bits, where the last bit stands for x^0."""
    return Value.cast(Cat(Const(0, width - len(value) - power), value, Const(0, power)))


class Crc16(wiring.Component):
    """CRC of `word`. Combinational.

    Members: `word` In(width), `crc` Out(16). Appended above the word, `crc` makes the CRC of the
    whole 0.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"word": In(width), "crc": Out(16)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The CRC is the remainder of word * x^16, and x^16 = x^2 + x modulo Q.
        width = self._width + 2
        folded = Signal(width)
        m.d.comb += folded.eq(_times(self.word, 2, width) ^ _times(self.word, 1, width))
        step = 0
        for power, terms in FOLDS:
            while len(folded) > power:
                upper, lower = folded[: len(folded) - power], folded[len(folded) - power :]
                width = max(power, len(upper) + terms[0])
                total = _times(lower, 0, width)
                for term in terms:
                    total = total ^ _times(upper, term, width)
                folded = Signal(width, name=f"folded_{step}")
                m.d.comb += folded.eq(total)
                step += 1
        odd = Signal()
        m.d.comb += [
            odd.eq(self.word.xor() ^ folded.xor()),
            self.crc.eq(_times(folded, 0, 16) ^ Mux(odd, Q_BITS, 0)),
        ]
        return m
