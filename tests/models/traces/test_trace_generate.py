"""Generated traces: their laws, their seeds, and what dlrm's generators cannot make."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recspeed.models.traces.distributions import (
    StackProfile,
    Uniform,
    Zipf,
    scatter,
    zipf_ranks,
)
from recspeed.models.traces.generate import Pooling, generate, repeated
from recspeed.models.traces.trace import TraceError, to_arrays

EIGHTY = Pooling.parse("80")


def same(one, other) -> bool:
    a, b = to_arrays(one), to_arrays(other)
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def bags(trace):
    return [
        trace.indices[start:end].tolist()
        for start, end in zip(trace.offsets[:-1], trace.offsets[1:], strict=True)
    ]


def test_same_seed_same_trace_and_another_seed_another():
    shapes = [(1000, 32), (5000, 64)]
    make = lambda seed: generate(shapes, 20, EIGHTY, Zipf(), contents=True, seed=seed)  # noqa: E731  a def would be longer than the test
    assert same(make(3), make(3))
    assert not same(make(3), make(4))


def test_tables_have_streams_of_their_own():
    one = generate([(1000, 32)], 20, EIGHTY, Uniform(), seed=1)
    two = generate([(1000, 32), (1000, 32)], 20, EIGHTY, Uniform(), seed=1)
    assert np.array_equal(two.of_table(0), one.of_table(0))
    assert not np.array_equal(two.of_table(0), two.of_table(1))


def test_uniform_rows_are_uniform_and_reach_both_ends():
    trace = generate([(50, 2)], 2000, EIGHTY, Uniform(), seed=0)
    counts = np.bincount(trace.indices, minlength=50)
    expected = len(trace.indices) / 50
    # 49 degrees of freedom: 99.99 % of all samples lie below 96.
    assert ((counts - expected) ** 2 / expected).sum() < 96
    assert trace.indices.min() == 0
    assert trace.indices.max() == 49


@pytest.mark.parametrize(
    ("q", "s"), [(0, 1.0), (0, 1.05), (2.7, 1.3), (0, 0.6), (-0.5, 2.5), (10, 4)]
)
@pytest.mark.parametrize("rows", [2, 3, 40])
def test_zipf_ranks_follow_their_law(q, s, rows):
    count = 200_000
    ranks = zipf_ranks(np.random.default_rng(5), rows, q, s, count)
    probability = (np.arange(rows) + 1.0 + q) ** -s
    expected = count * probability / probability.sum()
    counts = np.bincount(ranks, minlength=rows)
    assert len(counts) == rows
    likely = expected >= 5
    statistic = ((counts - expected) ** 2 / expected)[likely].sum()
    degrees = likely.sum() - 1
    # Wilson and Hilferty's bound of the chi-squared law at 99.99 %.
    limit = (
        degrees * (1 - 2 / (9 * max(degrees, 1)) + 3.72 * np.sqrt(2 / (9 * max(degrees, 1)))) ** 3
    )
    assert statistic <= limit


def test_zipf_of_one_row_and_of_a_huge_table():
    generator = np.random.default_rng(0)
    assert zipf_ranks(generator, 1, 0, 1.05, 10).tolist() == [0] * 10
    ranks = zipf_ranks(generator, 1 << 40, 0, 0.5, 100_000)
    assert ranks.min() >= 0
    assert ranks.max() < 1 << 40
    assert ranks.max() > 1 << 38


@pytest.mark.parametrize(("q", "s"), [(0, 0), (0, -1), (-1, 1), (0, float("nan"))])
def test_zipf_refuses_impossible_parameters(q, s):
    with pytest.raises(TraceError, match="expected q > -1 and s > 0"):
        Zipf(q, s)


@given(st.integers(1, 3000), st.integers(0, 1 << 62))
@settings(max_examples=50)
def test_scatter_is_one_to_one(rows, key):
    scattered = scatter(np.arange(rows), rows, key)
    assert np.array_equal(np.sort(scattered), np.arange(rows))


def test_popular_rows_are_no_neighbours_and_differ_per_table():
    trace = generate([(100_000, 2)] * 2, 500, EIGHTY, Zipf(s=1.2), seed=0)
    hot = []
    for table in range(2):
        rows, counts = np.unique(trace.of_table(table), return_counts=True)
        hot.append(rows[np.argsort(counts)[-20:]])
        assert np.diff(np.sort(hot[-1])).min() > 1
    assert not np.array_equal(np.sort(hot[0]), np.sort(hot[1]))


def test_stack_distances_follow_the_profile():
    profile = StackProfile(None, np.array([0, 1, 2, 5]), np.array([0.2, 0.5, 0.9, 1.0]))
    drawn = profile.sampler(np.random.default_rng(2), 1 << 30)(20_000)
    stack: list[int] = []
    distances = []
    for row in drawn.tolist():
        distances.append(len(stack) - stack.index(row) if row in stack else 0)
        if row in stack:
            stack.remove(row)
        stack.append(row)
    seen = np.bincount(distances, minlength=6)[[0, 1, 2, 5]] / len(drawn)
    assert np.abs(seen - [0.2, 0.3, 0.4, 0.1]).max() < 0.015
    assert set(distances) == {0, 1, 2, 5}


def test_stack_profile_touches_its_ids_in_order_then_the_oldest():
    profile = StackProfile(np.array([7, 3, 5]), np.array([0]), np.array([1.0]))
    drawn = profile.sampler(np.random.default_rng(0), 8)(7)
    assert drawn.tolist() == [7, 3, 5, 7, 3, 5, 7]


@pytest.mark.parametrize(
    ("ids", "distances", "cumulative", "message"),
    [
        (None, [], [], "0 with 0 cumulative probabilities"),
        (None, [0, 1], [1.0], "2 with 1 cumulative probabilities"),
        (None, [1, 2], [0.5, 1.0], "expected distances that ascend from 0"),
        (None, [0, 2, 2], [0.1, 0.5, 1.0], "expected distances that ascend from 0"),
        (None, [0, 1], [0.0, 1.0], "expected the first above 0"),
        (None, [0, 1, 2], [0.6, 0.5, 1.0], "no decrease"),
        (None, [0, 1], [0.5, 0.9], "the last is 0.9; expected 1"),
    ],
)
def test_stack_profile_refuses(ids, distances, cumulative, message):
    with pytest.raises(TraceError, match=message):
        StackProfile(ids, np.array(distances), np.array(cumulative))


def test_stack_profile_refuses_ids_beyond_the_table():
    profile = StackProfile(np.array([7, 3, 5]), np.array([0]), np.array([1.0]))
    with pytest.raises(TraceError, match="ids 3 to 7; expected 0 to 6, the table's rows"):
        profile.sampler(np.random.default_rng(0), 7)


@pytest.mark.parametrize(
    ("text", "lowest", "highest", "mean"),
    [
        ("80", 80, 80, 80),
        ("0", 0, 0, 0),
        ("1:3", 1, 3, 2),
        ("poisson:20", 0, 60, 20),
        ("geometric:8", 1, 200, 8),
    ],
)
def test_pooling_factors(text, lowest, highest, mean):
    drawn = Pooling.parse(text).draw(np.random.default_rng(0), 20_000)
    assert drawn.dtype == np.int64
    assert drawn.min() >= lowest
    assert drawn.max() <= highest
    assert abs(drawn.mean() - mean) <= 0.03 * mean


@pytest.mark.parametrize("text", ["", "-1", "3:1", "80.5", "poisson", "geometric:0.5", "zipf:3"])
def test_pooling_factor_is_refused(text):
    with pytest.raises(TraceError, match="expected N, LOW:HIGH, poisson:MEAN or geometric:MEAN"):
        Pooling.parse(text)


def test_duplicates_disorder_and_empty_bags_occur():
    trace = generate([(100, 2)], 500, EIGHTY, Uniform(), empty=0.25, seed=0)
    lists = bags(trace)
    assert any(len(set(bag)) < len(bag) for bag in lists)
    assert any(bag != sorted(bag) for bag in lists)
    assert 90 < sum(not bag for bag in lists) < 160


def test_only_empty_bags():
    trace = generate([(100, 2), (5, 4)], 6, EIGHTY, Uniform(), empty=1.0, seed=0)
    assert len(trace.indices) == 0
    assert trace.offsets.tolist() == [0] * 13


def test_one_row_a_thousand_times():
    trace = generate([(1, 2)], 2, Pooling.parse("1000"), Uniform(), seed=0)
    assert bags(trace) == [[0] * 1000] * 2


@pytest.mark.parametrize("law", [Uniform(), Zipf(s=1.1)])
def test_distinct_and_ascending_bags(law):
    trace = generate(
        [(400, 2)], 100, Pooling.parse("20:60"), law, distinct=True, ascending=True, seed=3
    )
    for bag in bags(trace):
        assert bag == sorted(set(bag))


def test_distinct_rows_that_do_not_exist():
    with pytest.raises(TraceError, match="table 0: a bag of 80 distinct rows; expected at most"):
        generate([(79, 2)], 1, EIGHTY, Uniform(), distinct=True)


def test_distinct_rows_too_skewed():
    with pytest.raises(TraceError, match="no bags of distinct rows within 200 rounds"):
        generate([(100, 2)], 1, EIGHTY, Zipf(s=9), distinct=True)


def test_rows_beyond_32_bits():
    # Row 67,108,864 of a 64 B table starts at 4 GiB; the largest table has 2^40 rows.
    trace = generate([((1 << 26) + 1, 32), (1 << 40, 32)], 100, EIGHTY, Uniform(), seed=0)
    assert trace.of_table(1).max() > 1 << 39
    assert trace.of_table(1).min() >= 0
    assert trace.of_table(0).max() <= 1 << 26
    # Every residue of a power of two occurs: no bit is stuck.
    assert len(np.unique(trace.of_table(1) >> 35)) == 32


def test_contents_are_carried_in_shape():
    trace = generate([(10, 4), (3, 8)], 1, Pooling.parse("1"), Uniform(), contents=True, seed=0)
    assert {table: content.shape for table, content in trace.contents.items()} == {
        0: (10, 4),
        1: (3, 8),
    }
    assert all(np.isfinite(content).all() for content in trace.contents.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch of 0 samples; expected at least 1"),
        ({"empty": 1.5}, "share of empty bags 1.5; expected 0 to 1"),
        ({"shapes": [(0, 2)]}, "table 0: 0 rows of 2 elements; expected at least 1 of each"),
    ],
)
def test_impossible_arguments(arguments, message):
    given_arguments = {"shapes": [(10, 2)], "batch": 2, "empty": 0.0} | arguments
    with pytest.raises((TraceError, ValueError), match=message):
        generate(
            given_arguments["shapes"],
            given_arguments["batch"],
            EIGHTY,
            Uniform(),
            empty=given_arguments["empty"],
        )


@given(st.data())
def test_repeated_marks_every_later_occurrence(data):
    count = data.draw(st.integers(0, 30))
    numbers = np.sort(
        np.array(
            data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)), dtype=np.int64
        )
    )
    rows = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), dtype=np.int64
    )
    seen: set[tuple[int, int]] = set()
    expected = []
    for pair in zip(numbers.tolist(), rows.tolist(), strict=True):
        expected.append(pair in seen)
        seen.add(pair)
    assert repeated(numbers, rows).tolist() == expected
