"""Where a channel's clocks went, in words: from performance counters to causes and the limiter."""

from collections.abc import Mapping

from recspeed.models.spec.registers import IDLE_CAUSES, Counter

DATA_BUS = "data bus"
BUSY_ENOUGH = 0.05
"""Share of clocks idle for reasons other than refresh below which the data bus is the limiter."""

CAUSE_NAMES: dict[Counter, str] = {
    Counter.DATA: "data",
    Counter.IDLE_REFRESH: "refresh",
    Counter.IDLE_TCCD_L: "tCCD_L",
    Counter.IDLE_TURNAROUND: "turnaround",
    Counter.IDLE_BANK_BUSY: "bank busy",
    Counter.IDLE_TFAW: "tFAW",
    Counter.IDLE_TRRD: "tRRD",
    Counter.IDLE_OUTSTANDING: "outstanding",
    Counter.IDLE_BACK_PRESSURE: "back-pressure",
    Counter.IDLE_NO_REQUEST: "no request",
}
"""Every class of clocks; each clock of a run is in exactly one."""

CAUSE_MEANINGS: dict[Counter, str] = {
    Counter.DATA: "a burst is on the data bus",
    Counter.IDLE_REFRESH: "an all-bank refresh is due or under way",
    Counter.IDLE_TCCD_L: "an open row could be read, but its bank group was read too recently",
    Counter.IDLE_TURNAROUND: "an open row could be read, but another stack ID was just read",
    Counter.IDLE_BANK_BUSY: "every waiting request is for a bank still busy with another row",
    Counter.IDLE_TFAW: "four activates within tFAW: the row could not be opened earlier",
    Counter.IDLE_TRRD: "the spacing between activates: the row could not be opened earlier",
    Counter.IDLE_OUTSTANDING: "the limit of bursts in flight, or a full bank queue, holds back",
    Counter.IDLE_BACK_PRESSURE: "finished bags wait for whoever takes the pooled vectors",
    Counter.IDLE_NO_REQUEST: "no lookup was offered",
}


def shares(counters: Mapping[Counter, int]) -> dict[Counter, float]:
    """Share of all clocks per class, in the order of `CAUSE_NAMES`."""
    cycles = max(1, counters[Counter.CYCLES])
    return {counter: counters[counter] / cycles for counter in CAUSE_NAMES}


def limiter(counters: Mapping[Counter, int]) -> str:
    """What held the run back: `data bus`, or the largest cause of idle clocks besides refresh."""
    idle = {cause: counters[cause] for cause in IDLE_CAUSES if cause is not Counter.IDLE_REFRESH}
    if sum(idle.values()) < BUSY_ENOUGH * counters[Counter.CYCLES]:
        return DATA_BUS
    return CAUSE_NAMES[max(idle, key=lambda cause: idle[cause])]
