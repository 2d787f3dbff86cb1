"""Where a channel's clocks went, in words: from performance counters to causes and the limiter."""

from collections.abc import Mapping

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter

DATA_BUS = "data bus"
SLACK = 0.05
"""Share of the clocks outside of refresh that a saturated resource may be idle."""

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
    Counter.IDLE_REFRESH: "a refresh is due or under way",
    Counter.IDLE_TCCD_L: "a row is open, but its bank group moved a burst too recently",
    Counter.IDLE_TURNAROUND: "the data bus turns: between reads and writes, ranks, or stack IDs",
    Counter.IDLE_BANK_BUSY: "every waiting request is for a bank still busy with another row",
    Counter.IDLE_TFAW: "four activates within tFAW: the row could not be opened earlier",
    Counter.IDLE_TRRD: "the spacing between activates: the row could not be opened earlier",
    Counter.IDLE_OUTSTANDING: "the limit of bursts in flight, or a full bank queue, holds back",
    Counter.IDLE_BACK_PRESSURE: "finished bags wait for whoever takes the pooled vectors",
    Counter.IDLE_NO_REQUEST: "nothing was offered",
}


def shares(counters: Mapping[Counter, int]) -> dict[Counter, float]:
    """Share of all clocks per class, in the order of `CAUSE_NAMES`."""
    cycles = max(1, counters[Counter.CYCLES])
    return {counter: counters.get(counter, 0) / cycles for counter in CAUSE_NAMES}


def limiter(counters: Mapping[Counter, int], preset: MemoryPreset) -> str:
    """What held the run back: a saturated data bus, saturated activates, or the largest idle cause.

    Activates are saturated if there were as many as tRRD_S and tFAW permit, of every rank, outside
    of refresh. It
    is asked first because idle clocks alone mislead there: when rows come slowly, the clocks
    between two bursts of one vector count as tCCD_L although nothing would be faster without it.
    """
    idle = {
        cause: counters.get(cause, 0) for cause in IDLE_CAUSES if cause is not Counter.IDLE_REFRESH
    }
    cycles = counters[Counter.CYCLES]
    if sum(idle.values()) < SLACK * cycles:
        return DATA_BUS
    four_activates = max(preset.clocks.tFAW, 4 * preset.clocks.tRRD_S)
    available = cycles - counters[Counter.IDLE_REFRESH]
    permitted = 4 * available * preset.organization.ranks
    if counters[Counter.ACTIVATES] * four_activates > (1 - SLACK) * permitted:
        return CAUSE_NAMES[
            Counter.IDLE_TFAW if preset.clocks.tFAW == four_activates else Counter.IDLE_TRRD
        ]
    return CAUSE_NAMES[max(idle, key=lambda cause: idle[cause])]
