"""How the chips of a system are linked: topology, bandwidth, latencies. Parameters only.

How long an operation takes is in `models/performance/collective_time.py`.
"""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from recspeed.models.spec.frozen import Frozen, Positive
from recspeed.models.spec.toml import SpecificationError

Topology = Literal["fully-connected", "switched", "ring", "mesh", "none"]


class Latencies(Frozen):
    """Microseconds of one operation, whatever its size; software overhead included."""

    all_to_all: Annotated[float, Field(ge=0)]
    all_gather: Annotated[float, Field(ge=0)]
    reduce_scatter: Annotated[float, Field(ge=0)]
    all_reduce: Annotated[float, Field(ge=0)]


class BandwidthCurve(Frozen):
    """Measured bandwidth per chip against bytes sent per chip; logarithmic between the points."""

    sent_bytes: Annotated[tuple[float, ...], Field(min_length=2)]
    gb_per_s: Annotated[tuple[float, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _rising(self) -> "BandwidthCurve":
        if len(self.sent_bytes) != len(self.gb_per_s):
            raise ValueError("sent_bytes and gb_per_s must have one length")
        if any(b <= a for a, b in zip(self.sent_bytes, self.sent_bytes[1:], strict=False)):
            raise ValueError("sent_bytes must rise")
        if min(*self.sent_bytes, *self.gb_per_s) <= 0:
            raise ValueError("sent_bytes and gb_per_s must be above zero")
        return self

    def at(self, sent: float) -> float:
        """GB/s at `sent` bytes; the first and last points hold outside of the range."""
        if sent <= self.sent_bytes[0]:
            return self.gb_per_s[0]
        for low in range(len(self.sent_bytes) - 1):
            if sent <= self.sent_bytes[low + 1]:
                left, right = self.sent_bytes[low : low + 2]
                part = math.log(sent / left) / math.log(right / left)
                return self.gb_per_s[low] + part * (self.gb_per_s[low + 1] - self.gb_per_s[low])
        return self.gb_per_s[-1]


class Interconnect(Frozen):
    """How the chips of a system are linked.

    `gb_per_s` is one direction, per chip, all its links together. Latency comes as one value
    per operation (`latency_us`, measured or assumed), or from hops: `link_latency_us` for each link
    on the way and `switch_latency_us` for each switch. `links_per_chip` defaults to what the
    topology needs (n - 1 when fully connected). `mesh_columns` defaults to the squarest mesh.
    """

    topology: Topology
    gb_per_s: Annotated[float, Field(ge=0)] = 0.0
    links_per_chip: Annotated[int, Field(ge=0)] | None = None
    latency_us: Latencies | None = None
    link_latency_us: Annotated[float, Field(ge=0)] | None = None
    switch_latency_us: Annotated[float, Field(ge=0)] = 0.0
    curve: BandwidthCurve | None = None
    mesh_columns: Positive | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Interconnect":
        if self.topology == "none":
            return self
        if self.gb_per_s == 0:
            raise ValueError(f"a {self.topology} interconnect needs gb_per_s above zero")
        if (self.latency_us is None) == (self.link_latency_us is None):
            raise ValueError("give either latency_us per operation or link_latency_us, not both")
        if self.links_per_chip == 0:
            raise ValueError(f"a {self.topology} interconnect needs at least one link per chip")
        return self

    def check(self, chips: int) -> None:
        """Raise SpecificationError when `chips` chips cannot be linked like this."""
        if chips == 1:
            return
        if self.topology == "none":
            raise SpecificationError(f"{chips} chips with zero links: topology is 'none'")
        if (
            self.topology == "fully-connected"
            and self.links_per_chip is not None
            and self.links_per_chip < chips - 1
        ):
            raise SpecificationError(
                f"{chips} fully connected chips need {chips - 1} links per chip,"
                f" but links_per_chip is {self.links_per_chip}"
            )
        if self.topology == "mesh" and chips % self.columns(chips):
            raise SpecificationError(
                f"{chips} chips do not fill a mesh of {self.mesh_columns} columns"
            )

    def columns(self, chips: int) -> int:
        """Columns of the mesh: as given, else the squarest shape."""
        if self.mesh_columns is not None:
            return self.mesh_columns
        rows = max(size for size in range(1, math.isqrt(chips) + 1) if chips % size == 0)
        return chips // rows
