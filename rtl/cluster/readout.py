"""Readout: finished bags leave the accumulators as a stream of rounded beats."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, ELEMENT_COUNT_BITS, PooledBeat

__all__ = ["Readout"]


class Readout(wiring.Component):
    """Reads the oldest complete bag beat by beat and offers the rounded lanes, bags in order.

    Members
    -------
    complete, elements : In; release : Out(1)
        The oldest bag, from and to `BagSlots`.
    read, beat : Out
        Read accumulator word `beat` of the oldest bag in this clock.
    results : In(ArrayLayout)
        Rounded lanes of the latest read, from the clock after it.
    pooled : Out stream of PooledBeat
    empty : Out(1)
        Nothing is in the pipeline.

    Timing: two registers; a beat read in clock t is offered from t + 2 on. One beat per clock,
    without a gap between bags. The pipeline stands still while an offered beat is not taken.
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        layout = PooledBeat(parameters)
        super().__init__(
            {
                "complete": In(1),
                "elements": In(ELEMENT_COUNT_BITS),
                "release": Out(1),
                "read": Out(1),
                "beat": Out(layout.members["beat"]),
                "results": In(layout.members["lanes"]),
                "pooled": Out(stream.Signature(layout)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.parameters.lanes
        pooled = self.pooled.payload
        advance = Signal()
        bag = Signal(BAG_NUMBER_BITS)
        left = Signal(ELEMENT_COUNT_BITS)
        last = Signal()
        m.d.comb += [
            advance.eq(~self.pooled.valid | self.pooled.ready),
            left.eq(self.elements - self.beat * lanes),
            last.eq(left <= lanes),
            self.read.eq(advance & self.complete),
            self.release.eq(self.read & last),
        ]
        with m.If(self.read):
            m.d.sync += self.beat.eq(Mux(last, 0, self.beat + 1))
            m.d.sync += bag.eq(bag + last)

        stage = Signal(
            data.StructLayout(
                {
                    "valid": 1,
                    "bag": BAG_NUMBER_BITS,
                    "beat": pooled.beat.shape(),
                    "last": 1,
                    "lanes": range(lanes + 1),
                }
            )
        )
        m.d.comb += self.empty.eq(~stage.valid & ~self.pooled.valid)
        with m.If(advance):
            m.d.sync += [
                stage.valid.eq(self.read),
                stage.bag.eq(bag),
                stage.beat.eq(self.beat),
                stage.last.eq(last),
                stage.lanes.eq(Mux(last, left, lanes)),
                self.pooled.valid.eq(stage.valid),
            ]
            with m.If(stage.valid):
                m.d.sync += [
                    pooled.bag.eq(stage.bag),
                    pooled.beat.eq(stage.beat),
                    pooled.last.eq(stage.last),
                ]
                for lane in range(lanes):
                    m.d.sync += pooled.lanes[lane].eq(
                        Mux(lane < stage.lanes, self.results[lane], 0)
                    )
        return m
