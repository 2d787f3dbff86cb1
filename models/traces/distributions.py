"""Which rows are looked up: uniform, Zipf-Mandelbrot, and LRU stack distances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recspeed.models.traces.trace import TraceError

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
"""Odd 64-bit constants, one per round of the rank permutation."""

Sampler = Callable[[int], NDArray[np.int64]]
"""Draws int64[count] rows of one table."""


class Distribution(Protocol):
    """A law of row numbers; `sampler` starts it for one table of `rows` rows."""

    def sampler(self, generator: np.random.Generator, rows: int) -> Sampler: ...


@dataclass(frozen=True)
class Uniform:
    """Each row equally likely, without any locality."""

    def sampler(self, generator: np.random.Generator, rows: int) -> Sampler:
        return lambda count: generator.integers(0, rows, count, dtype=np.int64)


@dataclass(frozen=True)
class Zipf:
    """Zipf-Mandelbrot: P of the k-th popular row proportional to `1 / (k + q)^s`, k from 1.

    The popular rows are scattered over the table, differently for each table.
    """

    q: float = 0.0
    s: float = 1.05

    def __post_init__(self) -> None:
        if not (self.s > 0 and self.q > -1):
            raise TraceError(f"Zipf with q = {self.q:g}, s = {self.s:g}; expected q > -1 and s > 0")

    def sampler(self, generator: np.random.Generator, rows: int) -> Sampler:
        key = int(generator.integers(0, 1 << 62))
        return lambda count: scatter(zipf_ranks(generator, rows, self.q, self.s, count), rows, key)


def zipf_ranks(
    generator: np.random.Generator, rows: int, q: float, s: float, count: int
) -> NDArray[np.int64]:
    """int64[count] ranks 0 to rows - 1 with P(rank) proportional to `1 / (rank + 1 + q)^s`.

    Exact by rejection-inversion, in constant memory for any number of rows (W. Hoermann and G.
    Derflinger, Rejection-inversion to generate variates from monotone discrete distributions, ACM
    TOMACS 6(3), 1996).
    """
    if rows == 1:
        return np.zeros(count, dtype=np.int64)

    def integral(x: NDArray[np.float64] | float) -> NDArray[np.float64]:
        logarithm = np.log(np.asarray(x, dtype=np.float64) + q)
        if abs(1 - s) < 1e-12:
            return logarithm
        return np.expm1((1 - s) * logarithm) / (1 - s)

    def inverse(y: NDArray[np.float64]) -> NDArray[np.float64]:
        if abs(1 - s) < 1e-12:
            return np.exp(y) - q
        with np.errstate(divide="ignore", invalid="ignore"):  # the last ulp of the area: infinity
            return np.exp(np.log1p(y * (1 - s)) / (1 - s)) - q

    # Rank k = 1 needs the hat's area to start where the histogram bar of k = 1 has its full mass.
    low = float(integral(1.5)) - (1 + q) ** -s
    high = float(integral(rows + 0.5))
    ranks = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        wanted = count - filled
        area = low + generator.random(wanted + wanted // 8 + 8) * (high - low)
        rank = np.clip(np.floor(inverse(area) + 0.5), 1, rows)
        kept = rank[area >= integral(rank + 0.5) - (rank + q) ** -s][:wanted]
        ranks[filled : filled + len(kept)] = kept.astype(np.int64) - 1
        filled += len(kept)
    return ranks


def scatter(ranks: NDArray[np.int64], rows: int, key: int) -> NDArray[np.int64]:
    """Map ranks 0 to rows - 1 one to one onto rows, so that popular rows are not neighbours.

    A four-round Feistel network over the next even number of bits, walked until the result is a
    row.
    """
    half = max(1, ((rows - 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    shift = np.uint64(half)
    # Seeds that differ in any bit give unrelated rounds.
    keys = np.random.SeedSequence(key).generate_state(len(MULTIPLIERS), np.uint64)
    value = ranks.astype(np.uint64)
    pending = np.arange(len(value))
    while len(pending):
        left, right = value[pending] >> shift, value[pending] & mask
        for multiplier, round_key in zip(MULTIPLIERS, keys, strict=True):
            mixed = (right ^ round_key) * np.uint64(multiplier)
            left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
        value[pending] = (left << shift) | right
        pending = pending[value[pending] >= np.uint64(rows)]
    return value.astype(np.int64)


@dataclass(frozen=True)
class StackProfile:
    """An LRU stack-distance profile: how many other rows were touched since a row's last touch.

    A distance beyond the rows touched so far is not drawn. When no row is untouched, the one that
    was touched longest ago counts as new.

    Attributes
    ----------
    ids : int64[lines] or None
        Rows in the order of their first touch; None for rows in ascending order.
    distances : int64[n]
        Distances, ascending from 0; 0 is a row that was not touched before, d the d-th latest
        touched.
    cumulative : float64[n]
        P(distance <= distances[i]).
    """

    ids: NDArray[np.int64] | None
    distances: NDArray[np.int64]
    cumulative: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.distances) == 0 or len(self.distances) != len(self.cumulative):
            raise TraceError(
                f"stack distances: {len(self.distances)} with {len(self.cumulative)} cumulative "
                "probabilities; expected as many, at least one"
            )
        if self.distances[0] != 0 or np.any(np.diff(self.distances) <= 0):
            raise TraceError("stack distances: expected distances that ascend from 0")
        if self.cumulative[0] <= 0 or np.any(np.diff(self.cumulative) < 0):
            raise TraceError("cumulative probabilities: expected the first above 0 and no decrease")
        if not np.isclose(self.cumulative[-1], 1.0, atol=1e-6):
            raise TraceError(
                f"cumulative probabilities: the last is {self.cumulative[-1]:g}; expected 1"
            )

    def sampler(self, generator: np.random.Generator, rows: int) -> Sampler:
        ids = self.ids if self.ids is not None else np.arange(rows, dtype=np.int64)
        if len(ids) == 0 or int(ids.min()) < 0 or int(ids.max()) >= rows:
            raise TraceError(
                f"stack profile: ids {min(ids, default=0)} to {max(ids, default=0)}; expected 0 to "
                f"{rows - 1}, the table's rows"
            )
        return _LruStack(self, ids, generator).draw


class _LruStack:
    """The state of one table's stack: the rows touched so far, the latest last."""

    def __init__(
        self, profile: StackProfile, ids: NDArray[np.int64], generator: np.random.Generator
    ) -> None:
        self.profile, self.ids, self.generator = profile, ids, generator
        self.stack: list[int] = []
        self.fresh = 0
        self.usable = 1

    def draw(self, count: int) -> NDArray[np.int64]:
        return np.array([self._next(u) for u in self.generator.random(count)], dtype=np.int64)

    def _next(self, u: float) -> int:
        distances, cumulative = self.profile.distances, self.profile.cumulative
        while self.usable < len(distances) and distances[self.usable] <= len(self.stack):
            self.usable += 1
        usable = self.usable
        drawn = int(np.searchsorted(cumulative[:usable], u * cumulative[usable - 1]))
        distance = int(distances[min(drawn, usable - 1)])
        if distance:
            row = self.stack.pop(-distance)
        elif self.fresh < len(self.ids):
            row = int(self.ids[self.fresh])
            self.fresh += 1
        else:
            row = self.stack.pop(0)
        self.stack.append(row)
        return row
