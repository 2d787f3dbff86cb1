"""One lane of the pooling slice: one FP16 column of every beat, from memory bus to result."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.rtl.lib.fixed_point import ExactSum, Fp16ToFixed, RoundSum

__all__ = ["PoolingLane"]


class PoolingLane(wiring.Component):
    """Adds FP16 numbers to the words of an exact accumulator memory, and rounds finished words.

    Two ports that do not disturb each other. *Add*, a pipeline that cannot be stalled: `value` and
    `add_word` in clock t; in t + 1 `add_enable` and `add_touched` (whether the word holds a sum
    already); the word is written at the end of t + 1, and a later addition to it sees it even in
    the next clock. *Read*: `read_word` with `read_enable` in clock t gives `result`, rounded, from
    t + 1 until the next `read_enable`; `read_touched` in t + 1 as above.

    Parameters
    ----------
    words : int
        Words of the accumulator memory.
    """

    def __init__(self, words: int):
        self.words = words
        super().__init__(
            {
                "value": In(16),
                "add_word": In(range(words)),
                "add_enable": In(1),
                "add_touched": In(1),
                "read_word": In(range(words)),
                "read_enable": In(1),
                "read_touched": In(1),
                "fp32": In(1),
                "result": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.convert = convert = Fp16ToFixed()
        m.submodules.round = rounding = RoundSum()
        m.submodules.memory = memory = Memory(shape=ExactSum(), depth=self.words, init=[])
        write = memory.write_port()
        add = memory.read_port(transparent_for=(write,))
        read = memory.read_port()

        addend = Signal(ExactSum())
        word = Signal(range(self.words))
        m.d.comb += [convert.value.eq(self.value), add.en.eq(1), add.addr.eq(self.add_word)]
        m.d.sync += [addend.eq(convert.fixed), word.eq(self.add_word)]

        kept = self.add_touched
        m.d.comb += [
            write.addr.eq(word),
            write.en.eq(self.add_enable),
            write.data.integer.eq(Mux(kept, add.data.integer, 0) + addend.integer),
        ]
        for flag in ("positive_infinity", "negative_infinity", "nan"):
            m.d.comb += write.data[flag].eq((kept & add.data[flag]) | addend[flag])

        m.d.comb += [
            read.addr.eq(self.read_word),
            read.en.eq(self.read_enable),
            rounding.fp32.eq(self.fp32),
            self.result.eq(rounding.value),
        ]
        with m.If(self.read_touched):
            m.d.comb += rounding.sum.eq(read.data)
        return m
