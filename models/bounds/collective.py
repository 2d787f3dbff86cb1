"""What no implementation of direct links can exceed."""

import numpy as np

from recspeed.models.runs.collective import Collective
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.link import LinkParameters, lines_of


def bound_clocks(item: Collective, link: LinkParameters) -> int:
    """Clocks from the first start to the last completion, at least.

    Wire latency plus one clock for every flit of the busiest link, as a message of b bytes takes
    ceil(b / 64) flits: latency + V (n - 1) / n / bandwidth with the payload's share of a flit and
    the last flit's padding included. An all-reduce sends every slice twice. Without data, 0.
    """
    lines = np.array([[lines_of(int(length)) for length in row] for row in item.lengths])
    if item.operation == Operation.ALL_REDUCE:
        lines = lines + np.array([[lines_of(int(v))] for v in item.result_lengths])
    np.fill_diagonal(lines, 0)
    busiest = int(lines.max())
    return link.latency + busiest if busiest else 0
