"""Name, registers and peers of a harness of front-ends, by number of the front-end."""

from enum import IntEnum

from recspeed.models.runs.dram import TAG_LIMIT

TOPLEVEL = "front_end_harness"

TAG_BITS = (TAG_LIMIT - 1).bit_length()


class HarnessRegister(IntEnum):
    """Words of the harness's register bus (write), `REGISTER_STRIDE` apart per front-end."""

    RUN = 0
    """Starts all front-ends; that of front-end 0 alone."""
    READ_BURSTS = 1
    """Bursts that all reads of the run have."""
    WRITES = 2
    """Writes of the run."""
    OUTSTANDING = 3
    WRITE_BUFFER = 4
    REFRESH_GROUP = 5
    PER_BANK = 6
    TURNAROUND_LIMIT = 7
    ROW_HITS = 8


REGISTER_STRIDE = 16


def read_source(number: int) -> int:
    """Source peer of the reads of front-end `number`."""
    return 2 * number


def write_source(number: int) -> int:
    """Source peer of the writes of front-end `number`."""
    return 2 * number + 1


def response_sink(number: int) -> int:
    """Sink peer of the beats of front-end `number`."""
    return 2 * number


def written_sink(number: int) -> int:
    """Sink peer of the completed writes of front-end `number`."""
    return 2 * number + 1
