"""Statistics of traces, against counting by hand."""

from collections import Counter

import numpy as np
import pytest

from recspeed.models.traces.distributions import Uniform, Zipf
from recspeed.models.traces.generate import Pooling, generate
from recspeed.models.traces.statistics import statistics, table_statistics
from recspeed.models.traces.trace import Trace


def int64(*values):
    return np.array(values, dtype=np.int64)


def test_every_figure_of_a_small_table():
    trace = Trace(
        indices=int64(5, 5, 1, -1, 2, 9, 10, 5),
        offsets=int64(0, 0, 4, 7, 8, 8),
        rows=int64(10),
        dims=int64(16),
    )
    figures = table_statistics(trace, 0)
    assert (figures.rows, figures.dim, figures.bags, figures.lookups) == (10, 16, 5, 8)
    assert figures.empty_bags == 2
    assert (figures.pooling_minimum, figures.pooling_maximum) == (0, 4)
    assert figures.pooling_mean == pytest.approx(1.6)
    assert figures.pooling_median == 1
    assert figures.out_of_range == 2
    assert figures.unique_rows == 4
    assert figures.reuse == pytest.approx(6 / 4)
    assert figures.hottest_share == pytest.approx(3 / 6)
    assert figures.top_percent_share == pytest.approx(3 / 6)
    assert figures.duplicates == 1
    assert figures.unsorted_bags == 1


@pytest.mark.parametrize("law", [Uniform(), Zipf(s=1.3)])
def test_random_tables_against_plain_counting(law):
    trace = generate([(50, 4), (400, 8)], 60, Pooling.parse("0:30"), law, empty=0.1, seed=8)
    for table, figures in enumerate(statistics(trace)):
        bags = [
            trace.indices[trace.offsets[bag] : trace.offsets[bag + 1]].tolist()
            for bag in range(table * 60, table * 60 + 60)
        ]
        touches = Counter(row for bag in bags for row in bag)
        lookups = sum(touches.values())
        assert figures.lookups == lookups
        assert figures.empty_bags == sum(not bag for bag in bags)
        assert figures.unique_rows == len(touches)
        assert figures.reuse == pytest.approx(lookups / len(touches))
        assert figures.hottest_share == pytest.approx(max(touches.values()) / lookups)
        top = touches.most_common(max(1, len(touches) // 100))
        assert figures.top_percent_share == pytest.approx(sum(n for _, n in top) / lookups)
        assert figures.duplicates == sum(len(bag) - len(set(bag)) for bag in bags)
        assert figures.unsorted_bags == sum(bag != sorted(bag) for bag in bags)
        assert figures.out_of_range == 0


def test_only_empty_bags():
    trace = Trace(int64(), int64(0, 0, 0), int64(10), int64(4))
    figures = table_statistics(trace, 0)
    assert (figures.lookups, figures.unique_rows, figures.duplicates) == (0, 0, 0)
    assert (figures.empty_bags, figures.reuse, figures.hottest_share) == (2, 0.0, 0.0)
    assert (figures.pooling_minimum, figures.pooling_maximum, figures.unsorted_bags) == (0, 0, 0)
