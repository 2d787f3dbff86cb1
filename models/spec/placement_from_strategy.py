"""The integer placement that a strategy asks for.

Real chips hold whole tables and whole rows: `unsharded` is placed as `table-wise`, the nearest that
integers allow to the perfect balance that it stands for; `fully-sharded` and `row-wise` give every
cluster a range of rows, as many as the others or one less.
"""

from copy import deepcopy
from math import inf

from recspeed.models.spec.placement import (
    Memory,
    Placement,
    Shard,
    Sharding,
    TablePlacement,
    Tier,
)
from recspeed.models.spec.placement_strategy import (
    PlacementStrategy,
    Rule,
    column_parts,
    hottest_first,
    least_loaded,
)
from recspeed.models.spec.toml import SpecificationError
from recspeed.models.spec.workload import FILL_MEMORY, TableGroup, Workload

_BY_ROWS = ("fully-sharded", "row-wise")


def placement_from_strategy(
    workload: Workload,
    strategy: PlacementStrategy,
    chips: int,
    *,
    memory: dict[Tier, Memory] | None = None,
    fill_rows: int | None = None,
) -> Placement:
    """Place every table of a workload, those with the most bytes to read first.

    Parameters
    ----------
    memory
        Tiers of a chip; by default one cluster of HBM without a limit. A table lies in HBM while it
        fits there, else in DDR.
    fill_rows
        Rows of a table whose size is "fill".

    Raises
    ------
    SpecificationError
        For a strategy that does not match the tables, tables of unknown size without `fill_rows`,
        and a table that no tier has room for.
    """
    builder = _Builder(workload, chips, memory or {Tier.HBM: Memory()})
    numbers = _numbers_by_group(workload)
    tables: dict[int, TablePlacement] = {}
    for rule, group in hottest_first(workload, strategy):
        if group.rows == FILL_MEMORY and fill_rows is None:
            raise SpecificationError(
                f'{workload.name} has tables of "fill" rows; a placement needs their number'
            )
        rows = fill_rows if group.rows == FILL_MEMORY else group.rows
        for _ in range(group.count):
            number = numbers[_shape(group)].pop(0)
            tables[number] = builder.place(number, rule, group, int(rows or 0))
    return Placement(
        chips=chips, memory=builder.memory, tables=tuple(tables[n] for n in sorted(tables))
    )


def _shape(group: TableGroup) -> TableGroup:
    return group.model_copy(update={"count": 1})


def _numbers_by_group(workload: Workload) -> dict[TableGroup, list[int]]:
    """Numbers of the tables of each shape: tables of one shape are placed in their order."""
    numbers: dict[TableGroup, list[int]] = {}
    number = 0
    for group in workload.tables:
        numbers.setdefault(_shape(group), []).extend(range(number, number + group.count))
        number += group.count
    return numbers


class _Builder:
    """What every chip reads per batch, and what its clusters hold, so far."""

    def __init__(self, workload: Workload, chips: int, memory: dict[Tier, Memory]) -> None:
        self.batch, self.memory = workload.batch, memory
        self.accesses: list[dict[int, float]] = [{} for _ in range(chips)]
        self.held = {
            tier: [[0] * each.clusters for _ in range(chips)] for tier, each in memory.items()
        }

    def place(self, number: int, rule: Rule, group: TableGroup, rows: int) -> TablePlacement:
        """The place of one table, in the first tier that has room."""
        for tier in (tier for tier in Tier if tier in self.memory):
            before = deepcopy((self.accesses, self.held))
            if rule.strategy in _BY_ROWS:
                kind, shards = Sharding.ROW_WISE, self._by_rows(tier, group, rows)
            else:
                parts = column_parts(rule, group, len(self.accesses))
                kind = Sharding.COLUMN_WISE if parts > 1 else Sharding.TABLE_WISE
                shards = self._by_columns(tier, group, rows, parts)
            if self._fits(tier):
                return TablePlacement(
                    rows=rows,
                    columns=group.dimension,
                    row_bytes=group.row_bytes,
                    kind=kind,
                    tier=tier,
                    shards=tuple(shards),
                )
            self.accesses, self.held = before
        raise SpecificationError(
            f"table {number} of {rows * group.row_bytes} bytes does not fit:"
            f" {', '.join(self.memory)} of {len(self.accesses)} chips have no room left"
        )

    def _fits(self, tier: Tier) -> bool:
        room = self.memory[tier].cluster_bytes
        return room is None or max(max(clusters) for clusters in self.held[tier]) <= room

    def _take(
        self, tier: Tier, chip: int, cluster: int, size: int, width: int, lookups: float
    ) -> None:
        """Count a part of `size` bytes, read in pieces of `width` bytes."""
        self.held[tier][chip][cluster] += size
        accesses = self.accesses[chip]
        accesses[width] = accesses.get(width, 0.0) + lookups

    def _by_rows(self, tier: Tier, group: TableGroup, rows: int) -> list[Shard]:
        """A range of rows for every cluster of every chip, as long as there are rows."""
        clusters = self.memory[tier].clusters
        slices = len(self.accesses) * clusters
        shards, first = [], 0
        for place in range(slices):
            count = rows // slices + (place < rows % slices)
            if count:
                chip, cluster = divmod(place, clusters)
                lookups = self.batch * group.lookups * count / rows
                self._take(tier, chip, cluster, count * group.row_bytes, group.row_bytes, lookups)
                shards.append(
                    Shard(
                        chip=chip,
                        cluster=cluster,
                        first_row=first,
                        rows=count,
                        columns=group.dimension,
                    )
                )
            first += count
        return shards

    def _by_columns(self, tier: Tier, group: TableGroup, rows: int, parts: int) -> list[Shard]:
        """`parts` equal ranges of columns, each in the emptiest cluster of a chip."""
        width = -(-group.row_bytes // parts)
        columns = group.dimension // parts
        room = self.memory[tier].cluster_bytes or inf
        shards = []
        for part in range(parts):
            read = [sum(size * n for size, n in each.items()) for each in self.accesses]
            held = [min(clusters) for clusters in self.held[tier]]
            chip = least_loaded(read, held, rows * width, room)
            cluster = self.held[tier][chip].index(held[chip])
            self._take(tier, chip, cluster, rows * width, width, self.batch * group.lookups)
            shards.append(
                Shard(
                    chip=chip,
                    cluster=cluster,
                    rows=rows,
                    first_column=part * columns,
                    columns=columns,
                )
            )
        return shards
