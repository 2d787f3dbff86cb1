"""Measurements of a DRAM front-end alone: one point, its outcome, and points that are kept."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from recspeed.models.bounds.visits import VisitBound
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import DramResult, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.measurements.dram_workload import QUEUE_DEPTH, random_run, request_bound
from recspeed.scripts.measurements.fidelities import (
    check_commands,
    check_shared_buses,
    fidelity_version,
    run_front_ends,
)
from recspeed.scripts.measurements.point import Point, digest_of
from recspeed.scripts.options import Fidelity, Refresh
from recspeed.scripts.reports.attribution import limiter

if TYPE_CHECKING:
    from recspeed.tb.checkers.jedec import JedecReport

READS = (CommandCode.RD, CommandCode.RDA)
WRITES = (CommandCode.WR, CommandCode.WRA)


@dataclass(frozen=True)
class DramPoint(Point):
    """One measurement to make: everything that its outcome depends on."""

    preset: MemoryPreset
    size: int
    """Bytes of each request."""
    fidelity: Fidelity
    requests: int
    settings: FrontEndSettings
    writes: float = 0.0
    hit_rate: float = 0.0
    queue_depth: int = QUEUE_DEPTH
    seed: int = 0
    pseudo_channels: int = 1
    """2: both of an HBM channel, each with such requests of its own, on shared command buses."""

    @property
    def key(self) -> str:
        """A digest of every input, the fidelity's sources included."""
        inputs = {
            "kind": "front-end",
            "preset": self.preset.model_dump(mode="json"),
            "size": self.size,
            "engine": self.fidelity.value,
            "version": fidelity_version(self.fidelity),
            "requests": self.requests,
            "settings": self.settings.model_dump(mode="json"),
            "writes": self.writes,
            "hit_rate": self.hit_rate,
            "queue_depth": self.queue_depth,
            "seed": self.seed,
            "pseudo_channels": self.pseudo_channels,
        }
        return digest_of(inputs)

    @property
    def build(self) -> str:
        if self.fidelity is not Fidelity.RTL:
            return ""
        return (
            f"front-end {self.pseudo_channels} {self.queue_depth} {self.preset.model_dump_json()}"
        )

    @property
    def immediate(self) -> bool:
        return self.fidelity is Fidelity.BOUND

    @property
    def title(self) -> str:
        return f"{self.preset.name} {self.size} B {self.fidelity}"

    def measure(self) -> "DramOutcome":
        """Run the RTL or golden model and replay its commands against JEDEC's rules.

        Raises
        ------
        UserError
            For a command that breaks a rule.
        """
        if self.fidelity is Fidelity.BOUND:
            return DramOutcome(float(self.bound.clocks * self.requests), {}, 1.0, "")
        return measure(self)

    def pack(self, outcome: "DramOutcome") -> dict:
        return asdict(outcome)

    def unpack(self, content: dict) -> "DramOutcome":
        return DramOutcome(**content)

    @property
    def refresh(self) -> Refresh:
        if not self.settings.refresh_group:
            return Refresh.OFF
        return Refresh.PER_BANK if self.settings.per_bank else Refresh.ALL_BANK

    @property
    def bound(self) -> VisitBound:
        """The JEDEC bound where every request opens its row."""
        return request_bound(
            self.preset, self.size, self.settings, self.writes, self.pseudo_channels
        )

    def runs(self) -> tuple[DramRun, ...]:
        """One run per pseudo channel; that of the second one has the next seed."""
        return tuple(
            random_run(
                self.preset,
                self.size,
                self.requests,
                settings=self.settings,
                writes=self.writes,
                hit_rate=self.hit_rate,
                queue_depth=self.queue_depth,
                seed=self.seed + number,
            )
            for number in range(self.pseudo_channels)
        )


@dataclass(frozen=True)
class DramOutcome:
    """What a point measured.

    Attributes
    ----------
    mixed
        Part of the run in which both directions still had bursts to move; 1 where there is one.
    digest
        SHA-256 of every command, completed write, and their clocks; empty for a bound.
    """

    cycles: float
    counters: dict[str, int]
    mixed: float
    digest: str


@dataclass(frozen=True)
class DramMeasured:
    """A point with its outcome, and the throughput that follows."""

    point: DramPoint
    outcome: DramOutcome

    @property
    def gb_per_s(self) -> float:
        """Requested bytes per nanosecond of one channel; what only fills a burst does not count."""
        point = self.point
        return point.requests * point.size * point.preset.clock_ghz / self.outcome.cycles

    @property
    def fraction_of_pin(self) -> float:
        return self.gb_per_s / self.point.preset.pin_gb_per_s

    @property
    def fraction_of_bound(self) -> float:
        """Of the bound where every request opens its row; row hits may exceed it."""
        return self.fraction_of_pin / self.point.bound.fraction_of_pin

    @property
    def counters(self) -> dict[Counter, int]:
        return {Counter[name]: value for name, value in self.outcome.counters.items()}

    @property
    def limiter(self) -> str:
        if self.point.fidelity is Fidelity.BOUND:
            return self.point.bound.limiter
        return limiter(self.counters, self.point.preset)


def outcome_of(runs: Sequence[DramRun], results: Sequence[DramResult]) -> DramOutcome:
    """Condense the results of a point: cycles and counters are the slower pseudo channel's."""
    digest = hashlib.sha256()
    for result in results:
        for array in (result.commands, result.written):
            digest.update(np.ascontiguousarray(array).tobytes())
    slower = max(range(len(results)), key=lambda number: results[number].cycles)
    run, result = runs[slower], results[slower]
    counters = {counter.name: int(value) for counter, value in result.counters.items()}
    return DramOutcome(result.cycles, counters, mixed_part(run, result), digest.hexdigest())


def mixed_part(run: DramRun, result: DramResult) -> float:
    """Part of the run that was over when the first direction had moved its last burst."""
    if not len(run.reads) or not len(run.writes):
        return 1.0
    commands = result.commands
    last = [
        int(commands["cycle"][np.isin(commands["command"], codes)][-1]) for codes in (READS, WRITES)
    ]
    return min(last) / result.cycles


def checks_of(point: DramPoint, results: Sequence[DramResult]) -> "list[JedecReport]":
    """JEDEC's rules on each log; of two pseudo channels, at last, on the buses that they share."""
    checks = [check_commands(point.preset, one.commands, point.settings) for one in results]
    if len(results) > 1:
        checks.append(check_shared_buses(point.preset, results))
    return checks


def measure(point: DramPoint) -> DramOutcome:
    """Run the RTL or golden model on `point` and replay its commands against JEDEC's rules.

    Raises
    ------
    UserError
        For a command that breaks a rule.
    """
    runs = point.runs()
    results = run_front_ends(point.fidelity, runs)
    for check in checks_of(point, results):
        if not check.legal:
            raise UserError(
                f"{point.preset.name}, {point.size} B: JEDEC violation: {check.violations[0]}",
                CHECK_FAILED,
            )
    return outcome_of(runs, results)
