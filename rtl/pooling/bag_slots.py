"""The ring of bag slots: which bags are in flight, and which of them is complete."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, LENGTH_BITS

__all__ = ["BagSlots"]

COUNT_BITS = LENGTH_BITS + 1
"""Lookups are counted modulo twice the largest bag, so counters never need to be cleared."""


class BagSlots(wiring.Component):
    """Slots are taken and freed in the order of the bags.

    Per slot two free-running counters say how many lookups were issued and how many are complete; a
    closed bag is complete when they are equal. Each has one writer.

    Members
    -------
    slots : In
        Slots in use.
    free : Out(1)
        A slot can be taken.
    take, elements : In
        The next bag takes slot `open_slot`; its vectors have so many elements.
    open_slot : Out
        The slot that the next `take` gets.
    close, issued : In
        The youngest bag, in slot `closing_slot`, is closed; it issued so many lookups. In the clock
        of `take` for an empty bag, `close` is not needed.
    closing_slot : In
    open : In(1)
        The youngest bag is not closed.
    lookup_complete, complete_slot : In
        One lookup of that slot is complete.
    release : In(1)
        The oldest bag was read out.
    head_slot, head_elements : Out
        The oldest bag.
    head_complete : Out(1)
        There is an oldest bag and it is complete.
    occupied : Out(1)
        Some slot is occupied.

    Timing: outputs follow in the clock after an input.
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        slot = range(parameters.bag_slots)
        super().__init__(
            {
                "slots": In(range(parameters.bag_slots + 1)),
                "free": Out(1),
                "take": In(1),
                "elements": In(ELEMENT_COUNT_BITS),
                "open_slot": Out(slot),
                "close": In(1),
                "closing_slot": In(slot),
                "issued": In(LENGTH_BITS),
                "open": In(1),
                "lookup_complete": In(1),
                "complete_slot": In(slot),
                "release": In(1),
                "head_slot": Out(slot),
                "head_elements": Out(ELEMENT_COUNT_BITS),
                "head_complete": Out(1),
                "occupied": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = self.parameters.bag_slots
        level = Signal(range(depth + 1))
        last = Signal(range(depth))
        m.d.comb += [
            last.eq(self.slots - 1),
            self.free.eq(level < self.slots),
            self.occupied.eq(level != 0),
        ]
        m.d.sync += level.eq(level + self.take - self.release)
        with m.If(self.take):
            m.d.sync += self.open_slot.eq(Mux(self.open_slot == last, 0, self.open_slot + 1))
        with m.If(self.release):
            m.d.sync += self.head_slot.eq(Mux(self.head_slot == last, 0, self.head_slot + 1))

        m.submodules.elements_memory = elements = Memory(
            shape=ELEMENT_COUNT_BITS, depth=depth, init=[]
        )
        elements_write = elements.write_port()
        elements_read = elements.read_port(domain="comb")
        m.d.comb += [
            elements_write.en.eq(self.take),
            elements_write.addr.eq(self.open_slot),
            elements_write.data.eq(self.elements),
            elements_read.addr.eq(self.head_slot),
            self.head_elements.eq(elements_read.data),
        ]

        m.submodules.issued_memory = issued = Memory(shape=COUNT_BITS, depth=depth, init=[])
        issued_head = self._counter(m, issued, self.close, self.closing_slot, self.issued)
        m.submodules.complete_memory = complete = Memory(shape=COUNT_BITS, depth=depth, init=[])
        complete_head = self._counter(m, complete, self.lookup_complete, self.complete_slot, 1)
        youngest_is_head = level == 1
        m.d.comb += self.head_complete.eq(
            self.occupied & ~(youngest_is_head & self.open) & (issued_head == complete_head)
        )
        return m

    def _counter(self, m, memory, enable, slot, amount):
        """A counter per slot: adds `amount` to that of `slot`; returns that of the oldest bag."""
        write = memory.write_port()
        current = memory.read_port(domain="comb")
        head = memory.read_port(domain="comb")
        m.d.comb += [
            current.addr.eq(slot),
            write.addr.eq(slot),
            write.data.eq(current.data + amount),
            write.en.eq(enable),
            head.addr.eq(self.head_slot),
        ]
        return head.data
