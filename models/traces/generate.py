"""Synthetic traces: any table shapes, fixed or distributed pooling factors, any distribution."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recspeed.models.traces.distributions import Distribution, Sampler
from recspeed.models.traces.trace import Trace, TraceError

POOLING_FORMS = "N, LOW:HIGH, poisson:MEAN or geometric:MEAN"
MAXIMUM_REDRAWS = 200
"""Rounds of drawing anew before a bag of distinct rows is given up."""


@dataclass(frozen=True)
class Pooling:
    """Lookups per bag: `low` to `high` equally likely, or a law with mean `mean`."""

    law: Literal["uniform", "poisson", "geometric"]
    low: int = 0
    high: int = 0
    mean: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Pooling":
        """The pooling factor written as `POOLING_FORMS` shows.

        Raises
        ------
        TraceError
            For any other text, or numbers that no law allows.
        """
        if match := re.fullmatch(r"(\d+)(?::(\d+))?", text):
            low = int(match.group(1))
            high = int(match.group(2) or low)
            if high >= low:
                return cls("uniform", low, high)
        elif match := re.fullmatch(r"(poisson|geometric):(\d+(?:\.\d+)?)", text):
            mean = float(match.group(2))
            if match.group(1) == "poisson":
                return cls("poisson", mean=mean)
            if mean >= 1:
                return cls("geometric", mean=mean)
        raise TraceError(f"pooling factor '{text}': expected {POOLING_FORMS} (geometric from 1)")

    def draw(self, generator: np.random.Generator, bags: int) -> NDArray[np.int64]:
        """int64[bags] lookups per bag."""
        if self.law == "poisson":
            return generator.poisson(self.mean, bags).astype(np.int64)
        if self.law == "geometric":
            return generator.geometric(1 / self.mean, bags).astype(np.int64)
        return generator.integers(self.low, self.high, bags, dtype=np.int64, endpoint=True)


def generate(
    shapes: Sequence[tuple[int, int]],
    batch: int,
    pooling: Pooling,
    distribution: Distribution,
    *,
    empty: float = 0.0,
    distinct: bool = False,
    ascending: bool = False,
    contents: bool = False,
    seed: int = 0,
) -> Trace:
    """A trace of `batch` samples over tables of `(rows, dim)`.

    Rows are drawn with replacement, in no order: duplicates and unsorted bags occur, unless
    `distinct` or `ascending` asks for bags without. A share `empty` of the bags has no lookup. With
    `contents` the trace carries its tables, standard normal numbers in FP16. The same arguments
    give the same trace; each table has a random stream of its own.

    Raises
    ------
    TraceError
        For arguments that no trace has, or a bag of more distinct rows than there are.
    """
    if batch < 1:
        raise TraceError(f"batch of {batch} samples; expected at least 1")
    if not 0 <= empty <= 1:
        raise TraceError(f"share of empty bags {empty:g}; expected 0 to 1")
    for table, (rows, dim) in enumerate(shapes):
        if rows < 1 or dim < 1:
            raise TraceError(
                f"table {table}: {rows} rows of {dim} elements; expected at least 1 of each"
            )
    lengths: list[NDArray[np.int64]] = []
    indices: list[NDArray[np.int64]] = []
    carried: dict[int, NDArray[np.float16]] = {}
    for table, (rows, dim) in enumerate(shapes):
        generator = np.random.default_rng([seed, table])
        counts = pooling.draw(generator, batch)
        counts[generator.random(batch) < empty] = 0
        if distinct and int(counts.max()) > rows:
            raise TraceError(
                f"table {table}: a bag of {counts.max()} distinct rows; expected at most its "
                f"{rows} rows"
            )
        sampler = distribution.sampler(generator, rows)
        bags = np.repeat(np.arange(batch), counts)
        drawn = sampler(len(bags))
        if distinct:
            drawn = _without_duplicates(sampler, bags, drawn, table)
        if ascending:
            drawn = drawn[np.lexsort((drawn, bags))]
        lengths.append(counts)
        indices.append(drawn)
        if contents:
            carried[table] = generator.standard_normal((rows, dim), np.float32).astype(np.float16)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return Trace(
        indices=np.concatenate(indices),
        offsets=offsets,
        rows=np.array([rows for rows, _ in shapes], dtype=np.int64),
        dims=np.array([dim for _, dim in shapes], dtype=np.int64),
        contents=carried,
    )


def repeated(bags: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: the lookups whose row occurred before in the same bag."""
    order = np.lexsort((rows, bags))
    same = np.zeros(len(rows), dtype=bool)
    same[order[1:]] = (np.diff(bags[order]) == 0) & (np.diff(rows[order]) == 0)
    return same


def _without_duplicates(
    sampler: Sampler, bags: NDArray[np.int64], drawn: NDArray[np.int64], table: int
) -> NDArray[np.int64]:
    """Draw again what is repeated within a bag, until nothing is."""
    for _ in range(MAXIMUM_REDRAWS):
        again = np.flatnonzero(repeated(bags, drawn))
        if len(again) == 0:
            return drawn
        drawn[again] = sampler(len(again))
    raise TraceError(
        f"table {table}: no bags of distinct rows within {MAXIMUM_REDRAWS} rounds; expected more "
        "rows, smaller bags or less skew"
    )
