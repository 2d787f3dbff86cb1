"""The three ports of the bag slots: who opens bags, who completes lookups, who reads bags out."""

from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.pooling.lookup_layouts import ELEMENT_COUNT_BITS, LENGTH_BITS, slot_bits

__all__ = ["BagOpening", "CompletedLookup", "OldestBag"]


class BagOpening(Signature):
    """How the lookup issue opens and closes bags, seen from the lookup issue.

    Members
    -------
    free : In(1)
        A slot can be taken.
    open_slot : In(slot)
        The slot that the next `take` gets.
    take : Out(1)
        The next bag takes slot `open_slot` in this clock. Only with `free`.
    elements : Out(ELEMENT_COUNT_BITS)
        With `take`: elements of the bag's vectors.
    open : Out(1)
        The youngest bag is not closed: 1 from the clock after the `take` of a bag with lookups
        until the clock of its `close`, inclusive.
    close : Out(1)
        The youngest bag is closed in this clock. An empty bag is closed by its `take`, without it.
    closing_slot : Out(slot)
        With `close`: the bag's slot.
    issued : Out(LENGTH_BITS)
        With `close`: lookups that the bag issued.
    """

    def __init__(self, parameters: ClusterParameters):
        slot = slot_bits(parameters)
        super().__init__(
            {
                "free": In(1),
                "open_slot": In(slot),
                "take": Out(1),
                "elements": Out(ELEMENT_COUNT_BITS),
                "open": Out(1),
                "close": Out(1),
                "closing_slot": Out(slot),
                "issued": Out(LENGTH_BITS),
            }
        )


class CompletedLookup(Signature):
    """How a pooling slice says that a lookup is complete, seen from the slice.

    Members
    -------
    valid : Out(1)
        The last beat of a lookup is in its sum from the next clock on.
    slot : Out(slot)
        With `valid`: the slot of the lookup's bag.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__({"valid": Out(1), "slot": Out(slot_bits(parameters))})


class OldestBag(Signature):
    """How the oldest bag is read out, seen from the bag slots.

    Members
    -------
    complete : Out(1)
        There is an oldest bag, it is closed, and all lookups that it issued are complete.
    slot : Out(slot)
        Its slot.
    elements : Out(ELEMENT_COUNT_BITS)
        Elements of its vectors.
    release : In(1)
        Its last beat is read in this clock: its slot is free from the next one on. Only with
        `complete`.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {
                "complete": Out(1),
                "slot": Out(slot_bits(parameters)),
                "elements": Out(ELEMENT_COUNT_BITS),
                "release": In(1),
            }
        )
