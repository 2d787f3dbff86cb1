"""Throughput of a memory channel per embedding size: points, what they measure, their CSV."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from recspeed.models.runs.cluster import ClusterResult
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.scripts.measurements.cluster_workload import LOOKUPS_PER_BAG, uniform_run
from recspeed.scripts.measurements.fidelities import channel_bound, fidelity_version, run_channel
from recspeed.scripts.measurements.memory_systems import chip_channels
from recspeed.scripts.measurements.point import Point, digest_of
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.attribution import limiter

COLUMNS = (
    "memory",
    "embedding_bytes",
    "dtype",
    "engine",
    "lookups",
    "cycles",
    "clock_ghz",
    "gb_per_s_channel",
    "gb_per_s_chip",
    "fraction_of_bound",
    "fraction_of_pin",
    "limiter",
)


@dataclass(frozen=True)
class ClusterPoint(Point):
    """One measurement to make: everything that its outcome depends on."""

    preset: MemoryPreset
    size: int
    """Embedding bytes."""
    fidelity: Fidelity
    lookups: int
    settings: ClusterSettings
    seed: int

    @property
    def key(self) -> str:
        """A digest of every input, the fidelity's sources included."""
        inputs = {
            "preset": self.preset.model_dump(mode="json"),
            "size": self.size,
            "engine": self.fidelity.value,
            "version": fidelity_version(self.fidelity),
            "lookups": self.lookups,
            "lookups_per_bag": LOOKUPS_PER_BAG,
            "settings": self.settings.model_dump(mode="json"),
            "parameters": ClusterParameters().model_dump(mode="json"),
            "seed": self.seed,
        }
        return digest_of(inputs)

    @property
    def build(self) -> str:
        if self.fidelity is not Fidelity.RTL:
            return ""
        return f"cluster {self.preset.model_dump_json()}"

    @property
    def immediate(self) -> bool:
        return self.fidelity is Fidelity.BOUND

    @property
    def title(self) -> str:
        return f"{self.preset.name} {self.size} B {self.fidelity}"

    def measure(self) -> "Outcome":
        """Run the RTL or golden model, or count by the bound's formula."""
        if self.fidelity is Fidelity.BOUND:
            clocks, _ = channel_bound(self.preset, self.size, self.settings)
            return Outcome(clocks * self.lookups, {}, "")
        return measure(self)

    def pack(self, outcome: "Outcome") -> dict:
        return asdict(outcome)

    def unpack(self, content: dict) -> "Outcome":
        return Outcome(**content)


@dataclass(frozen=True)
class Outcome:
    """What a point measured.

    Attributes
    ----------
    cycles
        Clocks of the run; of a bound, clocks that no run of as many lookups can do without.
    counters
        Performance counters by name; none for a bound.
    digest
        SHA-256 of every result bit and the clock of every output transfer; empty for a bound.
    """

    cycles: float
    counters: dict[str, int]
    digest: str

    def by_counter(self) -> dict[Counter, int]:
        return {Counter[name]: value for name, value in self.counters.items()}


@dataclass(frozen=True)
class Measured:
    """A point with its outcome, and the throughput that follows."""

    point: ClusterPoint
    outcome: Outcome
    bound_cycles: float
    bound_limiter: str

    @property
    def limiter(self) -> str:
        """What held it back; of a bound, its largest term."""
        if self.point.fidelity is Fidelity.BOUND:
            return self.bound_limiter
        return limiter(self.outcome.by_counter(), self.point.preset)

    @property
    def gb_per_s(self) -> float:
        """Embedding bytes per nanosecond of one channel; padding does not count."""
        point = self.point
        return point.lookups * point.size * point.preset.clock_ghz / self.outcome.cycles

    @property
    def gb_per_s_chip(self) -> float:
        return self.gb_per_s * chip_channels(self.point.preset)

    @property
    def fraction_of_bound(self) -> float:
        return self.bound_cycles / self.outcome.cycles

    @property
    def fraction_of_pin(self) -> float:
        return self.gb_per_s / self.point.preset.pin_gb_per_s


def plan(
    presets: Sequence[MemoryPreset],
    sizes: Sequence[int],
    fidelities: Sequence[Fidelity],
    lookups: int,
    settings: ClusterSettings,
    seed: int,
) -> list[ClusterPoint]:
    """Every point, in the order of the CSV; a size that fits no burst is refused here."""
    for preset in presets:
        for size in sizes:
            uniform_run(preset, size, 1, settings, seed)
    return [
        ClusterPoint(preset, size, fidelity, lookups, settings, seed)
        for preset in presets
        for size in sizes
        for fidelity in fidelities
    ]


def measure(point: ClusterPoint) -> Outcome:
    """Run the RTL or golden model on `point`."""
    run = uniform_run(point.preset, point.size, point.lookups, point.settings, point.seed)
    result = run_channel(point.fidelity, run, record_commands=False)
    counters = {counter.name: int(value) for counter, value in result.counters.items()}
    return Outcome(result.cycles, counters, result_digest(result))


def result_digest(result: ClusterResult) -> str:
    """SHA-256 of every output transfer: bag, beat, lanes and clock."""
    digest = hashlib.sha256()
    for array in (result.bag, result.beat, result.lanes, result.transfer_cycle):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def measured(points: Sequence[ClusterPoint], outcomes: Sequence[Outcome]) -> list[Measured]:
    """Each point with its outcome and its bound."""
    found = []
    for point, outcome in zip(points, outcomes, strict=True):
        clocks, name = channel_bound(point.preset, point.size, point.settings)
        found.append(Measured(point, outcome, clocks * point.lookups, name))
    return found


def disagreements(everything: Sequence[Measured]) -> list[str]:
    """Where RTL and golden model differ in any result bit, output clock or counter, in words."""
    golden = {
        (one.point.preset.name, one.point.size): one.outcome
        for one in everything
        if one.point.fidelity is Fidelity.GOLDEN
    }
    faults: list[str] = []
    for one in everything:
        name, size = one.point.preset.name, one.point.size
        other = golden.get((name, size))
        if one.point.fidelity is not Fidelity.RTL or other is None or one.outcome == other:
            continue
        names = [key for key, value in one.outcome.counters.items() if other.counters[key] != value]
        faults.append(
            f"{name}, {size} B: RTL and golden model differ in "
            f"{', '.join(names) or 'results'} (cycles {one.outcome.cycles:g} and {other.cycles:g})"
        )
    return faults


def csv_text(everything: Sequence[Measured]) -> str:
    """`throughput.csv`; its columns are `COLUMNS`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in everything:
        point = one.point
        writer.writerow(
            (
                point.preset.name,
                point.size,
                "fp16",
                point.fidelity.value,
                point.lookups,
                # A bound in whole clocks: no run is shorter.
                int(np.ceil(one.outcome.cycles)),
                f"{point.preset.clock_ghz:g}",
                f"{one.gb_per_s:.4f}",
                f"{one.gb_per_s_chip:.2f}",
                f"{one.fraction_of_bound:.4f}",
                f"{one.fraction_of_pin:.4f}",
                one.limiter,
            )
        )
    return file.getvalue()
