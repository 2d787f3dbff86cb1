"""What crosses the borders of lookup issue and pooling slice."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset
from recspeed.models.spec.table import ELEMENT_BYTES, MAXIMUM_BAG, MAXIMUM_VECTOR_BYTES

__all__ = ["BAG_NUMBER_BITS", "Bag", "LookupTag", "PooledBeat"]

BAG_NUMBER_BITS = 32
LENGTH_BITS = MAXIMUM_BAG.bit_length()
INDEX_BITS = 64
ELEMENT_COUNT_BITS = (MAXIMUM_VECTOR_BYTES // ELEMENT_BYTES).bit_length()
VECTOR_BEAT_BITS = (MAXIMUM_VECTOR_BYTES // BEAT_BYTES - 1).bit_length()
TABLE_BITS = 8


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
                "slot": unsigned((parameters.bag_slots - 1).bit_length()),
                "last_beat": unsigned((preset.burst_clocks - 1).bit_length()),
            }
        )


class PooledBeat(data.StructLayout):
    """8 lanes of a pooled vector: beat `beat` of bag `bag`; `last` marks a bag's last beat.

    Each lane is FP32, or FP16 in its low half. Lanes beyond the vector are zero.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {
                "lanes": data.ArrayLayout(32, parameters.lanes),
                "bag": unsigned(BAG_NUMBER_BITS),
                "beat": unsigned(VECTOR_BEAT_BITS),
                "last": unsigned(1),
            }
        )
