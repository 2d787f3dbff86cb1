"""A collective operation of equal slices at some fidelities and topologies, as a point."""

from dataclasses import asdict, dataclass

from recspeed.models.spec.collective import CollectiveParameters, Operation, WireFormat
from recspeed.scripts.measurements.collective_runs import (
    Result,
    equal_collective,
    make_job,
    other_topologies,
    run_job,
)
from recspeed.scripts.measurements.fidelities import sources_version
from recspeed.scripts.measurements.point import Point, digest_of
from recspeed.scripts.options import Fidelity


@dataclass(frozen=True)
class CollectivePoint(Point):
    """A slice of `size` bytes per peer; measured are the results per fidelity, and those of the
    golden models of ring and switch."""

    operation: Operation
    wire: WireFormat
    parameters: CollectiveParameters
    size: int
    fidelities: tuple[Fidelity, ...]
    seed: int

    @property
    def key(self) -> str:
        inputs = {
            "kind": "collective",
            "operation": self.operation.name,
            "wire": self.wire.name,
            "parameters": self.parameters.model_dump(mode="json"),
            "size": self.size,
            "fidelities": [fidelity.value for fidelity in self.fidelities],
            "seed": self.seed,
            "version": sources_version(
                ("models", "rtl", "tb", "scripts/measurements/collective_runs.py")
            ),
        }
        return digest_of(inputs)

    @property
    def build(self) -> str:
        if Fidelity.RTL not in self.fidelities:
            return ""
        return f"collective {self.parameters.model_dump_json()}"

    @property
    def title(self) -> str:
        return f"{self.operation.name.lower()}, {self.parameters.chips} chips, {self.size} B"

    def measure(self) -> list[Result]:
        """Run it at every fidelity and topology.

        Raises
        ------
        UserError
            When RTL and golden model differ, and for a simulation that failed.
        """
        chips = self.parameters.chips
        held = self.size if self.operation == Operation.ALL_GATHER else self.size * chips
        item = equal_collective(self.operation, chips, held, self.wire)
        job = make_job(self.parameters, item, held, seed=self.seed)
        return run_job(job, self.fidelities)[0] + other_topologies(job, self.size)

    def pack(self, outcome: list[Result]) -> list[dict]:
        return [asdict(result) for result in outcome]

    def unpack(self, content: list[dict]) -> list[Result]:
        return [Result(**fields) for fields in content]
