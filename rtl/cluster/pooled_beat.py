"""What leaves a cluster: beats of rounded lanes."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, VECTOR_BEAT_BITS

__all__ = ["PooledBeat", "rounded_lanes"]


def rounded_lanes(parameters: ClusterParameters) -> data.ArrayLayout:
    """Lanes of a rounded beat: each is FP32, or FP16 in its low half."""
    return data.ArrayLayout(32, parameters.lanes)


class PooledBeat(data.StructLayout):
    """8 lanes of a pooled vector: beat `beat` of bag `bag`; `last` marks a bag's last beat.

    Each lane is FP32, or FP16 in its low half. Lanes beyond the vector are zero.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {
                "lanes": rounded_lanes(parameters),
                "bag": unsigned(BAG_NUMBER_BITS),
                "beat": unsigned(VECTOR_BEAT_BITS),
                "last": unsigned(1),
            }
        )
