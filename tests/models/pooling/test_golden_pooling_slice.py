"""Exactness of the pooled sums: against integers, fractions and values worked out by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cluster_oracle import half_value, pooled_bits
from support.cluster_runs import uniform_run

from recspeed.models.cluster.pooled_vectors import pooled_lanes
from recspeed.models.cluster.rounding import rounded
from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.lib.exact_sums import NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, fixed_point
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.hashed_contents import FACTOR_1, FACTOR_2, SEED_FACTOR
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.table import Policy, place_tables

LARGEST_SUM = 4095 * 65504 << 24
INFINITY = float("inf")
FORMATS = {"fp16": np.float16, "fp32": np.float32}


def bits_of(values, dtype=np.float16):
    return np.array(values, dtype=dtype).view(np.uint16 if dtype == np.float16 else np.uint32)


def pool(bags, output="fp16", policy=Policy.FATAL, indices=None):
    """Pool bags of FP16 values (or bits, as uint16) in all lanes of 2-element vectors."""
    preset = memory_preset("hbm2-2000")
    values = [value for bag in bags for value in bag] or [0.0]
    column = values if isinstance(values[0], np.uint16) else bits_of(values)
    content = np.repeat(np.array(column, dtype=np.uint16)[:, None], 2, axis=1)
    lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
    run = ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(len(content), 4)], policy),
        bag_tables=np.zeros(len(bags), dtype=np.int64),
        bag_lengths=lengths,
        indices=np.arange(lengths.sum()) if indices is None else np.array(indices),
        settings=ClusterSettings(output=output),
        contents=(content,),
    )
    lanes = simulate_cluster(run).lanes
    assert np.array_equal(lanes[:, 0], lanes[:, 1])
    assert not lanes[:, 2:].any()
    return lanes[:, 0].tolist()


def test_fixed_point_of_every_finite_half():
    for bits in range(1 << 16):
        if bits >> 10 & 31 != 31:
            expected = Fraction(float(np.array(bits, dtype=np.uint16).view(np.float16))) * 2**24
            assert fixed_point(bits) == expected
            assert expected == half_value(bits) * 2**24


@pytest.mark.parametrize("output", ["fp16", "fp32"])
@given(
    sums=st.lists(
        st.one_of(
            st.integers(-LARGEST_SUM, LARGEST_SUM),
            st.integers(-(1 << 42), 1 << 42),
            st.integers(-4096, 4096),
            st.builds(
                lambda m, s, d: (m << s) + d,
                st.integers(-(1 << 26), 1 << 26),
                st.integers(0, 25),
                st.integers(-1, 1),
            ),
        ),
        min_size=1,
    )
)
def test_rounding_equals_fractions(output, sums):
    flags = np.zeros(len(sums), dtype=np.uint8)
    expected = [pooled_bits(Fraction(total, 1 << 24), frozenset(), output) for total in sums]
    assert rounded(np.array(sums, dtype=np.int64), flags, output).tolist() == expected


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (2049, 2048),  # a tie between 2048 and 2050: the even significand
        (2051, 2052),
        (2049 + Fraction(1, 1 << 24), 2050),  # just above the tie
        (-2049, -2048),
        (65519, 65504),  # the last below the tie of the largest number and infinity
        (65520, INFINITY),
        (65520 - Fraction(1, 1 << 24), 65504),
        (-65520, -INFINITY),
        (Fraction(1, 1 << 24), Fraction(1, 1 << 24)),
        (Fraction(1023, 1 << 24), Fraction(1023, 1 << 24)),  # the largest subnormal
        (Fraction(-1, 1 << 24), Fraction(-1, 1 << 24)),
    ],
)
def test_rounding_to_fp16_by_hand(total, expected):
    units = np.array([int(total * (1 << 24))])
    bits = rounded(units, np.zeros(1, dtype=np.uint8), "fp16")
    assert bits.tolist() == bits_of([float(expected)]).tolist()


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ((1 << 24) + 1, 1 << 24),
        ((1 << 24) + 3, (1 << 24) + 4),
        ((1 << 24) + 1 + Fraction(1, 1 << 24), (1 << 24) + 2),
        (-((1 << 24) + 1), -(1 << 24)),
        (4095 * 65504, 4095 * 65504),
        (Fraction(1, 1 << 24), Fraction(1, 1 << 24)),
    ],
)
def test_rounding_to_fp32_by_hand(total, expected):
    units = np.array([int(total * (1 << 24))])
    bits = rounded(units, np.zeros(1, dtype=np.uint8), "fp32")
    assert bits.tolist() == bits_of([float(expected)], np.float32).tolist()


@pytest.mark.parametrize("output", ["fp16", "fp32"])
def test_flags_overrule_the_sum(output):
    flags = np.arange(8, dtype=np.uint8)
    bits = rounded(np.full(8, -5 << 24), flags, output)
    nan, infinity, sign = {
        "fp16": (0x7E00, 0x7C00, 0x8000),
        "fp32": (0x7FC00000, 0x7F800000, 0x80000000),
    }[output]
    expected = [int(bits_of([-5.0], FORMATS[output])[0])]
    for flag in range(1, 8):
        both = flag & POSITIVE_INFINITY and flag & NEGATIVE_INFINITY
        if flag & NAN or both:
            expected.append(nan)
        else:
            expected.append(infinity if flag & POSITIVE_INFINITY else infinity | sign)
    assert bits.tolist() == expected


@pytest.mark.parametrize(
    ("bag", "expected"),
    [
        ([40000, 40000, -40000], 40000),  # overflows only on the way
        ([40000, 40000], INFINITY),
        ([-40000, -40000], -INFINITY),
        ([65504, 15, 1], INFINITY),
        ([65504, 15], 65504),
        ([-0.0], 0.0),
        ([-0.0, -0.0, -0.0], 0.0),
        ([1.5, -1.5], 0.0),
        ([], 0.0),
        ([INFINITY, -65504], INFINITY),
        ([1, -INFINITY], -INFINITY),
        ([INFINITY, INFINITY], INFINITY),
        ([2.0**-24] * 3 + [-(2.0**-24)], 2.0**-23),
        ([60000, 2.0**-24, -60000], 2.0**-24),  # FP32 would lose it
        ([2048, 1, 2.0**-24], 2050),  # one rounding, not three
        ([65504] * 31 + [-65504] * 30, 65504),
    ],
)
def test_bags_by_hand(bag, expected):
    # Neighbours of other values show that no bag's flags or sums reach another's.
    halves = pool([[1.0], bag, [-3.0]])
    assert halves == bits_of([1.0, expected, -3.0]).tolist()
    singles = pool([[1.0], bag, [-3.0]], output="fp32")
    exact = sum(Fraction(v) for v in bag) if all(map(math.isfinite, bag)) else expected
    assert singles == bits_of([1.0, float(exact), -3.0], np.float32).tolist()


@pytest.mark.parametrize(
    "bag",
    [
        [0x7C00, 0xFC00],
        [0x7E00],
        [0x7C01],  # a signalling NaN
        [0xFFFF, 0x7C00],
        [0x3C00, 0xFC00, 0x3C00, 0x7C00],
        [0xFE00, 0xFC00],
    ],
)
def test_every_nan_is_the_quiet_one(bag):
    bits = [np.uint16(b) for b in bag]
    assert pool([bits]) == [0x7E00]
    assert pool([bits], output="fp32") == [0x7FC00000]


def test_largest_bag_of_largest_numbers():
    total = 4095 * 65504
    assert pool([[65504] * 4095], output="fp32") == bits_of([float(total)], np.float32).tolist()
    assert pool([[-65504] * 4095]) == [0xFC00]
    tiny = pool([[2.0**-24] * 4095], output="fp32")
    assert tiny == bits_of([4095 * 2.0**-24], np.float32).tolist()
    spread = pool([[65504] * 2047 + [2.0**-24] + [-65504] * 2047], output="fp32")
    assert spread == bits_of([2.0**-24], np.float32).tolist()


def test_bag_of_which_nothing_was_issued_is_zero():
    dropped = pool([[-2.0, -2.0], [-2.0]], policy=Policy.DROP, indices=[-1, 3, 1])
    assert dropped == bits_of([0.0, -2.0]).tolist()
    assert pool([[-2.0], [1.0]], indices=[5, 0]) == [0]  # fatal: one bag, nothing issued


def test_last_vector_of_the_channel_has_the_content_of_its_address():
    """Content of the last place, worked out from the definition with Python integers."""
    for name in ("hbm2-2000", "hbm2e-3000"):
        preset, seed = memory_preset(name), 5
        run = uniform_run(preset, 64, 1, seed=seed)
        run.indices[0] = run.tables[0].rows - 1
        last_word = preset.capacity.pseudo_channel_mib * (1 << 20) // 8 - 1
        mask, elements = (1 << 64) - 1, []
        for word in range(last_word - 7, last_word + 1):
            x = (word + seed * SEED_FACTOR) * FACTOR_1 & mask
            x = (x ^ x >> 32) * FACTOR_2 & mask
            x ^= x >> 32
            for place in range(4):
                bits = x >> 16 * place & 0xFFFF
                elements.append(bits & ~0x4000 if bits & 0x7C00 == 0x7C00 else bits)
        # A single lookup comes back as it is, except that -0.0 becomes +0.0.
        elements = [0 if bits == 0x8000 else bits for bits in elements]
        assert simulate_cluster(run).lanes.ravel().tolist() == elements


def test_every_element_of_a_long_run_in_blocks():
    """More lanes than are summed at a time, against NumPy's exact integers."""
    rng = np.random.default_rng(11)
    preset = memory_preset("hbm2-2000")
    shapes = [(300, 1024), (500, 20)]
    contents = tuple(
        rng.normal(0, 100, (rows, size // 2)).astype(np.float16).view(np.uint16)
        for rows, size in shapes
    )
    bag_tables = rng.integers(0, 2, 4000)
    bag_lengths = rng.integers(0, 4, 4000)
    limits = np.array([300, 500])[np.repeat(bag_tables, bag_lengths)]
    run = ClusterRun(
        preset=preset,
        tables=place_tables(preset, shapes),
        bag_tables=bag_tables,
        bag_lengths=bag_lengths,
        indices=rng.integers(0, limits),
        contents=contents,
    )
    exact = [(content.view(np.float16).astype(np.float64) * 2**24) for content in contents]
    expected, start = [], 0
    for table, length in zip(bag_tables, bag_lengths, strict=True):
        rows = run.indices[start : start + length]
        start += length
        sums = exact[table][rows].astype(np.int64).sum(axis=0)
        halves = (sums / 2**24).astype(np.float16)
        halves[sums == 0] = 0
        padding = -len(halves) % 8
        expected.append(np.pad(halves.view(np.uint16), (0, padding)).reshape(-1, 8))
    assert np.array_equal(pooled_lanes(run), np.concatenate(expected))
