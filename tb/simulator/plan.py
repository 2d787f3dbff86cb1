"""What the process that prepares runs and the cocotb test in the simulator tell each other."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recspeed.models.spec.register_map import Counter

PLAN = "plan.json"
OUTCOMES = "outcomes.json"

COUNTER_STRIDE = 64
"""Addresses between two sets of counters of one harness."""


@dataclass(frozen=True)
class PlannedRun:
    """Register writes, as `(address, value)`, and the clocks after which the run counts as hung."""

    registers: list[tuple[int, int]]
    cycle_limit: int
    counter_sets: int = 1
    """Sets of counters that the harness has, `COUNTER_STRIDE` apart."""


@dataclass(frozen=True)
class RunOutcome:
    """What a cocotb run reports besides the files of the peers."""

    counter_sets: list[dict[Counter, int]]
    law_violations: int
    timed_out: bool

    @property
    def counters(self) -> dict[Counter, int]:
        """The first set, of most harnesses the only one."""
        return self.counter_sets[0]


def write_plan(folder: Path, runs: Sequence[PlannedRun]) -> None:
    """Leave the plan in `folder`."""
    (folder / PLAN).write_text(json.dumps([asdict(run) for run in runs]))


def read_plan(folder: Path) -> list[PlannedRun]:
    """The plan in `folder`."""
    return [
        PlannedRun(
            [(address, value) for address, value in run["registers"]],
            run["cycle_limit"],
            run["counter_sets"],
        )
        for run in json.loads((folder / PLAN).read_text())
    ]


def write_outcomes(folder: Path, outcomes: Sequence[RunOutcome]) -> None:
    """Leave the outcomes in `folder`."""
    entries = [
        {
            "counter_sets": [
                {counter.name: value for counter, value in counters.items()}
                for counters in outcome.counter_sets
            ],
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
            counter_sets=[
                {Counter[name]: value for name, value in counters.items()}
                for counters in entry["counter_sets"]
            ],
            law_violations=entry["law_violations"],
            timed_out=entry["timed_out"],
        )
        for entry in json.loads((folder / OUTCOMES).read_text())
    ]
