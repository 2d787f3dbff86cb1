"""Systems: chips with tiers of memory, linked by an interconnect, with compute and buffers.

The parameters are those of the paper's Sec. V-B ("processing engine capabilities, memory system
configuration, communication network latencies and bandwidths, on-chip buffering"), extended by the
paths that the systems of its Sec. II need: memory that pools by itself, and memory behind a cache.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from recspeed.models.performance import access
from recspeed.models.performance.interconnect import Interconnect
from recspeed.models.performance.workload import Frozen, Positive

Schedule = Literal["causal", "paper", "pipelined"]
SCHEDULES: tuple[Schedule, ...] = ("causal", "paper", "pipelined")
NonNegative = Annotated[float, Field(ge=0)]
Above = Annotated[float, Field(gt=0)]


class Rate(Frozen):
    """Memory that is described by a rate: SRAM, a flash drive, a processor in memory.

    One unit needs `overhead_ns` per access, then moves whole multiples of `granularity_bytes` at
    `gb_per_s`. `outstanding` accesses overlap their overheads (a flash drive's queue depth).
    """

    overhead_ns: NonNegative = 0.0
    gb_per_s: Above
    granularity_bytes: Positive = 1
    outstanding: Positive = 1

    def seconds(self, bytes_per_vector: int) -> float:
        """Seconds per vector and unit."""
        blocks = -(-bytes_per_vector // self.granularity_bytes)
        transfer = blocks * self.granularity_bytes / self.gb_per_s
        return (
            max(self.overhead_ns / self.outstanding + transfer / self.outstanding, transfer) * 1e-9
        )


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
            access.pin_gb_per_s(self.preset)
        return self

    def seconds_per_access(self, bytes_per_vector: int) -> float:
        """Seconds per vector, with all units at work."""
        if self.rate is not None:
            return self.rate.seconds(bytes_per_vector) / self.units
        return access.access_time(self.preset or "", bytes_per_vector) / self.units

    @property
    def gb_per_s(self) -> float:
        """Peak bandwidth of all units in GB/s."""
        if self.rate is not None:
            return self.rate.gb_per_s * self.units
        return access.pin_gb_per_s(self.preset or "") * self.units


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

    def seconds(self, accesses: dict[int, float], bags: dict[float, float]) -> float:
        """Time of `accesses` (row bytes: count) that pool into `bags` (vector bytes: count).

        Memory, cache and attachment work at the same time; the slowest counts.
        """
        missing = 1.0 if self.cache is None else 1 - self.cache.hit_rate
        parts = [missing * sum(n * self.source.seconds_per_access(b) for b, n in accesses.items())]
        if self.cache is not None:
            cache = self.cache.source
            parts.append(sum(n * cache.seconds_per_access(b) for b, n in accesses.items()))
        if self.attachment is not None:
            if self.attachment.pools:
                crossing = self.attachment.partials_per_bag * sum(b * n for b, n in bags.items())
            else:
                crossing = sum(b * n for b, n in accesses.items())
            parts.append(crossing / (self.attachment.gb_per_s * 1e9))
        return max(parts)


class Compute(Frozen):
    """Dense compute of one chip: peak TFLOPS, and the rate of the dense update.

    `updates_per_ns` is the number of dense parameters that SGD updates per nanosecond.
    """

    tflops: Above
    efficiency: Annotated[float, Field(gt=0, le=1)] = 1.0
    updates_per_ns: Above = 1750.0

    def seconds(self, macs: float) -> float:
        """Seconds of `macs` multiply-adds (two operations each)."""
        return 2 * macs / (self.tflops * 1e12 * self.efficiency)


class System(Frozen):
    """`chips` equal chips. `lookup_groups` is G, the number of groups in which a batch's lookups
    and their exchange overlap (paper Sec. V-B, "grouping memory accesses").

    `buffer_mb` is on-chip buffer memory, where known; `power_w` the system's power, where known.
    `inference_only`, when set, is the reason why the system cannot train. `sources` names the
    source of each value, `unknown` what no source gives.
    """

    name: str
    title: str
    chips: Positive
    memory: Annotated[tuple[MemoryTier, ...], Field(min_length=1)]
    interconnect: Interconnect
    compute: Compute
    lookup_groups: Positive = 10
    schedule: Schedule = "paper"
    buffer_mb: Above | None = None
    power_w: Above | None = None
    inference_only: str | None = None
    link_energy: str = "board"
    sources: dict[str, str] = {}
    unknown: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _linked(self) -> "System":
        self.interconnect.check(self.chips)
        names = [tier.name for tier in self.memory]
        if len(set(names)) != len(names):
            raise ValueError(f"two memory tiers have one name: {', '.join(names)}")
        return self

    @property
    def memory_bytes(self) -> float:
        """All memory of the system in bytes."""
        return self.chips * sum(tier.capacity_bytes for tier in self.memory)
