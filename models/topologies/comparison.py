"""Other topologies with the same chips and lanes, for comparison with direct links.

All give a chip the same raw bandwidth and pay the same SerDes latency per hop. None counts
protocol, so each is what its topology cannot exceed, and what it reaches if all else is ideal.

- *direct*: n - 1 links of 1 / (n - 1) of the bandwidth each, one hop.
- *ring*: two links of half the bandwidth each. A block for a chip d hops away loads d links, and
  the farthest chip is n // 2 hops away. A chip forwards; its own time per hop is `forward`.
- *ring in steps*: the same links as collective libraries use them, n - 1 steps of whole slices.
- *switch*: all bandwidth goes to one switch: two hops and the time through the switch.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

import numpy as np

from recspeed.models.runs.collective import Collective
from recspeed.models.spec.collective import CollectiveParameters, Operation
from recspeed.models.spec.link import FLIT_BYTES, lines_of
from recspeed.models.topologies.ring import ring_slots, ring_step_slots
from recspeed.models.topologies.switch import switch_slots


class Topology(StrEnum):
    """How chips are joined."""

    DIRECT = "direct"
    RING = "ring"
    RING_STEPS = "ring_steps"
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
    """Time in ns that a collective of n slices of `slice_bytes` per chip takes at least.

    An all-gather has one block of this size per chip. The larger of two bounds: the flits of the
    busiest link, the last of which has one way to go; and the longest way that data must go, with
    the flits that leave it one after the other. An all-reduce is a reduce-scatter and an all-gather
    that overlap as far as bandwidth allows: twice the traffic, and twice the way for each flit. On
    the ring a reduce-scatter adds up on the way, so that it moves as much as an all-gather.
    """
    hops = hops or Hops()
    n = parameters.chips
    flits = lines_of(slice_bytes)
    if flits == 0:
        return 0.0
    flit_time = FLIT_BYTES / parameters.chip_gigabytes_per_second
    latency = parameters.latency_nanoseconds
    twice = operation == Operation.ALL_REDUCE
    phases = 2 if twice else 1
    if topology == Topology.DIRECT:
        return latency + phases * flits * (n - 1) * flit_time
    if topology == Topology.SWITCH:
        way = 2 * latency + hops.switch
        load = way + phases * flits * (n - 1) * flit_time
        there_and_back = 2 * way + hops.forward + (flits + 1) * (n - 1) * flit_time
        return max(load, there_and_back) if twice else load
    # On a link of half the bandwidth a flit takes twice the time, and there are two links.
    distances = [min(d, n - d) for d in range(1, n)]
    load = sum(distances) if operation == Operation.ALL_TO_ALL else n - 1
    farthest = n // 2
    way = farthest * latency + (farthest - 1) * hops.forward
    # With n even one half of what goes half way round goes up, the other down.
    farthest_flits = flits if n % 2 else ceil(flits / 2)
    way_out = phases * way + (phases - 1) * hops.forward + 2 * farthest_flits * flit_time
    return max(latency + phases * load * flits * flit_time, way_out)


def golden_nanoseconds(
    topology: Topology,
    item: Collective,
    parameters: CollectiveParameters,
    hops: Hops | None = None,
) -> float:
    """Time in ns of a collective on a ring or a switch, flit by flit, all chips starting together.

    Latencies are rounded up to whole flit times, so that no time is below the bound's.

    Raises
    ------
    ValueError
        For direct links, which `golden.py` models with all of their protocol.
    """
    hops = hops or Hops()
    flits = np.vectorize(lines_of, otypes=[np.int64])(item.lengths)
    results = np.vectorize(lines_of, otypes=[np.int64])(item.result_lengths)
    flit_time = FLIT_BYTES / parameters.chip_gigabytes_per_second
    slot = flit_time if topology == Topology.SWITCH else 2 * flit_time

    def slots(nanoseconds: float) -> int:
        return max(1, ceil(nanoseconds / slot - 1e-9))

    hop, forward = slots(parameters.latency_nanoseconds), slots(hops.forward)
    match topology:
        case Topology.RING:
            count = ring_slots(item.operation, flits, results, hop, forward)
        case Topology.RING_STEPS:
            count = ring_step_slots(item.operation, flits, results, hop, forward)
        case Topology.SWITCH:
            through = slots(hops.switch)
            count = switch_slots(item.operation, flits, results, hop, through, forward)
        case _:
            raise ValueError(
                "direct links have a model of their own, models/collective/simulation.py"
            )
    return count * slot
