"""One lane of the pooling slice: one column of every beat, from addend to exact sum."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.rtl.lib.fixed_point import ExactSum

__all__ = ["PoolingLane"]


class PoolingLane(wiring.Component):
    """Adds fixed-point numbers to the words of an exact accumulator memory, and reads words.

    The two ports, *add* and *read*, do not disturb each other. Whether a word holds a sum already
    is known outside, for all lanes at once: `add_touched`, `read_touched`.

    Parameters
    ----------
    words : int
        Words of the accumulator memory.

    Members
    -------
    add_word : In(range(words))
        In clock t: the word that an addition in t + 1 is for.
    add_enable : In(1)
        In t + 1: the addition takes place.
    add_touched : In(1)
        In t + 1: the word holds a sum; else it counts as zero.
    addend : In(ExactSum)
        In t + 1: what is added.
    read_word : In(range(words))
        The word to read.
    read_enable : In(1)
        Read `read_word` in this clock.
    read_touched : In(1)
        From the clock after `read_enable` until the next one: the word that was read held a sum.
    sum : Out(ExactSum)
        From the clock after `read_enable` until the next one: the word that was read, zero without
        `read_touched`.

    *Timing*: the add port is a pipeline that cannot be stalled, one addition per clock; the word is
    written at the end of t + 1, and a later addition to it sees it even in the next clock.

    *Undefined*: a read of a word in the clock t of an addition to it or in t + 1.

    Source: docs/cluster.md, "Accumulators".
    """

    def __init__(self, words: int):
        self.words = words
        super().__init__(
            {
                "add_word": In(range(words)),
                "add_enable": In(1),
                "add_touched": In(1),
                "addend": In(ExactSum()),
                "read_word": In(range(words)),
                "read_enable": In(1),
                "read_touched": In(1),
                "sum": Out(ExactSum()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=ExactSum(), depth=self.words, init=[])
        write = memory.write_port()
        add = memory.read_port(transparent_for=(write,))
        read = memory.read_port()

        addend = self.addend
        word = Signal(range(self.words))
        m.d.comb += [add.en.eq(1), add.addr.eq(self.add_word)]
        m.d.sync += word.eq(self.add_word)

        kept = self.add_touched
        m.d.comb += [
            write.addr.eq(word),
            write.en.eq(self.add_enable),
            write.data.integer.eq(Mux(kept, add.data.integer, 0) + addend.integer),
        ]
        for flag in ("positive_infinity", "negative_infinity", "nan"):
            m.d.comb += write.data[flag].eq((kept & add.data[flag]) | addend[flag])

        m.d.comb += [read.addr.eq(self.read_word), read.en.eq(self.read_enable)]
        with m.If(self.read_touched):
            m.d.comb += self.sum.eq(read.data)
        return m
