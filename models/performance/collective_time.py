"""Collective operations over an interconnect: how long each takes, and how many bytes it sends.

Lower bounds of the volumes: the paper's Sec. IV-B/D (after its ref. [8]). An operation takes a
latency and a transfer time; a topology that cannot use all links of a chip for a pattern stretches
the transfer by a factor against the fully connected one.
"""

from dataclasses import dataclass

from recspeed.models.spec.collective import Operation
from recspeed.models.spec.interconnect import Interconnect


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


def hops(network: Interconnect, operation: Operation, chips: int) -> int:
    """Link traversals in sequence: the steps of the usual algorithm on this topology."""
    match network.topology:
        case "ring":
            around = chips - 1
            steps = chips // 2 if operation == Operation.ALL_TO_ALL else around
        case "mesh":
            columns = network.columns(chips)
            steps = columns - 1 + chips // columns - 1
        case "switched":
            steps = 2
        case _:
            steps = 1
    return 2 * steps if operation == Operation.ALL_REDUCE else steps


def latency(network: Interconnect, operation: Operation, chips: int) -> float:
    """Seconds of latency of one operation."""
    if network.latency_us is not None:
        return getattr(network.latency_us, operation.name.lower()) * 1e-6
    links = hops(network, operation, chips)
    switches = links / 2 if network.topology == "switched" else 0
    return ((network.link_latency_us or 0.0) * links + network.switch_latency_us * switches) * 1e-6


def stretch(network: Interconnect, operation: Operation, chips: int) -> float:
    """Transfer time against the fully connected topology of equal bandwidth per chip.

    Ring, all-to-all: every byte crosses the mean shortest distance in links, on both
    directions; the other operations are optimal on a ring (paper Table V). Mesh, all-to-all:
    the fuller of both bisections, a chip's bandwidth shared by four links; the others:
    a corner chip has two of its four links.
    """
    if network.topology == "ring" and operation == Operation.ALL_TO_ALL:
        return sum(min(step, chips - step) for step in range(1, chips)) / (chips - 1)
    if network.topology == "mesh":
        if operation != Operation.ALL_TO_ALL:
            return 2.0
        columns = network.columns(chips)
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


def collective_time(
    network: Interconnect, operation: Operation, sent: float, chips: int
) -> CollectiveTime:
    """Time of one operation in which the busiest chip sends (or receives) `sent` bytes."""
    if chips == 1:
        return CollectiveTime(0.0, 0.0, 0.0)
    bandwidth = network.gb_per_s if network.curve is None else network.curve.at(sent)
    transfer = sent / (bandwidth * 1e9) * stretch(network, operation, chips)
    return CollectiveTime(latency(network, operation, chips), transfer, sent)
