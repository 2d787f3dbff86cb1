"""Runs that single out one hard case each, by name."""

from collections.abc import Callable, Sequence

import numpy as np

from recspeed.models.runs.cluster import ClusterPatterns, ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.table import MAXIMUM_BAG, Policy, Table, place_tables
from recspeed.tb.cluster.random_runs import OUTSIDE, SPECIAL_FP16

Builder = Callable[[MemoryPreset], ClusterRun]


def _run(
    preset: MemoryPreset,
    tables: tuple[Table, ...],
    bags: Sequence[tuple[int, Sequence[int]]],
    *,
    settings: ClusterSettings | None = None,
    patterns: ClusterPatterns | None = None,
    contents: tuple[np.ndarray, ...] | None = None,
    seed: int = 1,
) -> ClusterRun:
    """A run of bags that are given as `(table, indices)`."""
    return ClusterRun(
        preset=preset,
        tables=tables,
        bag_tables=np.array([table for table, _ in bags], dtype=np.int64),
        bag_lengths=np.array([len(indices) for _, indices in bags], dtype=np.int64),
        indices=np.array([index for _, indices in bags for index in indices], dtype=np.int64),
        settings=settings or ClusterSettings(),
        patterns=patterns or ClusterPatterns(),
        contents=contents,
        seed=seed,
    )


def _no_bags(preset: MemoryPreset) -> ClusterRun:
    return _run(preset, place_tables(preset, [(10, 64)]), [])


def _only_empty_bags(preset: MemoryPreset) -> ClusterRun:
    return _run(preset, place_tables(preset, [(10, 64), (10, 20)]), [(0, []), (1, []), (0, [])])


def _empty_bags_between(preset: MemoryPreset) -> ClusterRun:
    tables = place_tables(preset, [(1000, 64)])
    bags = [(0, []), (0, [1, 2]), (0, []), (0, []), (0, [3]), (0, [])]
    return _run(preset, tables, bags * 60)


def _largest_bag(preset: MemoryPreset) -> ClusterRun:
    """4095 times the largest value, then 4095 times the most negative one: no sum is wider."""
    contents = np.array([[0x7BFF] * 16, [0xFBFF] * 16], dtype=np.uint16)
    return _run(
        preset,
        place_tables(preset, [(2, 32)]),
        [(0, [0] * MAXIMUM_BAG), (0, [1] * MAXIMUM_BAG)],
        settings=ClusterSettings(output="fp32"),
        contents=(contents,),
    )


def _one_row_a_thousand_times(preset: MemoryPreset) -> ClusterRun:
    return _run(preset, place_tables(preset, [(5000, 128)]), [(0, [4321] * 1000), (0, [4321] * 3)])


def _every_size(first: int) -> Builder:
    """64 tables: every fourth size from `first` on, in one batch."""

    def build(preset: MemoryPreset) -> ClusterRun:
        sizes = range(first, first + 1024, 16)
        tables = place_tables(preset, [(200, size) for size in sizes])
        rng = np.random.default_rng(first)
        bags = [(table, list(rng.integers(0, 200, 3))) for table in range(len(tables))]
        return _run(preset, tables, bags)

    return build


def _out_of_range(policy: Policy) -> Builder:
    """Indices just inside and outside, and far outside, of a table with a neighbour behind it."""

    def build(preset: MemoryPreset) -> ClusterRun:
        tables = place_tables(preset, [(37, 68), (50, 68)], policy)
        inside = [0, 36, 1, 35]
        outside = [37, 38, 49, *OUTSIDE]
        bags = [(0, inside), *((0, [3, index, 36]) for index in outside), (1, [49]), (0, outside)]
        return _run(preset, tables, bags)

    return build


def _fatal_first(preset: MemoryPreset) -> ClusterRun:
    return _run(preset, place_tables(preset, [(10, 64)]), [(0, [10, 1]), (0, [2])])


def _special_values(output: str) -> Builder:
    """Every special FP16 value in every lane, alone and in all pairs."""

    def build(preset: MemoryPreset) -> ClusterRun:
        count = len(SPECIAL_FP16)
        contents = np.array(
            [[SPECIAL_FP16[(row + lane) % count] for lane in range(34)] for row in range(count)],
            dtype=np.uint16,
        )
        tables = place_tables(preset, [(count, 68)])
        bags = [(0, [one]) for one in range(count)]
        bags += [(0, [one, other]) for one in range(count) for other in range(count)]
        settings = ClusterSettings.model_validate({"output": output})
        return _run(preset, tables, bags, contents=(contents,), settings=settings)

    return build


def _cancellation(preset: MemoryPreset) -> ClusterRun:
    """40000 + 40000 - 40000, large plus small minus large, and sums halfway between FP16 values."""
    rows = np.array(
        [[40000, 60000, 2048, 1], [-40000, -60000, 1, 1], [0, 6e-8, 2, -2], [0, 0.1, 1, 65504]],
        dtype=np.float16,
    ).view(np.uint16)
    bags = [(0, [0, 0, 1]), (0, [0, 2, 1]), (0, [0, 1, 2]), (0, [0, 1]), (0, [0, 2]), (0, [3, 3])]
    return _run(preset, place_tables(preset, [(4, 8)]), bags, contents=(rows,))


def _last_byte(preset: MemoryPreset) -> ClusterRun:
    """A table that fills the pseudo channel, read at both ends."""
    rows = preset.banks * preset.organization.rows * preset.bursts_per_row
    tables = place_tables(preset, [(rows, 32)])
    return _run(preset, tables, [(0, [rows - 1, 0, rows // 2, rows - preset.banks])] * 4)


def _uniform(preset: MemoryPreset, size: int, lookups: int, bag: int) -> tuple:
    tables = place_tables(preset, [(200_000, size)])
    indices = np.random.default_rng(7).integers(0, 200_000, (lookups // bag, bag))
    return tables, [(0, list(row)) for row in indices]


def _with(
    settings: dict | None = None, patterns: ClusterPatterns | None = None, **shape: int
) -> Builder:
    """Uniform lookups under given settings and patterns."""

    def build(preset: MemoryPreset) -> ClusterRun:
        tables, bags = _uniform(preset, shape.get("size", 64), 800, shape.get("bag", 20))
        return _run(
            preset,
            tables,
            bags,
            settings=ClusterSettings.model_validate(settings or {}),
            patterns=patterns,
        )

    return build


SPECIAL_RUNS: dict[str, Builder] = {
    "no_bags": _no_bags,
    "only_empty_bags": _only_empty_bags,
    "empty_bags_between": _empty_bags_between,
    "largest_bag": _largest_bag,
    "one_row_a_thousand_times": _one_row_a_thousand_times,
    **{f"every_size_from_{first}": _every_size(first) for first in (4, 8, 12, 16)},
    **{f"out_of_range_{policy.name.lower()}": _out_of_range(policy) for policy in Policy},
    "fatal_first": _fatal_first,
    "special_values_fp16": _special_values("fp16"),
    "special_values_fp32": _special_values("fp32"),
    "cancellation": _cancellation,
    "last_byte_of_the_channel": _last_byte,
    "one_burst_outstanding": _with({"outstanding": 1}),
    "most_bursts_outstanding": _with({"outstanding": 256}, size=32),
    "larger_than_outstanding": _with({"outstanding": 3}, size=1024),
    "refresh_off": _with({"refresh_group": 0}),
    "refresh_one_by_one": _with({"refresh_group": 1}),
    "refresh_by_eight": _with({"refresh_group": 8}),
    "one_lookup_per_bag": _with(bag=1),
    "slow_sink": _with(patterns=ClusterPatterns(pooled=1 << 63), size=256, bag=1),
    "slow_bags": _with(patterns=ClusterPatterns(bags=1), bag=1),
    "slow_indices": _with(patterns=ClusterPatterns(indices=0x8000000000000001)),
}
"""Name of each special run, and what builds it for a preset."""
