"""What a placement asks of every chip: rows to read, bytes to hold, indices and vectors to send.

`place` counts the load of a strategy; in `unsharded` it is the paper's perfect balance, which no
placement of whole tables need reach. `placement_loads` counts that of an integer placement.
"""

from dataclasses import dataclass, field

from recspeed.models.spec.collective import WireFormat
from recspeed.models.spec.placement import Placement, Sharding
from recspeed.models.spec.placement_strategy import (
    EVEN,
    PlacementStrategy,
    column_parts,
    hottest_first,
    known_bytes,
    least_loaded,
)
from recspeed.models.spec.workload import ACTIVATION_BYTES, TableGroup, Workload


def partial_sum_bytes(dimension: int, wire: WireFormat, largest_bag: float) -> float:
    """Bytes of one vector of partial sums.

    `exact` sends the fixed-point sums whose order does not matter: 41 bits hold any FP16 value in
    units of 2^-24, and the largest bag adds log2 of its size, rounded up to whole bytes.
    """
    if wire == WireFormat.EXACT:
        guard = max(int(largest_bag) - 1, 0).bit_length()
        return dimension * (-(-(41 + guard) // 8))
    return dimension * (4 if wire == WireFormat.FP32 else ACTIVATION_BYTES)


@dataclass
class ChipLoad:
    """What one batch asks of one chip. Keys are bytes per vector, values are counts per batch.

    `accesses` are rows that memory reads; `bags` are vectors that leave a memory that pools by
    itself.
    """

    accesses: dict[int, float] = field(default_factory=dict)
    bags: dict[float, float] = field(default_factory=dict)
    table_bytes: float = 0.0
    index_bytes: float = 0.0
    pooled_bytes: float = 0.0

    def cross(self, vector_bytes: float, count: float) -> None:
        """Count `count` vectors of `vector_bytes` that leave the memory, pooled or not."""
        self.bags[vector_bytes] = self.bags.get(vector_bytes, 0.0) + count

    @property
    def lookups(self) -> float:
        """Rows read per batch."""
        return sum(self.accesses.values())

    @property
    def read_bytes(self) -> float:
        """Bytes of the rows read per batch."""
        return sum(size * count for size, count in self.accesses.items())


@dataclass(frozen=True)
class PlacementLoad:
    """Loads of all chips and the volumes of each exchange, in bytes per chip and batch.

    `index_bytes` is the indices that the busiest chip receives, its own part included;
    `pooled_exchange` the pooled vectors that the busiest chip owns (all-to-all);
    `sharded_exchange` what every chip holds for all destinations (unpooled rows or partial sums);
    `sharded_gradient` the block of pooled gradients that every chip gathers to all others.
    """

    chips: tuple[ChipLoad, ...]
    index_bytes: float
    pooled_exchange: float
    sharded_exchange: float
    sharded_gradient: float
    unpooled: bool
    identical: bool

    @property
    def balance(self) -> float:
        """Mean over maximum of the bytes that a chip reads: 1 is perfect."""
        loads = [chip.read_bytes for chip in self.chips]
        return sum(loads) / len(loads) / max(loads)


def _spread(loads: list[ChipLoad], group: TableGroup, chips: int, batch: float, width: int) -> None:
    """Give every chip 1 / `chips` of a group's rows, lookups and indices (`width` bytes each)."""
    share = group.count / chips
    for load in loads:
        lookups = batch * group.lookups * share
        load.accesses[group.row_bytes] = load.accesses.get(group.row_bytes, 0.0) + lookups
        load.table_bytes += known_bytes(group) * share
        load.index_bytes += lookups * width


def _place_whole(
    loads: list[ChipLoad], group: TableGroup, parts: int, workload: Workload, capacity: float
) -> None:
    """Put `parts` column parts of each table on the chips with the fewest bytes to read so far."""
    row = -(-group.row_bytes // parts)
    pooled = group.pooled_bytes // parts
    size = known_bytes(group) / parts
    lookups = workload.batch * group.lookups
    for _ in range(group.count * parts):
        read, held = [load.read_bytes for load in loads], [load.table_bytes for load in loads]
        load = loads[least_loaded(read, held, size, capacity)]
        load.accesses[row] = load.accesses.get(row, 0.0) + lookups
        load.cross(pooled, workload.batch)
        load.table_bytes += size
        load.index_bytes += lookups * workload.index_bytes
        load.pooled_bytes += workload.batch * pooled


def place(
    workload: Workload, placement: PlacementStrategy, chips: int, capacity: float = float("inf")
) -> PlacementLoad:
    """Distribute the workload's tables over `chips` chips and count the load of each.

    `capacity` is the table bytes that one chip can hold. On a single chip nothing is exchanged, so
    a sharded table is pooled where it lies.
    """
    batch = float(workload.batch)
    ordered = hottest_first(workload, placement)
    even = all(rule.strategy in EVEN for rule, _ in ordered)
    loads = [ChipLoad() for _ in range(1 if even else chips)]
    sharded = gradient = 0.0
    unpooled = False
    for rule, group in ordered:
        if rule.strategy in EVEN:
            _spread(loads, group, chips, batch, workload.index_bytes)
        if rule.strategy == "unsharded" or (chips == 1 and rule.strategy in EVEN):
            for load in loads:
                load.cross(group.pooled_bytes, batch * group.count / chips)
                load.pooled_bytes += batch * group.count * group.pooled_bytes / chips
        elif rule.strategy in EVEN:
            wire = placement.wire
            if rule.strategy == "row-wise" and wire is None:
                wire = WireFormat.FP32
            gradient += batch * group.count * group.pooled_bytes / chips
            unpooled = unpooled or wire is None
            if wire is None:
                vector, count = group.row_bytes, batch * group.count * group.lookups / chips
            else:
                touched = 1 - (1 - 1 / chips) ** group.lookups
                vector = partial_sum_bytes(group.dimension, wire, group.lookups)
                count = batch * group.count * touched
            sharded += count * vector
            for load in loads:
                load.cross(vector, count)
        else:
            _place_whole(loads, group, column_parts(rule, group, chips), workload, capacity)
    return PlacementLoad(
        chips=tuple(loads) * (chips if even else 1),
        index_bytes=max(load.index_bytes for load in loads),
        pooled_exchange=max(load.pooled_bytes for load in loads),
        sharded_exchange=sharded,
        sharded_gradient=gradient,
        unpooled=unpooled,
        identical=even,
    )


def placement_loads(workload: Workload, placement: Placement) -> tuple[ChipLoad, ...]:
    """The load of every chip under an integer placement, where all rows are looked up alike.

    `bags` has whole tables' and column parts' vectors; what rows send depends on the wire format.
    A replicated table is read by every chip for its own samples, and sends nothing.

    Raises
    ------
    SpecificationError
        For a placement of other tables than the workload's.
    """
    loads = tuple(ChipLoad() for _ in range(placement.chips))
    for table, group in zip(placement.tables, placement.groups_of(workload), strict=True):
        for shard in table.shards:
            load = loads[shard.chip]
            lookups = workload.batch * group.lookups * shard.rows / table.rows
            load.table_bytes += table.shard_bytes(shard)
            size = table.part_bytes(shard)
            if table.kind == Sharding.REPLICATED:
                lookups /= placement.chips
            else:
                load.index_bytes += lookups * workload.index_bytes
            load.accesses[size] = load.accesses.get(size, 0.0) + lookups
            if table.kind in (Sharding.TABLE_WISE, Sharding.COLUMN_WISE):
                pooled = shard.columns * ACTIVATION_BYTES
                load.cross(pooled, workload.batch)
                load.pooled_bytes += workload.batch * pooled
    return loads
