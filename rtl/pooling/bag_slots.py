"""The ring of bag slots: which bags are in flight, and which of them is complete."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, LENGTH_BITS
from recspeed.rtl.pooling.slot_ports import BagOpening, CompletedLookup, OldestBag

__all__ = ["BagSlots"]

COUNT_BITS = LENGTH_BITS + 1
"""Lookups are counted modulo twice the largest bag, so counters never need to be cleared."""


class BagSlots(wiring.Component):
    """Slots are taken and freed in the order of the bags.

    Per slot two free-running counters say how many lookups were issued and how many are complete; a
    closed bag is complete when they are equal. Each has one writer.

    Members
    -------
    slots : In(range(bag_slots + 1))
        Slots in use.
    issue : In(BagOpening)
        From the lookup issue.
    completed : In(CompletedLookup)
        From the pooling slice.
    oldest : Out(OldestBag)
        To the read-out.
    occupied : Out(1)
        Some slot is occupied.

    *Timing*: every output follows in the clock after an input.

    *Undefined*: `slots` that changes while a slot is occupied.

    Source: docs/cluster.md, "Lookup issue and bag slots".
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        super().__init__(
            {
                "slots": In(range(parameters.bag_slots + 1)),
                "issue": In(BagOpening(parameters)),
                "completed": In(CompletedLookup(parameters)),
                "oldest": Out(OldestBag(parameters)),
                "occupied": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = self.parameters.bag_slots
        issue, oldest, completed = self.issue, self.oldest, self.completed
        level = Signal(range(depth + 1))
        last = Signal(range(depth))
        m.d.comb += [
            last.eq(self.slots - 1),
            issue.free.eq(level < self.slots),
            self.occupied.eq(level != 0),
        ]
        m.d.sync += level.eq(level + issue.take - oldest.release)
        with m.If(issue.take):
            m.d.sync += issue.open_slot.eq(Mux(issue.open_slot == last, 0, issue.open_slot + 1))
        with m.If(oldest.release):
            m.d.sync += oldest.slot.eq(Mux(oldest.slot == last, 0, oldest.slot + 1))

        m.submodules.elements_memory = elements = Memory(
            shape=ELEMENT_COUNT_BITS, depth=depth, init=[]
        )
        elements_write = elements.write_port()
        elements_read = elements.read_port(domain="comb")
        m.d.comb += [
            elements_write.en.eq(issue.take),
            elements_write.addr.eq(issue.open_slot),
            elements_write.data.eq(issue.elements),
            elements_read.addr.eq(oldest.slot),
            oldest.elements.eq(elements_read.data),
        ]

        m.submodules.issued_memory = issued = Memory(shape=COUNT_BITS, depth=depth, init=[])
        issued_head = self._counter(m, issued, issue.close, issue.closing_slot, issue.issued)
        m.submodules.complete_memory = complete = Memory(shape=COUNT_BITS, depth=depth, init=[])
        complete_head = self._counter(m, complete, completed.valid, completed.slot, 1)
        youngest_is_head = level == 1
        m.d.comb += oldest.complete.eq(
            self.occupied & ~(youngest_is_head & issue.open) & (issued_head == complete_head)
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
            head.addr.eq(self.oldest.slot),
        ]
        return head.data
