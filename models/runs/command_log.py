"""The command log: every command of a run, with its clock."""

from enum import IntEnum

import numpy as np


class CommandCode(IntEnum):
    """Commands of the log."""

    ACT = 0
    RD = 1
    RDA = 2
    REF = 3
    WR = 4
    WRA = 5
    REFPB = 6


COMMAND_LOG = np.dtype(
    [("cycle", "<i8"), ("row", "<u4"), ("column", "<u2"), ("bank", "u1"), ("command", "u1")]
)
"""One command: bus clock, DRAM row (of a column command: the open row), burst, flat bank, code.

Fields that a command does not have are 0: ACT has no column, REFPB neither row nor column; REF has
the first flat bank of its rank. Sorted by clock; in one clock the row command (ACT, REF, REFPB)
comes before the column command.
"""
