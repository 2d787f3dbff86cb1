"""LRU stack distances of a trace: how long ago, in other rows, each row was touched last."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.traces.distributions import StackProfile
from recspeed.models.traces.trace import TraceError


def stack_distances(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n] distance of each lookup: 0 for a first touch, d for the d-th latest touched row."""
    _, numbers = np.unique(rows, return_inverse=True)
    return _distances(numbers.astype(np.int64), int(numbers.max(initial=-1)) + 1)


def stack_profile(rows: NDArray[np.int64]) -> StackProfile:
    """The stack-distance profile of one table's lookups, in their order.

    Raises
    ------
    TraceError
        When there is no lookup.
    """
    if len(rows) == 0:
        raise TraceError("no lookup; expected at least one to take stack distances of")
    distances, counts = np.unique(stack_distances(rows), return_counts=True)
    ids, first = np.unique(rows, return_index=True)
    cumulative = np.cumsum(counts) / len(rows)
    return StackProfile(ids[np.argsort(first)], distances, cumulative)


@njit(cache=True)
def _distances(numbers: np.ndarray, distinct: int) -> np.ndarray:
    """A Fenwick tree over positions holds 1 where a row was touched last; O(n log n)."""
    count = len(numbers)
    tree = np.zeros(count + 1, dtype=np.int64)
    latest = np.full(distinct, -1, dtype=np.int64)
    result = np.zeros(count, dtype=np.int64)
    touched = 0
    for position in range(count):
        before = latest[numbers[position]]
        if before < 0:
            touched += 1
        else:
            older = 0
            place = before  # rows last touched before this one: positions 0 to before - 1
            while place > 0:
                older += tree[place]
                place -= place & -place
            result[position] = touched - older
            place = before + 1
            while place <= count:
                tree[place] -= 1
                place += place & -place
        place = position + 1
        while place <= count:
            tree[place] += 1
            place += place & -place
        latest[numbers[position]] = position
    return result
