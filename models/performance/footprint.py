"""Memory of one chip: what the tables, weights, buffers and activations need, and whether they fit.

Source of the items: the paper's Table X. Capacities: Table XIV and the systems' own.
"""

from dataclasses import dataclass

from recspeed.models.performance.chip_load import ChipLoad, PlacementLoad
from recspeed.models.performance.errors import DoesNotFitError
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import ACTIVATION_BYTES, FILL_MEMORY, Workload


def fills_memory(workload: Workload) -> bool:
    """True when some table takes what the memory has left."""
    return any(group.rows == FILL_MEMORY for group in workload.tables)


def tier_shares(load: ChipLoad, workload: Workload, system: System) -> list[float]:
    """Share of a chip's lookups that each tier serves.

    Tables are placed statically, hottest rows first into the first tier (Sec. VII-A). With a
    Zipf-like exponent s, the hottest part x of the rows takes x^(1-s) of the accesses. Tables of
    unknown size ("fill") lie in the first tier alone, as the paper evaluates them.
    """
    if fills_memory(workload) or load.table_bytes <= system.memory[0].capacity_bytes:
        return [1.0] + [0.0] * (len(system.memory) - 1)
    shares, below, done = [], 0.0, 0.0
    for tier in system.memory:
        below = min(below + tier.capacity_bytes / load.table_bytes, 1.0)
        reached = below ** (1 - workload.skew)
        shares.append(reached - done)
        done = reached
    return shares


@dataclass(frozen=True)
class Footprint:
    """Bytes of the fullest chip. `embeddings` is 0 for tables of unknown size.

    `buffers` holds one batch's indices and rows to send and to receive, doubled, so that the
    next batch's transfer overlaps this one's work; `activations` what backward needs of this chip's
    samples, plus, in training, the rows that are kept for a write-only update.
    """

    embeddings: float
    dense_weights: float
    gradients: float
    buffers: float
    activations: float
    kept_rows: float
    capacity: float

    @property
    def on_chip(self) -> float:
        """Bytes that want to be on the chip: everything but the tables (paper Table X)."""
        return (
            self.dense_weights + self.gradients + self.buffers + self.activations + self.kept_rows
        )


def footprint(workload: Workload, load: PlacementLoad, system: System, training: bool) -> Footprint:
    """Memory of the fullest chip; raises DoesNotFitError when its tables exceed its tiers."""
    chips = load.chips[:1] if load.identical else load.chips
    tables = max(chip.table_bytes for chip in chips)
    capacity = sum(tier.capacity_bytes for tier in system.memory)
    needed = tables + workload.dense_bytes
    if needed > capacity:
        raise DoesNotFitError(
            f"{workload.name} does not fit {system.name}: a chip would hold"
            f" {needed / 2**30:.4g} GB of tables and weights,"
            f" but its memory ({', '.join(t.name for t in system.memory)})"
            f" holds {capacity / 2**30:.4g} GB"
        )
    exchange = load.pooled_exchange + load.sharded_exchange
    samples = workload.batch / system.chips
    rows = max(chip.read_bytes for chip in chips)
    values = workload.activations_per_sample * samples * ACTIVATION_BYTES
    pooled = workload.pooled_bytes_per_sample * samples
    return Footprint(
        embeddings=tables,
        dense_weights=workload.dense_bytes,
        gradients=workload.dense_bytes if training else 0.0,
        buffers=2 * (2 * load.index_bytes + 2 * exchange),
        activations=(values + pooled) * (2 if training else 1),
        kept_rows=rows if training else 0.0,
        capacity=capacity,
    )


def rows_that_fit(workload: Workload, system: System) -> int:
    """Rows per table when all tables have equally many and fill all memory of the system."""
    free = system.memory_bytes - system.chips * workload.dense_bytes
    per_row = sum(group.count * group.row_bytes for group in workload.tables)
    return max(int(free // per_row), 0)
