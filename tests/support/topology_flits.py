"""Random flits for the models of other topologies."""

import numpy as np

from recspeed.models.spec.collective import Operation


def random_flits(rng, operation, chips):
    """Flits per pair as the operation allows, and of the results."""
    flits = rng.integers(0, 9, (chips, chips))
    results = np.zeros(chips, np.int64)
    if operation == Operation.ALL_GATHER:
        flits = np.tile(flits[:, :1], (1, chips))
    if operation.reduces:
        results = flits[0].copy()
        flits = np.tile(results * int(rng.choice((1, 2, 4))), (chips, 1))
    return flits.astype(np.int64), results
