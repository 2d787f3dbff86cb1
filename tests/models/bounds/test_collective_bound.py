"""The bound of collectives."""

from recspeed.models.bounds.collective import bound_clocks
from recspeed.models.runs.collective import (
    collective,
)
from recspeed.models.spec.collective import CollectiveParameters, Operation, WireFormat


def test_bound_counts_flits_of_the_busiest_link():
    parameters = CollectiveParameters(chips=4)
    for operation, flits in (
        (Operation.ALL_TO_ALL, 16),
        (Operation.ALL_GATHER, 63),
        (Operation.REDUCE_SCATTER, 16),
        (Operation.ALL_REDUCE, 32),
    ):
        item = collective(operation, 4001 - 1, 4)
        assert bound_clocks(item, parameters.link) == parameters.latency + flits
    item = collective(Operation.ALL_REDUCE, 4000, 4, wire=WireFormat.EXACT)
    assert bound_clocks(item, parameters.link) == parameters.latency + 63 + 16
    assert bound_clocks(collective(Operation.ALL_REDUCE, 0, 4), parameters.link) == 0
