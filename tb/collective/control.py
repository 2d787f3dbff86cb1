"""Name, registers and numbers of wires of the testbench of n engines."""

from enum import IntEnum

TOPLEVEL = "collective_top"


class Control(IntEnum):
    """Words of the harness's register bus (write)."""

    RUN = 0
    """1 starts the run; clock 0 is the first clock in which it is seen set."""
    QUIESCE = 1
    """Clocks to go on after every chip has finished."""
    LIMIT = 2
    """Clock in which a run ends that has not finished by itself."""


def wire_number(source: int, target: int, chips: int) -> int:
    """Number of the wire between two ranks in the harness."""
    return source * chips + target
