"""Performance counters of a cluster of one channel."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.register_map import Counter
from recspeed.rtl.dram.attribution import Cause

__all__ = ["COUNTED_EVENTS", "ClusterCounters"]

COUNTER_BITS = 48

COUNTED_EVENTS = (
    Counter.ACTIVATES,
    Counter.READS,
    Counter.REFRESHES,
    Counter.LOOKUPS,
    Counter.CLAMPED,
    Counter.DROPPED,
    Counter.WRITES,
)

STATUS_WORDS = (
    Counter.ERROR,
    Counter.ERROR_BAG,
    Counter.ERROR_POSITION,
    Counter.ERROR_INDEX,
)

FRONT_END_CAUSES = {
    Cause.DATA: Counter.DATA,
    Cause.REFRESH: Counter.IDLE_REFRESH,
    Cause.TCCD_L: Counter.IDLE_TCCD_L,
    Cause.TURNAROUND: Counter.IDLE_TURNAROUND,
    Cause.BANK_BUSY: Counter.IDLE_BANK_BUSY,
    Cause.TFAW: Counter.IDLE_TFAW,
    Cause.TRRD: Counter.IDLE_TRRD,
}


class ClusterCounters(wiring.Component):
    """Counts clocks, what each was spent on, and events, while `count` is 1.

    The front-end names the cause of a clock, or that it has nothing to do; rules 5 to 7 of
    docs/cluster.md, "Where the clocks go", then ask the cluster.

    Members
    -------
    count : In(1)
    cause : In(Cause)
    request_offered, output_blocked : In(1)
        A request is offered to the front-end; all bag slots are taken and the oldest bag is
        complete.
    events : In(1) for each of COUNTED_EVENTS
    values : Out(64) for each Counter
        Status words are left 0.
    """

    def __init__(self):
        super().__init__(
            {
                "count": In(1),
                "cause": In(Cause),
                "request_offered": In(1),
                "output_blocked": In(1),
                "events": In(len(COUNTED_EVENTS)),
                "values": Out(64).array(len(Counter)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        registers = {
            counter: Signal(COUNTER_BITS, name=f"count_{counter.name.lower()}")
            for counter in Counter
            if counter not in STATUS_WORDS
        }

        def increment(counter):
            return registers[counter].eq(registers[counter] + 1)

        with m.If(self.count):
            m.d.sync += increment(Counter.CYCLES)
            with m.Switch(self.cause):
                for cause, counter in FRONT_END_CAUSES.items():
                    with m.Case(cause):
                        m.d.sync += increment(counter)
                with m.Default():
                    with m.If(self.request_offered):
                        m.d.sync += increment(Counter.IDLE_OUTSTANDING)
                    with m.Elif(self.output_blocked):
                        m.d.sync += increment(Counter.IDLE_BACK_PRESSURE)
                    with m.Else():
                        m.d.sync += increment(Counter.IDLE_NO_REQUEST)
            for position, counter in enumerate(COUNTED_EVENTS):
                with m.If(self.events[position]):
                    m.d.sync += increment(counter)
        for counter, register in registers.items():
            m.d.comb += self.values[counter.value].eq(register)
        return m
