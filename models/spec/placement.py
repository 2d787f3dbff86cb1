"""Where every embedding table lies: which chips and clusters hold which rows and columns.

A placement is plain integers, so that hardware, golden models and the performance model read the
same one, and a user may write it as TOML or JSON. `placement_from_strategy.py` makes one.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from recspeed.models.spec.frozen import Frozen, Positive
from recspeed.models.spec.toml import SpecificationError
from recspeed.models.spec.workload import TableGroup, Workload

Index = Annotated[int, Field(ge=0)]


class Sharding(StrEnum):
    """How a table is divided: not at all, by rows, by columns, or copied to every chip."""

    TABLE_WISE = "table-wise"
    ROW_WISE = "row-wise"
    COLUMN_WISE = "column-wise"
    REPLICATED = "replicated"


class Tier(StrEnum):
    """The kind of memory that a table lies in."""

    HBM = "hbm"
    DDR = "ddr"


class Shard(Frozen):
    """A rectangle of a table, in one cluster of one chip.

    Clusters are numbered in each tier of a chip: HBM stacks, DDR channels.
    """

    chip: Index
    cluster: Index = 0
    first_row: Index = 0
    rows: Positive
    first_column: Index = 0
    columns: Positive


class TablePlacement(Frozen):
    """One table of `rows` x `columns` values, its rows of `row_bytes` in memory, and its shards.

    Every value lies in exactly one shard, those of a replicated table in one on each chip.
    """

    rows: Positive
    columns: Positive
    row_bytes: Positive
    kind: Sharding
    tier: Tier = Tier.HBM
    shards: Annotated[tuple[Shard, ...], Field(min_length=1)]

    def part_bytes(self, shard: Shard) -> int:
        """Bytes of a shard's part of a row, rounded up."""
        return -(-self.row_bytes * shard.columns // self.columns)

    def shard_bytes(self, shard: Shard) -> int:
        """Bytes that a shard takes in memory."""
        return shard.rows * self.part_bytes(shard)

    @model_validator(mode="after")
    def _covers(self) -> Self:
        match self.kind:
            case Sharding.TABLE_WISE:
                if len(self.shards) != 1:
                    raise ValueError(f"a table-wise table has 1 shard (got {len(self.shards)})")
                self._check_whole("rows")
                self._check_whole("columns")
            case Sharding.ROW_WISE:
                self._check_cover("row")
                self._check_whole("columns")
            case Sharding.COLUMN_WISE:
                self._check_cover("column")
                self._check_whole("rows")
            case Sharding.REPLICATED:
                self._check_whole("rows")
                self._check_whole("columns")
        return self

    def _check_whole(self, axis: str) -> None:
        """Refuse a shard that has not all rows, or all columns."""
        wanted = getattr(self, axis)
        for number, shard in enumerate(self.shards):
            first, count = getattr(shard, f"first_{axis[:-1]}"), getattr(shard, axis)
            if (first, count) != (0, wanted):
                raise ValueError(
                    f"shard {number} of a {self.kind} table holds {axis} {first} to"
                    f" {first + count - 1}; expected 0 to {wanted - 1}"
                )

    def _check_cover(self, axis: str) -> None:
        """Refuse rows, or columns, that are in no shard or in two, or beyond the table."""
        size = getattr(self, f"{axis}s")
        begin = 0
        for shard in sorted(self.shards, key=lambda shard: getattr(shard, f"first_{axis}")):
            first = getattr(shard, f"first_{axis}")
            if first > begin:
                raise ValueError(f"{axis} {begin} is in no shard")
            if first < begin:
                raise ValueError(f"{axis} {first} is in two shards")
            begin = first + getattr(shard, f"{axis}s")
        if begin < size:
            raise ValueError(f"{axis} {begin} is in no shard")
        if begin > size:
            raise ValueError(f"{axis} {begin - 1} is outside the table; expected 0 to {size - 1}")


class Memory(Frozen):
    """Clusters of a tier of one chip, and the bytes of tables that a cluster can hold."""

    clusters: Positive = 1
    cluster_bytes: Positive | None = None


class Placement(Frozen):
    """Every table of a workload, in the workload's order, on `chips` equal chips."""

    chips: Positive
    memory: dict[Tier, Memory] = {Tier.HBM: Memory()}
    tables: Annotated[tuple[TablePlacement, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        for number, table in enumerate(self.tables):
            if table.tier not in self.memory:
                raise ValueError(f"table {number} lies in {table.tier}, which no chip has")
            clusters = self.memory[table.tier].clusters
            for shard in table.shards:
                for name, value, limit in (
                    ("chip", shard.chip, self.chips),
                    (f"{table.tier} cluster", shard.cluster, clusters),
                ):
                    if value >= limit:
                        raise ValueError(
                            f"table {number}: {name} {value}; expected 0 to {limit - 1}"
                        )
            held = sorted(shard.chip for shard in table.shards)
            if table.kind == Sharding.REPLICATED and held != list(range(self.chips)):
                raise ValueError(
                    f"table {number} is replicated on chips {held}; expected each of"
                    f" 0 to {self.chips - 1} once"
                )
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for tier, memory in self.memory.items():
            room = memory.cluster_bytes
            for (chip, cluster), held in self.cluster_bytes(tier).items():
                if room is not None and held > room:
                    raise ValueError(
                        f"{tier} cluster {cluster} of chip {chip} holds {held} bytes of tables;"
                        f" expected at most {room}"
                    )
        return self

    def shards(self) -> Iterator[tuple[TablePlacement, Shard]]:
        """Every shard with its table."""
        for table in self.tables:
            for shard in table.shards:
                yield table, shard

    def cluster_bytes(self, tier: Tier) -> dict[tuple[int, int], int]:
        """Bytes of tables by (chip, cluster) of a tier, for those that hold any."""
        held: dict[tuple[int, int], int] = {}
        for table, shard in self.shards():
            if table.tier == tier:
                place = (shard.chip, shard.cluster)
                held[place] = held.get(place, 0) + table.shard_bytes(shard)
        return held

    def chip_bytes(self) -> list[int]:
        """Bytes of tables on every chip, over all tiers."""
        held = [0] * self.chips
        for table, shard in self.shards():
            held[shard.chip] += table.shard_bytes(shard)
        return held

    def groups_of(self, workload: Workload) -> list[TableGroup]:
        """The workload's group of every table.

        Raises
        ------
        SpecificationError
            Where number or shape of the tables differ.
        """
        groups = [group for group in workload.tables for _ in range(group.count)]
        if len(groups) != len(self.tables):
            raise SpecificationError(
                f"a placement of {len(self.tables)} tables, but {workload.name} has {len(groups)}"
            )
        for number, (table, group) in enumerate(zip(self.tables, groups, strict=True)):
            shape = (table.columns, table.row_bytes)
            if shape != (group.dimension, group.row_bytes) or group.rows not in (
                table.rows,
                "fill",
            ):
                raise SpecificationError(
                    f"table {number} is placed as {table.rows} rows of {table.columns} values in"
                    f" {table.row_bytes} bytes, but {workload.name} has {group.rows} rows of"
                    f" {group.dimension} in {group.row_bytes}"
                )
        return groups
