"""Functional model of the pooling slice: exact partial sums of FP16 vectors.

Source of every rule: docs/cluster.md, "Accumulators".
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.lib.exact_sums import NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, fixed_point
from recspeed.models.lib.hashed_contents import WORD_ELEMENTS, hashed_word
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.table import Policy

LANES = 8
"""Lanes of a beat."""

_DROP = int(Policy.DROP)


def _compile(fingerprint: int):
    @njit(error_model="numpy")
    def add_hashed(word, words, seed, lanes):
        """Add the `words` words of hashed content from number `word` on to `lanes`."""
        for place in range(words):
            content = hashed_word(word + place, seed)
            for element in range(WORD_ELEMENTS):
                bits = np.int64((content >> np.uint64(16 * element)) & np.uint64(0xFFFF))
                lanes[place * WORD_ELEMENTS + element] += fixed_point(bits)

    @njit(cache=True, error_model="numpy", nogil=True)
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
            lanes = sums[places[bag] : places[bag] + words * WORD_ELEMENTS]
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

    @njit(cache=True, error_model="numpy", nogil=True)
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


_pool_hashed, _pool_array = _compile(sources_fingerprint("pooling", "lib", "runs", "spec"))


def partial_sums(
    run: ClusterRun,
    bag_tables: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Exact sums in units of 2^-24, and sticky flags, of every lane of some bags: int64[size],
    uint8[size].

    Parameters
    ----------
    bag_tables, starts, lengths : int64[bags]
        Of each bag: its table, and which of the run's indices are its lookups.
    places : int64[bags]
        Where the lanes of each bag begin.
    """
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
            words = -(-table.elements // WORD_ELEMENTS)
            burst_words = preset.burst_bytes // (2 * WORD_ELEMENTS)
            placement = (table.base_row, table.row_span, table.bursts(preset))
            placement += (preset.banks, preset.bursts_per_row, burst_words)
            _pool_hashed(
                (table.rows, table.elements, words),
                placement,
                policy,
                np.uint64(run.seed % (1 << 64)),
                *where,
            )
    return sums, flags
