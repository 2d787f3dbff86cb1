"""Reads or writes: for which direction rows are opened and bursts are moved."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.front_end import MAXIMUM_TURNAROUND_LIMIT
from recspeed.rtl.dram.dram_bus import bits

__all__ = ["LIMIT_BITS", "ModeControl"]

LIMIT_BITS = bits(MAXIMUM_TURNAROUND_LIMIT + 1)


class ModeControl(wiring.Component):
    """Groups reads and writes for few turnarounds, with a bound on how long either side waits.

    Rows are opened for the other direction as soon as this one has nothing waiting or had its time;
    bursts follow when the open requests of this direction are finished. Both directions' rows are
    thus opened while the other's data moves.

    Members
    -------
    run : In(1)
        Clocks count from the first one in which this is 1.
    limit : In(LIMIT_BITS)
        Clocks after which a direction yields to the other one, if that has requests.
    reads_wait : In(1)
        Some read queue holds a request.
    writes_wait : In(1)
        Some write queue holds a request.
    reads_open : In(1)
        Some bank is active for a read.
    writes_open : In(1)
        Some bank is active for a write.
    open_writes : Out(1)
        Rows are opened for writes, else for reads.
    move_writes : Out(1)
        Bursts are moved for writes, else for reads.

    *Timing*: outputs are registers; they follow in the next clock.

    Source: docs/dram.md, "Mode control".
    """

    def __init__(self):
        super().__init__(
            {
                "run": In(1),
                "limit": In(LIMIT_BITS),
                "reads_wait": In(1),
                "writes_wait": In(1),
                "reads_open": In(1),
                "writes_open": In(1),
                "open_writes": Out(1),
                "move_writes": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        clocks = Signal(LIMIT_BITS)
        settled = Signal()
        own_wait = Signal()
        other_wait = Signal()
        own_open = Signal()
        m.d.comb += [
            settled.eq(self.open_writes == self.move_writes),
            own_wait.eq(Mux(self.move_writes, self.writes_wait, self.reads_wait)),
            other_wait.eq(Mux(self.move_writes, self.reads_wait, self.writes_wait)),
            own_open.eq(Mux(self.move_writes, self.writes_open, self.reads_open)),
        ]
        with m.If(self.run & ~clocks.all()):
            m.d.sync += clocks.eq(clocks + 1)
        with m.If(settled & other_wait & (~own_wait | (clocks >= self.limit))):
            m.d.sync += self.open_writes.eq(~self.open_writes)
        with m.Elif(~settled & ~own_open):
            m.d.sync += [self.move_writes.eq(self.open_writes), clocks.eq(0)]
        return m
