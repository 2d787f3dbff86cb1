"""Rounding: beats of exact sums become beats of FP16 or FP32 numbers."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.cluster.pooled_beat import rounded_lanes
from recspeed.rtl.lib.fixed_point import RoundSum
from recspeed.rtl.pooling.partial_sums import PartialBeat

__all__ = ["Rounding"]


class Rounding(wiring.Component):
    """Rounds every lane of a beat once, to nearest even.

    Members
    -------
    fp32 : In(1)
        Results in FP32, else in FP16.
    sums : In(stream.Signature(PartialBeat))
        The exact sums of a bag, all its lookups in.
    rounded : Out(stream.Signature(ArrayLayout(32, lanes)))
        The same beat, rounded.

    *Timing*: combinational, in both directions; one beat per clock.

    *Undefined*: `fp32` that changes while a beat is offered.

    Source: docs/cluster.md, "Rounding".
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        super().__init__(
            {
                "fp32": In(1),
                "sums": In(stream.Signature(PartialBeat(parameters))),
                "rounded": Out(stream.Signature(rounded_lanes(parameters))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.rounded.valid.eq(self.sums.valid),
            self.sums.ready.eq(self.rounded.ready),
        ]
        for number in range(self.parameters.lanes):
            m.submodules[f"lane_{number}"] = lane = RoundSum()
            m.d.comb += [
                lane.fp32.eq(self.fp32),
                lane.sum.eq(self.sums.payload.lanes[number]),
                self.rounded.payload[number].eq(lane.value),
            ]
        return m
