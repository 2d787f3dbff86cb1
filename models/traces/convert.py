"""From another program's identifiers to a trace: row numbers, bags, one table after another."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recspeed.models.traces.trace import Trace, TraceError

RowMap = Literal["keep", "modulo", "dense"]
"""How an identifier becomes a row: as it is, modulo the rows, or numbered by first touch."""


def map_rows(
    ids: NDArray[np.int64], how: RowMap, rows: int | None, where: str
) -> tuple[NDArray[np.int64], int]:
    """`(row numbers, rows)` of one table's identifiers, none of them negative.

    Without `rows` the table has as many as the identifiers need.

    Raises
    ------
    TraceError
        When `rows` are too few, or `modulo` has none to divide by.
    """
    if how == "modulo":
        if rows is None:
            raise TraceError(f"{where}: rows are missing; expected a number to take the modulus by")
        return ids % rows, rows
    if how == "dense":
        distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(distinct), dtype=np.int64)
        number[order] = np.arange(len(distinct))
        ids = number[inverse]
    needed = int(ids.max()) + 1 if len(ids) else 1
    if rows is not None and needed > rows:
        raise TraceError(f"{where}: the highest row is {needed - 1}; expected at most {rows - 1}")
    return ids, rows or needed


def uniform_offsets(count: int, lookups_per_bag: int) -> NDArray[np.int64]:
    """int64[bags+1]: bags of `lookups_per_bag` of `count` lookups; the last bag holds the rest."""
    if lookups_per_bag < 1:
        raise TraceError(f"{lookups_per_bag} lookups per bag; expected at least 1")
    return np.append(np.arange(0, count, lookups_per_bag, dtype=np.int64), np.int64(count))


def join_tables(
    tables: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    rows: Sequence[int],
    dim: int,
    names: Sequence[str],
) -> Trace:
    """A trace of tables `(indices, offsets)`, all of one batch.

    Raises
    ------
    TraceError
        When the tables, called `names`, have different numbers of bags.
    """
    for name, (_, offsets) in zip(names, tables, strict=True):
        if len(offsets) != len(tables[0][1]):
            raise TraceError(
                f"{name}: {len(offsets) - 1} bags; expected as many as in {names[0]}, "
                f"{len(tables[0][1]) - 1}"
            )
    starts = np.cumsum([0] + [len(indices) for indices, _ in tables])
    parts = [offsets[:-1] + start for start, (_, offsets) in zip(starts, tables, strict=False)]
    return Trace(
        indices=np.concatenate([indices for indices, _ in tables]).astype(np.int64),
        offsets=np.append(np.concatenate(parts), starts[-1]).astype(np.int64),
        rows=np.array(rows, dtype=np.int64),
        dims=np.full(len(tables), dim, dtype=np.int64),
    )
