"""How tables are to be placed, as a user says it: strategies by name.

- `unsharded`: tables lie whole in one chip, perfectly balanced whatever the number of tables. This
  is the paper's idealisation: its 40 tables on 16 chips would be 2.5 tables each.
- `fully-sharded`: every table is spread vector by vector over all chips.
- `table-wise`: whole tables on real chips, fullest first to the least loaded chip.
- `row-wise`: rows of every table spread over all chips; each chip pools its own rows and sends
  partial sums.
- `column-wise/k`: every table cut in k column parts, parts placed like whole tables.

A strategy is a list of rules `strategy[/k][:tables]`; rules take tables in the workload's order.
Where every table then lies, in integers, is in `placement.py`. Source: paper Secs. IV-A and V-A.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recspeed.models.spec.collective import WireFormat
from recspeed.models.spec.toml import SpecificationError
from recspeed.models.spec.workload import FILL_MEMORY, TableGroup, Workload

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

UNPOOLED = "unpooled"
WIRES = (UNPOOLED, *(wire.text for wire in WireFormat))
"""What a sharded exchange sends, by name: rows, or partial sums of each chip's rows in a format."""


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
class PlacementStrategy:
    """A list of rules, and the format of a sharded exchange: None where it sends rows."""

    rules: tuple[Rule, ...]
    wire: WireFormat | None = None

    def __str__(self) -> str:
        return ",".join(map(str, self.rules))


def parse_placement(text: str, wire: str = UNPOOLED) -> PlacementStrategy:
    """`PlacementStrategy` of e.g. `unsharded`, `column-wise/4`, or `row-wise:10,table-wise:30`."""
    if wire not in WIRES:
        raise SpecificationError(
            f"wire format '{wire}' does not exist; there are {', '.join(WIRES)}"
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
    return PlacementStrategy(tuple(rules), None if wire == UNPOOLED else WireFormat[wire.upper()])


def assign_rules(workload: Workload, placement: PlacementStrategy) -> list[tuple[Rule, TableGroup]]:
    """(rule, group) pairs: the workload's tables in order, cut at the borders of rules.

    Raises
    ------
    SpecificationError
        For rules of more or fewer tables than the workload has.
    """
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


def known_bytes(group: TableGroup) -> float:
    """Bytes of one table of a group, 0 where its size is unknown."""
    return 0.0 if group.rows == FILL_MEMORY else float(group.rows) * group.row_bytes


def hottest_first(
    workload: Workload, placement: PlacementStrategy
) -> list[tuple[Rule, TableGroup]]:
    """`assign_rules` in the order of placing: most bytes to read per sample first, then largest."""
    return sorted(
        assign_rules(workload, placement),
        key=lambda pair: (-pair[1].row_bytes * pair[1].lookups, -known_bytes(pair[1])),
    )


def column_parts(rule: Rule, group: TableGroup, chips: int) -> int:
    """Parts in which a rule that places whole tables or columns cuts each table.

    Raises
    ------
    SpecificationError
        Where the dimension is not a multiple of the parts.
    """
    parts = rule.parts or (chips if rule.strategy == "column-wise" else 1)
    if group.dimension % parts:
        raise SpecificationError(
            f"column-wise/{parts}: dimension {group.dimension} is not a multiple of {parts}"
        )
    return parts


def least_loaded(read: Sequence[float], held: Sequence[float], size: float, capacity: float) -> int:
    """The chip that gets the next part, of `size` bytes: the one with the fewest bytes to read.

    `read`, `held`: bytes that every chip reads per batch, and that it holds. Among equals the one
    that holds least, then the first. Chips without room are passed over as long as some chip has
    room within `capacity`.
    """
    chips = range(len(read))
    roomy = [chip for chip in chips if held[chip] + size <= capacity]
    return min(roomy or chips, key=lambda chip: (read[chip], held[chip]))
