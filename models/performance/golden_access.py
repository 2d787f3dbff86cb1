"""Access times as the golden cycle model of the memory channel measures them.

The channel model predicts the hardware's front-end and pooling engine clock for clock, so this
rate is what the described hardware reaches on random rows, below the bound of the timings.
"""

import numpy as np

from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import place_tables

LOOKUPS = 20_000
"""Random lookups of a measurement; the rate is steady to about 0.2 % from here on."""

BAG = 80
"""Lookups per bag, the paper's pooling factor."""


def golden_clocks_per_visit(preset: MemoryPreset, bytes_per_vector: int) -> float:
    """Clocks per random lookup in a channel that is kept full, refresh included.

    The table fills the channel; rows are uniformly random. A vector has at most the bytes of a
    DRAM row.
    """
    from recspeed.models.cluster.simulation import simulate_cluster

    place_tables(preset, [(1, bytes_per_vector)])
    per_row = preset.bursts_per_row // -(-bytes_per_vector // preset.burst_bytes)
    rows = preset.banks * preset.organization.rows * per_row
    generator = np.random.default_rng([bytes_per_vector, preset.organization.data_rate_mtps])
    bags = LOOKUPS // BAG
    run = ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(rows, bytes_per_vector)]),
        bag_tables=np.zeros(bags, dtype=np.int64),
        bag_lengths=np.full(bags, BAG, dtype=np.int64),
        indices=generator.integers(0, rows, LOOKUPS, dtype=np.int64),
        settings=ClusterSettings(),
    )
    result = simulate_cluster(run, record_commands=False)
    return result.counters[Counter.CYCLES] / LOOKUPS
