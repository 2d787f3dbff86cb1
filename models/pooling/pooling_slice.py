"""Functional model of the pooling slice: exact sums of FP16 vectors, rounded once.

An FP16 number is an integer multiple of 2^-24 below 2^16, so that an int64 holds the sum of any bag
exactly (4095 * 65504 * 2^24 < 2^52), and a float64 too: the sum's conversion to FP16 or FP32
is the only rounding, to nearest even (IEEE 754).
"""

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.hashed_contents import FACTOR_1, FACTOR_2, SEED_FACTOR
from recspeed.models.spec.table import Policy

LANES = 8
NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = 1, 2, 4
"""Sticky flags of a lane."""

_BLOCK_WORDS = 1 << 19
"""Lane sums that are held at a time."""
_FATAL, _DROP = int(Policy.FATAL), int(Policy.DROP)
_WORD_ELEMENTS = 4


@njit(cache=True, error_model="numpy")
def fixed_point(bits):
    """A finite FP16 bit pattern as an integer in units of 2^-24; works on arrays' elements."""
    exponent = (bits >> 10) & 31
    normal = np.int64(exponent != 0)
    magnitude = ((bits & 1023) | (normal << 10)) << (exponent - normal)
    sign = -((bits >> 15) & 1)
    return (magnitude ^ sign) - sign


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


def _compile(fingerprint: int):
    seed_factor, factor_1, factor_2 = (
        np.uint64(SEED_FACTOR),
        np.uint64(FACTOR_1),
        np.uint64(FACTOR_2),
    )

    @njit(error_model="numpy")
    def add_hashed(word, words, seed, lanes):
        """Add the `words` words of hashed content from number `word` on to `lanes`."""
        x = (np.uint64(word) + seed * seed_factor) * factor_1
        for place in range(words):
            y = x ^ (x >> np.uint64(32))
            y *= factor_2
            y ^= y >> np.uint64(32)
            x += factor_1
            for element in range(_WORD_ELEMENTS):
                bits = np.int64((y >> np.uint64(16 * element)) & np.uint64(0xFFFF))
                if bits & 0x7C00 == 0x7C00:
                    bits &= ~0x4000
                lanes[place * _WORD_ELEMENTS + element] += fixed_point(bits)

    @njit(cache=True, error_model="numpy")
    def pool_hashed(shape, placement, policy, seed, bags, starts, lengths, places, indices, sums):
        """Add the lookups of `bags`, all of one table with hashed content, to `sums`.

        `shape`: rows, elements, words of the table's vectors; `placement`: base row, row span,
        bursts of a vector, banks, bursts of a DRAM row, words of a burst; `places`: each bag's
        first sum.
        """
        _ = fingerprint
        rows, elements, words = shape
        base_row, row_span, bursts, banks, row_bursts, burst_words = placement
        for bag in bags:
            lanes = sums[places[bag] : places[bag] + words * _WORD_ELEMENTS]
            for lookup in range(starts[bag], starts[bag] + lengths[bag]):
                vector = indices[lookup]
                if not 0 <= vector < rows:
                    if policy == _DROP:
                        continue
                    vector = 0
                number = vector // banks
                place = number // row_span
                row = base_row + number - place * row_span
                bank = vector - number * banks
                burst = (row * banks + bank) * row_bursts + place * bursts
                add_hashed(burst * burst_words, words, seed, lanes)
            # What follows the vector in its last word is another's, or padding.
            lanes[elements:] = 0

    @njit(cache=True, error_model="numpy")
    def pool_array(content, policy, bags, starts, lengths, places, indices, sums, flags):
        """Add the lookups of `bags`, all of one table of uint16[rows, elements], to `sums`."""
        _ = fingerprint
        rows, elements = content.shape
        for bag in bags:
            for lookup in range(starts[bag], starts[bag] + lengths[bag]):
                vector = indices[lookup]
                if not 0 <= vector < rows:
                    if policy == _DROP:
                        continue
                    vector = 0
                for element in range(elements):
                    bits = np.int64(content[vector, element])
                    place = places[bag] + element
                    if bits & 0x7C00 != 0x7C00:
                        sums[place] += fixed_point(bits)
                    elif bits & 0x03FF:
                        flags[place] |= NAN
                    else:
                        flags[place] |= NEGATIVE_INFINITY if bits & 0x8000 else POSITIVE_INFINITY

    return pool_hashed, pool_array


_pool_hashed, _pool_array = _compile(sources_fingerprint())


def rounded(
    sums: NDArray[np.int64], flags: NDArray[np.uint8], output: Literal["fp16", "fp32"]
) -> NDArray[np.uint32]:
    """Bit patterns of exact sums in units of 2^-24: FP16 in the low half of each word, or FP32.

    A sum of zero is +0.0. Flags overrule the sum: NaN with `NAN` or infinities of both signs.
    """
    exact = sums.astype(np.float64) * 2.0**-24
    if output == "fp16":
        with np.errstate(over="ignore"):
            bits = exact.astype(np.float16).view(np.uint16).astype(np.uint32)
        infinity, sign, quiet_nan = 0x7C00, 0x8000, 0x7E00
    else:
        bits = exact.astype(np.float32).view(np.uint32)
        infinity, sign, quiet_nan = 0x7F800000, 0x80000000, 0x7FC00000
    if flags.any():
        positive, negative = flags & POSITIVE_INFINITY != 0, flags & NEGATIVE_INFINITY != 0
        bits[positive] = infinity
        bits[negative] = sign | infinity
        bits[(flags & NAN != 0) | (positive & negative)] = quiet_nan
    return bits


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
        lanes.reshape(-1)[base : int(ends[after - 1])] = _pooled_block(
            run,
            run.bag_tables[block],
            starts[block],
            lengths[block],
            places,
            int(ends[after - 1]) - base,
        )
        first = after
    return lanes


def _pooled_block(run, bag_tables, starts, lengths, places, size) -> NDArray[np.uint32]:
    """Rounded lanes of some bags, whose first lanes are at `places` of `size`."""
    preset = run.preset
    sums = np.zeros(size, dtype=np.int64)
    flags = np.zeros(size, dtype=np.uint8)
    for number, table in enumerate(run.tables):
        bags = np.flatnonzero(bag_tables == number)
        where = (bags, starts, lengths, places, run.indices, sums)
        policy = int(table.policy)
        if run.contents is not None:
            content = np.ascontiguousarray(run.contents[number])
            _pool_array(content, policy, *where, flags)
        else:
            words = -(-table.elements // _WORD_ELEMENTS)
            burst_words = preset.burst_bytes // (2 * _WORD_ELEMENTS)
            placement = (table.base_row, table.row_span, table.bursts(preset))
            placement += (preset.banks, preset.bursts_per_row, burst_words)
            _pool_hashed(
                (table.rows, table.elements, words),
                placement,
                policy,
                np.uint64(run.seed % (1 << 64)),
                *where,
            )
    return rounded(sums, flags, run.settings.output)
