"""The memory channel's register map: word addresses, and what each word holds.

Registers are written before `RUN` is set and not changed until the run is done.
"""

from enum import IntEnum

ADDRESS_BITS = 12


class Register(IntEnum):
    """Control words (write)."""

    RUN = 0x000
    """1 starts the run; clock 0 is the first clock in which it is seen set."""
    BAGS = 0x001
    """Bags of the run."""
    OUTSTANDING = 0x002
    """Bursts in flight at most."""
    REFRESH_GROUP = 0x003
    """All-bank refreshes per group, 0 for no refresh of either kind."""
    SLOTS = 0x004
    """Bag slots in use."""
    SLOT_SHIFT = 0x005
    """log2 of the accumulator words per bag slot."""
    OUTPUT_FP32 = 0x006
    """1 for FP32 results, 0 for FP16."""
    PER_BANK = 0x007
    """1 for per-bank refresh in place of all-bank refresh."""
    ROW_HITS = 0x008
    """Requests per activation at most; 0 closes every row after one request."""


TABLE_BASE = 0x100
TABLE_STRIDE = 8


class TableRegister(IntEnum):
    """Words of one table descriptor, at `TABLE_BASE + TABLE_STRIDE * table` (write)."""

    ROWS = 0
    ELEMENTS = 1
    BURSTS = 2
    BASE_ROW = 3
    ROW_SPAN = 4
    POLICY = 5


COUNTER_BASE = 0x800


class Counter(IntEnum):
    """Performance counters and status, at `COUNTER_BASE + counter` (read).

    `CYCLES` = `DATA` + the nine idle causes, always.
    """

    CYCLES = 0
    DATA = 1
    """Clocks in which a burst takes the data bus, counted when its read command is decided."""
    IDLE_REFRESH = 2
    IDLE_TCCD_L = 3
    IDLE_TURNAROUND = 4
    IDLE_BANK_BUSY = 5
    IDLE_TFAW = 6
    IDLE_TRRD = 7
    IDLE_OUTSTANDING = 8
    IDLE_BACK_PRESSURE = 9
    IDLE_NO_REQUEST = 10
    ACTIVATES = 11
    READS = 12
    REFRESHES = 13
    LOOKUPS = 14
    """Indices taken, whatever became of them."""
    CLAMPED = 15
    DROPPED = 16
    ERROR = 17
    """1 after a fatal lookup."""
    ERROR_BAG = 18
    ERROR_POSITION = 19
    """Position of the fatal lookup within its bag, from 0."""
    ERROR_INDEX = 20
    """The fatal index, as an unsigned 64-bit word."""
    WRITES = 21
    """Write bursts; a memory channel has none."""


IDLE_CAUSES = tuple(counter for counter in Counter if counter.name.startswith("IDLE_"))
