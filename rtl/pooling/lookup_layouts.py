"""What crosses the borders of the lookup issue, and the widths of a lookup's numbers."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset
from recspeed.models.spec.table import ELEMENT_BYTES, MAXIMUM_BAG, MAXIMUM_VECTOR_BYTES

__all__ = ["BAG_NUMBER_BITS", "Bag", "LookupTag", "slot_bits"]

BAG_NUMBER_BITS = 32
LENGTH_BITS = MAXIMUM_BAG.bit_length()
INDEX_BITS = 64
ELEMENT_COUNT_BITS = (MAXIMUM_VECTOR_BYTES // ELEMENT_BYTES).bit_length()
VECTOR_BEAT_BITS = (MAXIMUM_VECTOR_BYTES // BEAT_BYTES - 1).bit_length()
TABLE_BITS = 8


def slot_bits(parameters: ClusterParameters) -> int:
    """Width of the number of a bag slot."""
    return (parameters.bag_slots - 1).bit_length()


class Bag(data.StructLayout):
    """Head of a bag: its table, and how many of the indices that follow are its own (0 to 4095)."""

    def __init__(self):
        super().__init__({"table": unsigned(TABLE_BITS), "length": unsigned(LENGTH_BITS)})


class LookupTag(data.StructLayout):
    """What a lookup's beats need to find their sums.

    `slot`: the bag's. `last_beat`: the last beat of the lookup's last burst that is not all
    padding.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        super().__init__(
            {
                "slot": unsigned(slot_bits(parameters)),
                "last_beat": unsigned((preset.burst_clocks - 1).bit_length()),
            }
        )
