"""Cases of a regression that run on one simulator, as a point."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from recspeed.scripts.measurements.fidelities import sources_version
from recspeed.scripts.measurements.point import Point, digest_of
from recspeed.tb.regression.batch import run_batch
from recspeed.tb.regression.case import Case
from recspeed.tb.regression.verdict import Verdict


@dataclass(frozen=True)
class RegressionBatch(Point):
    """Cases of one build, of whatever block; measured are their verdicts."""

    cases: tuple[Case, ...]

    @property
    def key(self) -> str:
        """A digest of the cases, which their names and the sources decide."""
        names = [case.name for case in self.cases]
        return digest_of({"kind": "regression", "cases": names, "version": sources_version()})

    @property
    def build(self) -> str:
        return self.cases[0].build.name

    @property
    def title(self) -> str:
        return f"{self.cases[0].name} and {len(self.cases) - 1} more"

    def measure(self) -> list[Verdict]:
        """Run the cases in one simulation and judge each."""
        return run_batch(self.cases)

    def pack(self, outcome: Sequence[Verdict]) -> list[dict]:
        return [asdict(verdict) for verdict in outcome]

    def unpack(self, content: list[dict]) -> list[Verdict]:
        return [Verdict(v["name"], tuple(v["faults"]), v["cycles"]) for v in content]
