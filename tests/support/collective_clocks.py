"""How long a collective takes in the golden model, beside its bound."""

import numpy as np

from recspeed.models.bounds.collective import bound_clocks
from recspeed.models.collective.simulation import golden_outcome
from recspeed.models.runs.collective import (
    CollectiveRun,
    collective,
    lay_out,
    start_clock,
)


def clocks_of(operation, size, parameters, faults=(), skew=0, seed=0):
    """Clocks of a collective, its bound, and its outcome."""
    chips, link = parameters.chips, parameters.link
    rng = np.random.default_rng(seed)
    ready = start_clock(link) + rng.integers(0, skew + 1, chips)
    item = collective(operation, size, chips, ready_from=ready)
    run = CollectiveRun(link, lay_out([item]).descriptors, faults=faults, limit=4_000_000)
    outcome = golden_outcome(run)
    assert outcome.errors == [None] * chips
    clocks = max(done[0] for done in outcome.completions) - min(s[0] for s in outcome.starts)
    return clocks, bound_clocks(item, link), outcome
