"""Exact partial sums: how they are asked for, beat by beat, and how they are handed on."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.lib.fixed_point import ExactSum
from recspeed.rtl.pooling.lookup_layouts import VECTOR_BEAT_BITS, slot_bits

__all__ = ["PartialBeat", "PartialRead", "PartialSums"]


class PartialRead(data.StructLayout):
    """Asks for beat `beat` of the sums of bag slot `slot`."""

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {"slot": unsigned(slot_bits(parameters)), "beat": unsigned(VECTOR_BEAT_BITS)}
        )


class PartialBeat(data.StructLayout):
    """8 lanes of a partial sum: each an `ExactSum`, in fixed point with its sticky flags.

    Zero where nothing was added. Lanes beyond the vector hold sums of padding: whoever takes the
    beat masks them.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__({"lanes": data.ArrayLayout(ExactSum(), parameters.lanes)})


class PartialSums(Signature):
    """Exact partial sums, seen from who holds them: a pooling slice, a channel, a reduction.

    Members
    -------
    reads : In(stream.Signature(PartialRead))
        Beats that are asked for. A read takes the sum out: the word starts again from zero.
    beats : Out(stream.Signature(PartialBeat))
        One beat per read, in their order.
    """

    def __init__(self, parameters: ClusterParameters):
        super().__init__(
            {
                "reads": In(stream.Signature(PartialRead(parameters))),
                "beats": Out(stream.Signature(PartialBeat(parameters))),
            }
        )
