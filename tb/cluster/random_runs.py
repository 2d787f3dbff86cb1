"""Random runs of a memory channel: everything that may vary at run time, varied."""

import numpy as np

from recspeed.models.runs.cluster import ClusterPatterns, ClusterRun
from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.table import Policy, place_tables
from recspeed.models.spec.toml import SpecificationError

OUTSIDE = (-1, 2**31 - 1, 2**32 + 1, -(2**63), 2**63 - 1)
"""Indices that are out of range for every table of a random run."""

SPECIAL_FP16 = (0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E01, 0x0001, 0x8001, 0x7BFF, 0xFBFF, 0x0400)
"""Both zeros, infinities, a NaN, smallest subnormals, largest values, smallest normal."""


def random_pattern(rng: np.random.Generator) -> int:
    """Mostly always; else ones at a random density, at least one of them."""
    if rng.random() < 0.4:
        return ALWAYS
    bits = rng.random(64) < rng.choice([0.03, 0.2, 0.5, 0.9])
    bits[rng.integers(64)] = True
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def random_contents(rng: np.random.Generator, rows: int, elements: int) -> np.ndarray:
    """FP16 bits: any of them, or close to each other in size, or special values mixed in."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 1 << 16, (rows, elements), dtype=np.uint16)
    bits = rng.normal(0, 1, (rows, elements)).astype(np.float16).view(np.uint16)
    if kind == 1:
        hit = rng.random(bits.shape) < 0.05
        bits[hit] = rng.choice(np.array(SPECIAL_FP16, dtype=np.uint16), int(hit.sum()))
    return bits


def random_run(
    seed: int,
    preset: MemoryPreset,
    parameters: ClusterParameters | None = None,
    *,
    lookups: int = 400,
) -> ClusterRun:
    """A run that depends on `seed` alone: tables, bags, policies, contents, settings, patterns."""
    rng = np.random.default_rng(seed)
    parameters = parameters or ClusterParameters()
    in_arrays = bool(rng.random() < 0.5)
    count = int(rng.integers(1, 6))
    largest = 1024 if rng.random() < 0.4 else 256
    row_limit = 600 if in_arrays else 100_000
    shapes = [
        (int(rng.integers(1, row_limit)), 4 * int(rng.integers(1, largest // 4 + 1)))
        for _ in range(count)
    ]
    while not _fit(preset, shapes):
        shapes = [(-(-rows // 2), size) for rows, size in shapes]
    policies = [Policy.CLAMP, Policy.DROP] if rng.random() < 0.7 else list(Policy)
    tables = tuple(
        table.model_copy(update={"policy": policies[rng.integers(len(policies))]})
        for table in place_tables(preset, shapes)
    )
    bag_lengths = _random_lengths(rng, lookups)
    bag_tables = rng.integers(0, count, len(bag_lengths))
    rows = np.array([table.rows for table in tables])[np.repeat(bag_tables, bag_lengths)]
    few = rng.random() < 0.3
    indices = rng.integers(0, np.minimum(rows, 3) if few else rows)
    if rng.random() < 0.6:
        outside = rng.random(len(indices)) < 0.02
        wrong = rng.choice(np.array(OUTSIDE), len(indices))
        just_outside = rng.random(len(indices)) < 0.4
        indices = np.where(outside, np.where(just_outside, rows, wrong), indices)
    return ClusterRun(
        preset=preset,
        tables=tables,
        bag_tables=bag_tables,
        bag_lengths=bag_lengths,
        indices=indices,
        settings=ClusterSettings(
            outstanding=int(rng.choice([1, 2, 3, 16, 64, 128, 256])),
            refresh_group=int(rng.integers(0, 9)),
            output="fp32" if rng.random() < 0.5 else "fp16",
        ),
        parameters=parameters,
        patterns=ClusterPatterns(*(random_pattern(rng) for _ in range(3))),
        contents=tuple(random_contents(rng, table.rows, table.elements) for table in tables)
        if in_arrays
        else None,
        seed=int(rng.integers(0, 1 << 62)),
    )


def _fit(preset: MemoryPreset, shapes: list[tuple[int, int]]) -> bool:
    """Whether tables of `(rows, bytes)` find room in a channel."""
    try:
        place_tables(preset, shapes)
    except SpecificationError:
        return False
    return True


def _random_lengths(rng: np.random.Generator, lookups: int) -> np.ndarray:
    """Bag lengths of `lookups` lookups in total, or fewer if nearly all bags are empty."""
    mean = float(rng.choice([0.5, 3, 20, 80]))
    lengths: list[int] = []
    total = 0
    while total < lookups and len(lengths) < 300:
        length = int(min(lookups - total, rng.poisson(mean)))
        lengths.append(length)
        total += length
    return np.array(lengths, dtype=np.int64)
