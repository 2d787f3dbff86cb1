"""Where embedding tables lie, and what that asks of every chip (paper Secs. IV-A and V-A).

Strategies:

- `unsharded`: tables lie whole in one chip, perfectly balanced whatever the number of tables. This
  is the paper's idealisation: its 40 tables on 16 chips would be 2.5 tables each.
- `fully-sharded`: every table is spread vector by vector over all chips.
- `table-wise`: whole tables on real chips, fullest first to the least loaded chip.
- `row-wise`: rows of every table spread over all chips; each chip pools its own rows and sends
  partial sums.
- `column-wise/k`: every table cut in k column parts, parts placed like whole tables.

A placement is a list of rules `strategy[/k][:tables]`; rules take tables in the workload's order.
"""

from dataclasses import dataclass, field
from typing import Literal

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.workload import (
    ACTIVATION_BYTES,
    FILL_MEMORY,
    TableGroup,
    Workload,
)

Strategy = Literal["unsharded", "fully-sharded", "table-wise", "row-wise", "column-wise"]
STRATEGIES: tuple[Strategy, ...] = (
    "unsharded",
    "fully-sharded",
    "table-wise",
    "row-wise",
    "column-wise",
)
EVEN = ("unsharded", "fully-sharded", "row-wise")
"""Strategies that load every chip alike."""

WireFormat = Literal["unpooled", "fp16", "fp32", "exact"]
WIRE_FORMATS: tuple[WireFormat, ...] = ("unpooled", "fp16", "fp32", "exact")
"""What a sharded exchange sends: rows, or partial sums of each chip's rows in one of three
formats.
"""


def partial_sum_bytes(dimension: int, wire: WireFormat, largest_bag: float) -> float:
    """Bytes of one vector of partial sums.

    `exact` sends the fixed-point sums whose order does not matter: 41 bits hold any FP16 value in
    units of 2^-24, and the largest bag adds log2 of its size, rounded up to whole bytes.
    """
    if wire == "exact":
        guard = max(int(largest_bag) - 1, 0).bit_length()
        return dimension * (-(-(41 + guard) // 8))
    return dimension * (4 if wire == "fp32" else ACTIVATION_BYTES)


@dataclass(frozen=True)
class Rule:
    """One strategy for a number of tables (None: all that are left); `parts` for column-wise."""

    strategy: Strategy
    tables: int | None = None
    parts: int | None = None

    def __str__(self) -> str:
        parts = "" if self.parts is None else f"/{self.parts}"
        return f"{self.strategy}{parts}" + ("" if self.tables is None else f":{self.tables}")


@dataclass(frozen=True)
class Placement:
    """A list of rules, and the format of a sharded exchange."""

    rules: tuple[Rule, ...]
    wire: WireFormat = "unpooled"

    def __str__(self) -> str:
        return ",".join(map(str, self.rules))


def parse_placement(text: str, wire: str = "unpooled") -> Placement:
    """`Placement` of e.g. `unsharded`, `column-wise/4`, or `row-wise:10,table-wise:30`."""
    if wire not in WIRE_FORMATS:
        raise SpecificationError(
            f"wire format '{wire}' does not exist; there are {', '.join(WIRE_FORMATS)}"
        )
    rules = []
    for part in text.split(","):
        head, _, count = part.strip().partition(":")
        name, _, parts = head.partition("/")
        if name not in STRATEGIES:
            raise SpecificationError(
                f"placement '{name}' does not exist; there are {', '.join(STRATEGIES)}"
            )
        for label, number in (("number of tables", count), ("number of parts", parts)):
            if number and (not number.isdigit() or int(number) < 1):
                raise SpecificationError(
                    f"placement '{part}': the {label} must be a whole number > 0"
                )
        if parts and name != "column-wise":
            raise SpecificationError(f"placement '{part}': only column-wise takes /parts")
        rules.append(Rule(name, int(count) if count else None, int(parts) if parts else None))
    if any(rule.tables is None for rule in rules[:-1]):
        raise SpecificationError(
            f"placement '{text}': only the last rule may leave out its number of tables"
        )
    return Placement(tuple(rules), wire)


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


def _assign(workload: Workload, placement: Placement) -> list[tuple[Rule, TableGroup]]:
    """(rule, group) pairs: the workload's tables in order, cut at the borders of rules."""
    pending = [(group, group.count) for group in workload.tables]
    total = workload.table_count
    result = []
    for rule in placement.rules:
        wanted = rule.tables if rule.tables is not None else sum(n for _, n in pending)
        while wanted and pending:
            group, left = pending[0]
            take = min(left, wanted)
            result.append((rule, group.model_copy(update={"count": take})))
            wanted -= take
            pending[0] = (group, left - take)
            if left == take:
                pending.pop(0)
        if wanted:
            raise SpecificationError(
                f"placement '{placement}' places more tables than the {total} of {workload.name}"
            )
    if pending:
        left = sum(n for _, n in pending)
        raise SpecificationError(
            f"placement '{placement}' leaves {left} of the {total} tables of {workload.name}"
            f" without a place"
        )
    return result


def _table_bytes(group: TableGroup) -> float:
    return 0.0 if group.rows == FILL_MEMORY else float(group.rows) * group.row_bytes


def _spread(loads: list[ChipLoad], group: TableGroup, chips: int, batch: float, width: int) -> None:
    """Give every chip 1 / `chips` of a group's rows, lookups and indices (`width` bytes each)."""
    share = group.count / chips
    for load in loads:
        lookups = batch * group.lookups * share
        load.accesses[group.row_bytes] = load.accesses.get(group.row_bytes, 0.0) + lookups
        load.table_bytes += _table_bytes(group) * share
        load.index_bytes += lookups * width


def _place_whole(
    loads: list[ChipLoad], group: TableGroup, parts: int, workload: Workload, capacity: float
) -> None:
    """Put `parts` column parts of each table on the chips with the fewest bytes to read so far.

    Chips without room for a part are passed over as long as some chip has room.
    """
    if group.dimension % parts:
        raise SpecificationError(
            f"column-wise/{parts}: dimension {group.dimension} is not a multiple of {parts}"
        )
    row = -(-group.row_bytes // parts)
    pooled = group.pooled_bytes // parts
    size = _table_bytes(group) / parts
    lookups = workload.batch * group.lookups
    for _ in range(group.count * parts):
        roomy = [load for load in loads if load.table_bytes + size <= capacity]
        load = min(roomy or loads, key=lambda load: (load.read_bytes, load.table_bytes))
        load.accesses[row] = load.accesses.get(row, 0.0) + lookups
        load.cross(pooled, workload.batch)
        load.table_bytes += size
        load.index_bytes += lookups * workload.index_bytes
        load.pooled_bytes += workload.batch * pooled


def place(
    workload: Workload, placement: Placement, chips: int, capacity: float = float("inf")
) -> PlacementLoad:
    """Distribute the workload's tables over `chips` chips and count the load of each.

    `capacity` is the table bytes that one chip can hold. On a single chip nothing is exchanged, so
    a sharded table is pooled where it lies.
    """
    batch = float(workload.batch)
    ordered = sorted(
        _assign(workload, placement),
        key=lambda pair: (-pair[1].row_bytes * pair[1].lookups, -_table_bytes(pair[1])),
    )
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
            if rule.strategy == "row-wise" and wire == "unpooled":
                wire = "fp32"
            gradient += batch * group.count * group.pooled_bytes / chips
            unpooled = unpooled or wire == "unpooled"
            if wire == "unpooled":
                vector, count = group.row_bytes, batch * group.count * group.lookups / chips
            else:
                touched = 1 - (1 - 1 / chips) ** group.lookups
                vector = partial_sum_bytes(group.dimension, wire, group.lookups)
                count = batch * group.count * touched
            sharded += count * vector
            for load in loads:
                load.cross(vector, count)
        else:
            parts = rule.parts or (chips if rule.strategy == "column-wise" else 1)
            _place_whole(loads, group, parts, workload, capacity)
    return PlacementLoad(
        chips=tuple(loads) * (chips if even else 1),
        index_bytes=max(load.index_bytes for load in loads),
        pooled_exchange=max(load.pooled_bytes for load in loads),
        sharded_exchange=sharded,
        sharded_gradient=gradient,
        unpooled=unpooled,
        identical=even,
    )
