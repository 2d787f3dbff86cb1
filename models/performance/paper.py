"""The paper's printed results as data, and the model's answer to each."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from recspeed.models.performance import presets
from recspeed.models.performance.model import Evaluation, evaluate
from recspeed.models.performance.steps import Assumptions
from recspeed.models.spec.collective import WireFormat
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload

GIB = 2**30
DIVERGENT = 0.045
"""Largest relative error of a cell that counts as reached."""


@dataclass(frozen=True)
class Case:
    """One of the paper's four cases (Sec. V-A): small or large, unsharded or sharded."""

    name: str
    workload: str
    placement: str


CASES: tuple[Case, ...] = (
    Case("SU", "rm2-small", "unsharded"),
    Case("SS", "rm2-small", "fully-sharded"),
    Case("LU", "rm2-large", "unsharded"),
    Case("LS", "rm2-large", "fully-sharded"),
)


@dataclass(frozen=True)
class Row:
    """One line of `tables.csv`: what the paper prints, and what the model gives."""

    table: str
    system: str
    case: str
    quantity: str
    paper: float
    model: float

    @property
    def relative_error(self) -> float:
        """Model over paper, minus one."""
        return self.model / self.paper - 1


@dataclass(frozen=True)
class Variant:
    """A change of the model's inputs, applied to every case; the default changes nothing.

    `workload` and `system` map each specification to a changed one; `placement` maps the name of a
    case's placement; `schedule` overrides that of every system.
    """

    workload: Callable[[Workload], Workload] = lambda workload: workload
    system: Callable[[System], System] = lambda system: system
    placement: Callable[[str], str] = lambda name: name
    wire: WireFormat | None = None
    schedule: str | None = None
    assumptions: Assumptions = field(default_factory=Assumptions)


@cache
def results() -> dict[str, Any]:
    """Tables XVI and XVII and the axis labels of the figures, as printed."""
    path = presets.FOLDER / "paper" / "results.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def tables() -> dict[str, dict[str, Any]]:
    """The paper's tables of parameters by number: title and rows."""
    path = presets.FOLDER / "paper" / "tables.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return {table["number"]: table for table in data["tables"]}


@cache
def _workload(name: str) -> Workload:
    return presets.workload(name)


@cache
def _system(name: str) -> System:
    return presets.system(name)


def preset_value(path: str) -> Any:
    """The value of `preset:key.key.index` in the system or workload presets."""
    name, _, keys = path.partition(":")
    value: Any = _workload(name) if name in presets.names("workloads") else _system(name)
    for key in keys.split("."):
        value = value[int(key)] if key.isdigit() else getattr(value, key)
    return value


def evaluate_case(
    case: Case, system: str, training: bool, variant: Variant | None = None
) -> Evaluation:
    """One case on one system, under a variant."""
    change = variant or Variant()
    return evaluate(
        change.workload(_workload(case.workload)),
        change.system(_system(system)),
        replace(parse_placement(change.placement(case.placement)), wire=change.wire),
        schedule=change.schedule,
        training=training,
        assumptions=change.assumptions,
    )


def table_rows(variant: Variant | None = None) -> list[Row]:
    """All 32 cells of Tables XVI and XVII, in their order."""
    rows = []
    for table, mode, share in (
        ("XVI", "inference", "memory_utilisation"),
        ("XVII", "training", "all_reduce_share"),
    ):
        for system, quantities in results()[mode].items():
            for case in CASES:
                result = evaluate_case(case, system, mode == "training", variant)
                for quantity in ("qps", share):
                    paper = float(quantities[quantity][case.name])
                    model = float(getattr(result, quantity))
                    rows.append(Row(table, system, case.name, quantity, paper, model))
    return rows


def speedup_rows() -> list[Row]:
    """The last columns of Tables XVI and XVII, and the ranges that the abstract draws from them."""
    rows = []
    for table, mode in (("XVI", "inference"), ("XVII", "training")):
        ratios = {}
        for case in CASES:
            fast, slow = (
                evaluate_case(case, system, mode == "training").qps
                for system in ("recspeed-16", "dgx-2")
            )
            ratios[case.name] = fast / slow
            paper = float(results()["speedup"][mode][case.name])
            rows.append(Row(table, "recspeed-16", case.name, "speedup", paper, fast / slow))
        printed = results()["speedup"][mode].values()
        for name, pick in (("lowest_speedup", min), ("highest_speedup", max)):
            row = Row("abstract", "recspeed-16", mode, name, pick(printed), pick(ratios.values()))
            rows.append(row)
    return rows


def prose_rows() -> list[Row]:
    """Figures that the paper states in its text."""
    chip8 = evaluate_case(CASES[0], "recspeed-8", training=False)
    large8 = evaluate_case(CASES[2], "recspeed-8", training=False)
    recspeed = _system("recspeed-16")
    fast = recspeed.memory[0].capacity_bytes * recspeed.chips
    xeon = _system("xeon-ddr4").memory[0].capacity_bytes
    growth = large8.messages["embedding_exchange"] / chip8.messages["embedding_exchange"]
    lookups = large8.load.chips[0].read_bytes / chip8.load.chips[0].read_bytes
    small = _workload("rm2-small")
    pairs = small.interaction_width - small.bottom_mlp[-1]
    exchange = chip8.messages
    return [
        Row("Sec. VI-B", "recspeed-8", "SU", "index_bytes", 320e3, exchange["index_exchange"]),
        Row("Sec. VI-B", "recspeed-8", "SU", "pooled_bytes", 64e3, exchange["embedding_exchange"]),
        Row("Sec. VI-B", "recspeed-8", "LU/SU", "pooled_bytes_growth", 12.0, growth),
        Row("Sec. VI-B", "recspeed-8", "LU/SU", "lookup_bytes_growth", 12.0, lookups),
        Row("Sec. VII-A", "recspeed-16", "all", "memory_tib", 5.5, recspeed.memory_bytes / 2**40),
        Row("Sec. VII-A", "recspeed-16", "all", "hbm_share", 0.27, fast / recspeed.memory_bytes),
        Row("I", "xeon-ddr4", "all", "memory_tib", 1.5, xeon / 2**40),
        Row("III-D", "any", "RM2", "interaction_pairs", 41 * 40 / 2, pairs),
    ]


def printed_decimals(row: Row) -> int:
    """Digits after the point with which the paper prints a cell (thousands of QPS, or percent)."""
    mode = "inference" if row.table == "XVI" else "training"
    order = [case.name for case in CASES].index(row.case)
    return int(results()["decimals"][f"{mode}.{row.system}.{row.quantity}"][order])


def rounds_to_printed(row: Row) -> bool:
    """True when the model's value, rounded like the paper's, prints the same."""
    scale = 1e-3 if row.quantity == "qps" else 100
    digits = printed_decimals(row)
    return f"{row.model * scale:.{digits}f}" == f"{row.paper * scale:.{digits}f}"
