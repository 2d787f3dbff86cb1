"""Functional model of a cluster's result: the exact sums of every bag, added up, then rounded once.

Source of every rule: docs/cluster.md, "Accumulators" and "Rounding".
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.cluster.rounding import rounded
from recspeed.models.pooling.pooling_slice import LANES, partial_sums
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.table import Policy

_BLOCK_WORDS = 1 << 19
"""Lane sums that are held at a time."""
_FATAL = int(Policy.FATAL)


@njit(cache=True, error_model="numpy")
def first_fatal(rows, policies, bag_tables, bag_lengths, indices):
    """`(bag, position)` of the first fatal lookup, or `(-1, 0)`."""
    start = 0
    for bag in range(len(bag_lengths)):
        table = bag_tables[bag]
        if policies[table] == _FATAL:
            for position in range(bag_lengths[bag]):
                if not 0 <= indices[start + position] < rows[table]:
                    return bag, position
        start += bag_lengths[bag]
    return -1, 0


def pooled_lanes(run: ClusterRun) -> NDArray[np.uint32]:
    """The lanes of every beat that the run transfers on `pooled`: uint32[beats, 8], bag by bag.

    After a fatal lookup the bags up to that lookup's follow, that one with what it had issued.
    """
    rows = np.array([table.rows for table in run.tables], dtype=np.int64)
    policies = np.array([table.policy for table in run.tables], dtype=np.int64)
    lengths = run.bag_lengths
    starts = np.cumsum(lengths) - lengths
    bag, position = first_fatal(rows, policies, run.bag_tables, lengths, run.indices)
    if bag >= 0:
        lengths = lengths[: bag + 1].copy()
        lengths[bag] = position
    beats = np.array([table.beats for table in run.tables], dtype=np.int64)
    ends = np.cumsum(beats[run.bag_tables[: len(lengths)]]) * LANES
    lanes = np.empty((int(ends[-1]) // LANES if len(ends) else 0, LANES), dtype=np.uint32)
    first = 0
    while first < len(lengths):
        base = int(ends[first - 1]) if first else 0
        after = max(first + 1, int(np.searchsorted(ends, base + _BLOCK_WORDS, side="right")))
        block = slice(first, after)
        places = np.concatenate(([0], ends[block][:-1] - base))
        size = int(ends[after - 1]) - base
        sums, flags = partial_sums(
            run, run.bag_tables[block], starts[block], lengths[block], places, size
        )
        lanes.reshape(-1)[base : base + size] = rounded(sums, flags, run.settings.output)
        first = after
    return lanes
