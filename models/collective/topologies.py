"""Bounds of other topologies with the same chips and lanes, for comparison with direct links.

All three give a chip the same raw bandwidth and pay the same SerDes latency per hop. None counts
protocol, so each is what its topology cannot exceed.

- *direct*: n - 1 links of 1 / (n - 1) of the bandwidth each, one hop.
- *ring*: two links of half the bandwidth each. A block for a chip d hops away loads d links, and
  the farthest chip is n // 2 hops away. A chip forwards; its own time per hop is `forward`.
- *switch*: all bandwidth goes to one switch: two hops and the time through the switch.
"""

from dataclasses import dataclass
from enum import StrEnum

from recspeed.models.spec.collective import (
    FLIT_BYTES,
    CollectiveParameters,
    Operation,
    lines_of,
)


class Topology(StrEnum):
    """How chips are joined."""

    DIRECT = "direct"
    RING = "ring"
    SWITCH = "switch"


@dataclass(frozen=True)
class Hops:
    """Assumed times that are not SerDes latency, in ns.

    `forward` is what our own link end takes from wire to wire (8 clocks at 0.98 GHz); `switch`,
    from port to port, is an assumption in the range of today's switch chips, not a measurement.
    """

    forward: float = 8.0
    switch: float = 300.0


def bound_nanoseconds(
    topology: Topology,
    operation: Operation,
    slice_bytes: int,
    parameters: CollectiveParameters,
    hops: Hops | None = None,
) -> float:
    """Time in ns of a collective of n slices of `slice_bytes` per chip (all-gather: one block).

    An all-reduce is a reduce-scatter and an all-gather that overlap as far as bandwidth allows, so
    it pays the latency once and the traffic twice. On the ring a reduce-scatter adds up on the way,
    so that it moves as much as an all-gather.
    """
    hops = hops or Hops()
    n = parameters.chips
    flits = lines_of(slice_bytes)
    if flits == 0:
        return 0.0
    flit_time = FLIT_BYTES / parameters.chip_gigabytes_per_second
    latency = parameters.latency_nanoseconds
    phases = 2 if operation == Operation.ALL_REDUCE else 1
    if topology == Topology.DIRECT:
        return latency + phases * flits * (n - 1) * flit_time
    if topology == Topology.SWITCH:
        return 2 * latency + hops.switch + phases * flits * (n - 1) * flit_time
    # On a link of half the bandwidth a flit takes twice the time, and there are two links.
    distances = [min(d, n - d) for d in range(1, n)]
    load = sum(distances) if operation == Operation.ALL_TO_ALL else n - 1
    farthest = n // 2
    passing = farthest * latency + (farthest - 1) * hops.forward
    return passing + phases * load * flits * flit_time
