"""What a trace looks like to a memory: pooling factors, reuse, duplicates, empty bags, order."""

from dataclasses import dataclass

import numpy as np

from recspeed.models.traces.generate import repeated
from recspeed.models.traces.trace import Trace


@dataclass(frozen=True)
class TableStatistics:
    """Figures of one table's bags.

    Attributes
    ----------
    pooling_minimum, pooling_mean, pooling_median, pooling_p99, pooling_maximum
        Lookups per bag, empty bags included.
    unique_rows
        Distinct rows that are looked up, those out of range left out.
    reuse
        Lookups in range per unique row: 1 without any reuse.
    hottest_share
        Share of the lookups in range that go to the most popular row.
    top_percent_share
        Share of them that go to the most popular 1 % of the unique rows (at least one row).
    duplicates
        Lookups whose row occurred before in the same bag.
    unsorted_bags
        Bags whose rows do not ascend.
    out_of_range
        Lookups of a row that the table does not have.
    """

    table: int
    rows: int
    dim: int
    bags: int
    lookups: int
    empty_bags: int
    pooling_minimum: int
    pooling_mean: float
    pooling_median: float
    pooling_p99: float
    pooling_maximum: int
    unique_rows: int
    reuse: float
    hottest_share: float
    top_percent_share: float
    duplicates: int
    unsorted_bags: int
    out_of_range: int


def table_statistics(trace: Trace, table: int) -> TableStatistics:
    """The figures of one table."""
    first = table * trace.batch
    lengths = trace.lengths[first : first + trace.batch]
    indices = trace.of_table(table)
    bags = np.repeat(np.arange(trace.batch), lengths)
    rows = int(trace.rows[table])
    inside = indices[(indices >= 0) & (indices < rows)]
    touches = np.sort(np.unique(inside, return_counts=True)[1])[::-1]
    total = max(1, len(inside))
    descents = (np.diff(indices) < 0) & (np.diff(bags) == 0)
    return TableStatistics(
        table=table,
        rows=rows,
        dim=int(trace.dims[table]),
        bags=trace.batch,
        lookups=len(indices),
        empty_bags=int((lengths == 0).sum()),
        pooling_minimum=int(lengths.min()),
        pooling_mean=float(lengths.mean()),
        pooling_median=float(np.median(lengths)),
        pooling_p99=float(np.percentile(lengths, 99)),
        pooling_maximum=int(lengths.max()),
        unique_rows=len(touches),
        reuse=len(inside) / max(1, len(touches)),
        hottest_share=float(touches[0]) / total if len(touches) else 0.0,
        top_percent_share=float(touches[: max(1, len(touches) // 100)].sum()) / total,
        duplicates=int(repeated(bags, indices).sum()),
        unsorted_bags=len(np.unique(bags[1:][descents])),
        out_of_range=len(indices) - len(inside),
    )


def statistics(trace: Trace) -> list[TableStatistics]:
    """The figures of every table."""
    return [table_statistics(trace, table) for table in range(trace.tables)]
