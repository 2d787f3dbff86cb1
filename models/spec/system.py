"""Systems: chips with tiers of memory, linked by an interconnect, with compute and buffers.

The parameters are those of the paper's Sec. V-B ("processing engine capabilities, memory system
configuration, communication network latencies and bandwidths, on-chip buffering"), extended by the
paths that the systems of its Sec. II need: memory that pools by itself, and memory behind a cache.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from recspeed.models.spec.frozen import Above, Frozen, Positive
from recspeed.models.spec.interconnect import Interconnect
from recspeed.models.spec.memory_tier import MemoryTier

Schedule = Literal["causal", "paper", "pipelined"]
SCHEDULES: tuple[Schedule, ...] = ("causal", "paper", "pipelined")


class Compute(Frozen):
    """Dense compute of one chip: peak TFLOPS, and the rate of the dense update.

    `updates_per_ns` is the number of dense parameters that SGD updates per nanosecond.
    """

    tflops: Above
    efficiency: Annotated[float, Field(gt=0, le=1)] = 1.0
    updates_per_ns: Above = 1750.0


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
