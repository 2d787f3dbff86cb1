"""What the process that prepares runs and the cocotb test in the simulator tell each other."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recspeed.models.spec.registers import Counter

PLAN = "plan.json"
OUTCOMES = "outcomes.json"


@dataclass(frozen=True)
class PlannedRun:
    """Register writes, as `(address, value)`, and the clocks after which the run counts as hung."""

    registers: list[tuple[int, int]]
    cycle_limit: int


@dataclass(frozen=True)
class RunOutcome:
    """What a cocotb run reports besides the files of the peers."""

    counters: dict[Counter, int]
    law_violations: int
    timed_out: bool


def write_plan(folder: Path, runs: Sequence[PlannedRun]) -> None:
    """Leave the plan in `folder`."""
    plan = [{"registers": run.registers, "cycle_limit": run.cycle_limit} for run in runs]
    (folder / PLAN).write_text(json.dumps(plan))


def read_plan(folder: Path) -> list[PlannedRun]:
    """The plan in `folder`."""
    return [
        PlannedRun([(address, value) for address, value in run["registers"]], run["cycle_limit"])
        for run in json.loads((folder / PLAN).read_text())
    ]


def write_outcomes(folder: Path, outcomes: Sequence[RunOutcome]) -> None:
    """Leave the outcomes in `folder`."""
    entries = [
        {
            "counters": {counter.name: value for counter, value in outcome.counters.items()},
            "law_violations": outcome.law_violations,
            "timed_out": outcome.timed_out,
        }
        for outcome in outcomes
    ]
    (folder / OUTCOMES).write_text(json.dumps(entries))


def read_outcomes(folder: Path) -> list[RunOutcome]:
    """The outcomes in `folder`: fewer than planned if the watchdog ended one."""
    return [
        RunOutcome(
            counters={Counter[name]: value for name, value in entry["counters"].items()},
            law_violations=entry["law_violations"],
            timed_out=entry["timed_out"],
        )
        for entry in json.loads((folder / OUTCOMES).read_text())
    ]
