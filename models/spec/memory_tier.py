"""Tiers of a chip's memory: DRAM by the name of a preset, or memory that is described by a rate.

Beyond the paper's systems, a tier may pool by itself, and lie behind a cache (paper Sec. II).
"""

from typing import Annotated

from pydantic import Field, model_validator

from recspeed.models.spec.device import device
from recspeed.models.spec.frozen import Above, Frozen, NonNegative, Positive


class Rate(Frozen):
    """Memory that is described by a rate: SRAM, a flash drive, a processor in memory.

    One unit needs `overhead_ns` per access, then moves whole multiples of `granularity_bytes` at
    `gb_per_s`. `outstanding` accesses overlap their overheads (a flash drive's queue depth).
    """

    overhead_ns: NonNegative = 0.0
    gb_per_s: Above
    granularity_bytes: Positive = 1
    outstanding: Positive = 1


class Source(Frozen):
    """Where an access time comes from: a memory preset by name, or a rate. `units` work in
    parallel.

    A unit is a (pseudo) channel, a rank or a drive; a channel that several chips share is a
    fraction.
    """

    preset: str | None = None
    rate: Rate | None = None
    units: Above

    @model_validator(mode="after")
    def _one(self) -> "Source":
        if (self.preset is None) == (self.rate is None):
            raise ValueError("give either preset or rate")
        if self.preset is not None:
            device(self.preset)
        return self

    @property
    def gb_per_s(self) -> float:
        """Peak bandwidth of all units in GB/s."""
        if self.rate is not None:
            return self.rate.gb_per_s * self.units
        return device(self.preset or "").pin_gb_per_s * self.units


class Cache(Frozen):
    """A cache in front of a tier: every access visits it, misses go on to the tier."""

    hit_rate: Annotated[float, Field(ge=0, le=1)]
    source: Source


class Attachment(Frozen):
    """The path between a tier and its chip, when it can be the bottleneck.

    `pools` is true where the memory pools by itself: pooled vectors cross, `partials_per_bag` of
    them for every bag, instead of rows.
    """

    gb_per_s: Above
    pools: bool = False
    partials_per_bag: Above = 1.0


class MemoryTier(Frozen):
    """One kind of memory of a chip. Capacity in GB (2^30 bytes, as memories are sold)."""

    name: str
    kind: str
    source: Source
    capacity_gb: Above
    cache: Cache | None = None
    attachment: Attachment | None = None

    @property
    def capacity_bytes(self) -> float:
        """Capacity of one chip's tier in bytes."""
        return self.capacity_gb * 2**30
