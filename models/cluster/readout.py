"""Cycle model of the read-out: the oldest complete bag, beat by beat, through registers R and O.

What the beats hold is known from `pooled_vectors.py`: they come in order of bags, so that the
number of transfers says which beat is where.

Source of every rule: docs/cluster.md, "Read-out".
"""

import numpy as np
from numba import njit

from recspeed.models.lib.patterns import pattern_permits

OUTPUT = np.dtype(
    [(name, "<i8") for name in ("r_valid", "o_valid", "beats_read", "transferred", "total")]
    + [("pattern", "<u8")]
)
"""Registers of the read-out. `beats_read`: of the oldest bag. `total`: beats of all bags."""


def output(total_beats: int, pattern: int) -> np.ndarray:
    """An `OUTPUT` array of one record, as it is in clock 0."""
    registers = np.zeros(1, dtype=OUTPUT)
    registers["total"], registers["pattern"] = total_beats, pattern
    return registers


@njit(error_model="numpy")
def output_clock(out, issue, complete, t):
    """One clock of R and O; return whether a beat was transferred.

    `complete`: the oldest bag is, by the registers of `t`.
    """
    transfer = out.o_valid and pattern_permits(out.pattern, t)
    if transfer:
        out.transferred += 1
    if transfer or not out.o_valid:
        out.o_valid = out.r_valid
        out.r_valid = complete
        if complete:
            out.beats_read += 1
            if out.beats_read == issue.slot_beats[issue.oldest & (issue.slots - 1)]:
                out.beats_read = 0
                issue.oldest += 1
                issue.occupied -= 1
    return transfer
