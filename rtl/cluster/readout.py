"""Read-out: finished bags leave the accumulators as a stream of rounded beats."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.rtl.cluster.pooled_beat import PooledBeat, rounded_lanes
from recspeed.rtl.pooling.lookup_layouts import BAG_NUMBER_BITS, ELEMENT_COUNT_BITS
from recspeed.rtl.pooling.partial_sums import PartialRead
from recspeed.rtl.pooling.slot_ports import OldestBag

__all__ = ["Readout"]


class Readout(wiring.Component):
    """Asks for the sums of the oldest complete bag, beat by beat, and offers them, bags in order.

    Members
    -------
    oldest : In(OldestBag)
        From the bag slots.
    reads : Out(stream.Signature(PartialRead))
        The beats that are asked for. One is offered only in a clock in which it is taken.
    rounded : In(stream.Signature(ArrayLayout(32, lanes)))
        The answers, rounded, in order.
    pooled : Out(stream.Signature(PooledBeat))
        The pooled vectors.
    empty : Out(1)
        Nothing is in the pipeline.

    *Timing*: a beat that is asked for in clock t is answered in t + 1, when its answer is register
    R, and offered from t + 2 on in register O. One beat per clock, without a gap between bags. The
    pipeline stands still while an offered beat is not taken.

    *Undefined*: an answer that comes later than one clock after its read.

    Source: docs/cluster.md, "Read-out".
    """

    def __init__(self, parameters: ClusterParameters):
        self.parameters = parameters
        super().__init__(
            {
                "oldest": In(OldestBag(parameters)),
                "reads": Out(stream.Signature(PartialRead(parameters))),
                "rounded": In(stream.Signature(rounded_lanes(parameters))),
                "pooled": Out(stream.Signature(PooledBeat(parameters))),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.parameters.lanes
        pooled, oldest, reads = self.pooled.payload, self.oldest, self.reads
        advance = Signal()
        beat = Signal.like(pooled.beat)
        bag = Signal(BAG_NUMBER_BITS)
        left = Signal(ELEMENT_COUNT_BITS)
        last = Signal()
        read = Signal()
        m.d.comb += [
            advance.eq(~self.pooled.valid | self.pooled.ready),
            left.eq(oldest.elements - beat * lanes),
            last.eq(left <= lanes),
            reads.valid.eq(advance & oldest.complete),
            reads.payload.slot.eq(oldest.slot),
            reads.payload.beat.eq(beat),
            read.eq(reads.valid & reads.ready),
            oldest.release.eq(read & last),
            self.rounded.ready.eq(advance),
        ]
        with m.If(read):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))
            m.d.sync += bag.eq(bag + last)

        # What belongs to the answer that comes in the next clock.
        asked = Signal(
            data.StructLayout(
                {
                    "bag": BAG_NUMBER_BITS,
                    "beat": pooled.beat.shape(),
                    "last": 1,
                    "lanes": range(lanes + 1),
                }
            )
        )
        m.d.comb += self.empty.eq(~self.rounded.valid & ~self.pooled.valid)
        with m.If(advance):
            m.d.sync += [
                asked.bag.eq(bag),
                asked.beat.eq(beat),
                asked.last.eq(last),
                asked.lanes.eq(Mux(last, left, lanes)),
                self.pooled.valid.eq(self.rounded.valid),
            ]
            with m.If(self.rounded.valid):
                m.d.sync += [
                    pooled.bag.eq(asked.bag),
                    pooled.beat.eq(asked.beat),
                    pooled.last.eq(asked.last),
                ]
                for lane in range(lanes):
                    m.d.sync += pooled.lanes[lane].eq(
                        Mux(lane < asked.lanes, self.rounded.payload[lane], 0)
                    )
        return m
