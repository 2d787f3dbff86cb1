"""A chunk of a sweep of the performance model, as a point."""

import hashlib
from dataclasses import dataclass

from recspeed.models.performance import sweep as sweeps
from recspeed.scripts.measurements.fidelities import sources_version
from recspeed.scripts.measurements.point import Point, digest_of

Rows = list[list[float | str]]


def fingerprint(sweep: sweeps.Sweep) -> str:
    """A hash of everything that defines the sweep: only its own chunks may be continued."""
    parts = [
        sweep.workload.model_dump_json(),
        sweep.system.model_dump_json(),
        repr((sweep.placement, sweep.axes, sweep.schedule, sweep.training, sweep.assumptions)),
        repr((sweeps.CHUNK, sweeps.COLUMNS)),
        sources_version(("models/performance", "models/spec")),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class PerformanceChunk(Point):
    """Chunk `number` of `sweep`; measured are its rows, axis values before `sweeps.COLUMNS`."""

    sweep: sweeps.Sweep
    number: int
    sweep_key: str
    """`fingerprint(sweep)`, which takes as long as some points."""

    @property
    def key(self) -> str:
        return digest_of({"kind": "performance", "sweep": self.sweep_key, "chunk": self.number})

    @property
    def title(self) -> str:
        return f"{self.sweep.workload.name} on {self.sweep.system.name}, chunk {self.number}"

    def measure(self) -> Rows:
        """Evaluate the model at every point of the chunk."""
        return sweeps.evaluate_chunk(self.sweep, self.number)

    def unpack(self, content: Rows) -> Rows:
        if len(content) != len(list(self.sweep.points(self.number))):
            raise ValueError(f"{len(content)} rows are no chunk {self.number}")
        return content


def chunks_of(sweep: sweeps.Sweep) -> list[PerformanceChunk]:
    """Every chunk, in grid order.

    Raises
    ------
    SpecificationError
        For a sweep without sense.
    """
    sweep.check()
    key = fingerprint(sweep)
    return [PerformanceChunk(sweep, number, key) for number in range(sweep.chunks)]
