"""Collective operations over an interconnect: how long each takes, and how many bytes it sends.

Lower bounds of the volumes: the paper's Sec. IV-B/D (after its ref. [8]). An operation takes a
latency and a transfer time; a topology that cannot use all links of a chip for a pattern stretches
the transfer by a factor against the fully connected one.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.workload import Frozen, Positive

Topology = Literal["fully-connected", "switched", "ring", "mesh", "none"]
Operation = Literal["all-to-all", "all-gather", "reduce-scatter", "all-reduce"]
OPERATIONS: tuple[Operation, ...] = ("all-to-all", "all-gather", "reduce-scatter", "all-reduce")


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


@dataclass(frozen=True)
class CollectiveTime:
    """One operation: seconds of latency and of transfer, bytes that the busiest chip sends."""

    latency: float
    transfer: float
    sent_bytes: float

    @property
    def seconds(self) -> float:
        """Latency and transfer, one after the other."""
        return self.latency + self.transfer


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

    def hops(self, operation: Operation, chips: int) -> int:
        """Link traversals in sequence: the steps of the usual algorithm on this topology."""
        match self.topology:
            case "ring":
                around = chips - 1
                steps = chips // 2 if operation == "all-to-all" else around
            case "mesh":
                columns = self.columns(chips)
                steps = columns - 1 + chips // columns - 1
            case "switched":
                steps = 2
            case _:
                steps = 1
        return 2 * steps if operation == "all-reduce" else steps

    def latency(self, operation: Operation, chips: int) -> float:
        """Seconds of latency of one operation."""
        if self.latency_us is not None:
            return getattr(self.latency_us, operation.replace("-", "_")) * 1e-6
        hops = self.hops(operation, chips)
        switches = hops / 2 if self.topology == "switched" else 0
        return ((self.link_latency_us or 0.0) * hops + self.switch_latency_us * switches) * 1e-6

    def stretch(self, operation: Operation, chips: int) -> float:
        """Transfer time against the fully connected topology of equal bandwidth per chip.

        Ring, all-to-all: every byte crosses the mean shortest distance in links, on both
        directions; the other operations are optimal on a ring (paper Table V). Mesh, all-to-all:
        the fuller of both bisections, a chip's bandwidth shared by four links; the others:
        a corner chip has two of its four links.
        """
        if self.topology == "ring" and operation == "all-to-all":
            return sum(min(step, chips - step) for step in range(1, chips)) / (chips - 1)
        if self.topology == "mesh":
            if operation != "all-to-all":
                return 2.0
            columns = self.columns(chips)
            rows = chips // columns
            cuts = [
                (chips * half) * (chips * (1 - half)) / (chips * across * 0.25)
                for half, across in (
                    (columns // 2 / columns, rows),
                    (rows // 2 / rows, columns),
                )
            ]
            return max(max(cuts) / ((chips - 1) / chips), 1.0)
        return 1.0

    def collective(self, operation: Operation, sent: float, chips: int) -> CollectiveTime:
        """Time of one operation in which the busiest chip sends (or receives) `sent` bytes."""
        if chips == 1:
            return CollectiveTime(0.0, 0.0, 0.0)
        bandwidth = self.gb_per_s if self.curve is None else self.curve.at(sent)
        transfer = sent / (bandwidth * 1e9) * self.stretch(operation, chips)
        return CollectiveTime(self.latency(operation, chips), transfer, sent)
