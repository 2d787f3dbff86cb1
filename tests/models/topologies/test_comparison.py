"""Topologies beside each other: bounds, and what no model beats."""

import pytest

from recspeed.models.runs.collective import collective
from recspeed.models.spec.collective import CollectiveParameters, Operation
from recspeed.models.spec.link import lines_of
from recspeed.models.topologies.comparison import Topology, bound_nanoseconds, golden_nanoseconds

OTHERS = (Topology.RING, Topology.RING_STEPS, Topology.SWITCH)


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 3, 4, 8, 15, 16])
def test_no_model_beats_its_bound_and_large_messages_reach_it(operation, chips):
    parameters = CollectiveParameters(chips=chips)
    for size in (1, 64, 1000, 4096, 65536, 1 << 20):
        held = size * (1 if operation == Operation.ALL_GATHER else chips)
        held += held % 2
        item = collective(operation, held, chips)
        least = int(item.lengths.min())
        for topology in OTHERS:
            time = golden_nanoseconds(topology, item, parameters)
            bound = bound_nanoseconds(topology, operation, least, parameters)
            assert time >= bound
            if lines_of(size) == 1 << 14 and topology != Topology.RING_STEPS:
                assert time <= 1.01 * bound


def test_nothing_takes_no_time():
    parameters = CollectiveParameters(chips=5)
    for operation in Operation:
        for topology in OTHERS:
            assert golden_nanoseconds(topology, collective(operation, 0, 5), parameters) == 0


def test_direct_links_have_a_model_of_their_own():
    item = collective(Operation.ALL_TO_ALL, 640, 4)
    with pytest.raises(ValueError, match="model of their own"):
        golden_nanoseconds(Topology.DIRECT, item, CollectiveParameters(chips=4))


def test_direct_links_have_the_shortest_bound():
    for chips in (4, 8, 16):
        parameters = CollectiveParameters(chips=chips)
        for operation in Operation:
            for size in (64, 4096, 1 << 20):
                times = {t: bound_nanoseconds(t, operation, size, parameters) for t in Topology}
                assert times[Topology.DIRECT] < times[Topology.SWITCH]
                # Long messages of a ring that is cut through cost their bandwidth alone.
                assert times[Topology.DIRECT] <= times[Topology.RING]
                assert size > 4096 or times[Topology.DIRECT] < times[Topology.RING]
