"""Cases of a regression that run on one simulator, as a point."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recspeed.scripts.measurements.fidelities import sources_version
from recspeed.scripts.measurements.point import Point, digest_of
from recspeed.tb.collective import regression as collective_regression
from recspeed.tb.regression.cases import Case, Verdict, record_waves, run_batch

AnyCase = Case | collective_regression.Case


@dataclass(frozen=True)
class RegressionBatch(Point):
    """Cases of one build, of whatever block; measured are their verdicts."""

    cases: tuple[AnyCase, ...]

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
        first = self.cases[0]
        if isinstance(first, Case):
            return run_batch([case for case in self.cases if isinstance(case, Case)])
        return collective_regression.run_batch(
            [case for case in self.cases if isinstance(case, collective_regression.Case)]
        )

    def pack(self, outcome: Sequence[Verdict]) -> list[dict]:
        return [asdict(verdict) for verdict in outcome]

    def unpack(self, content: list[dict]) -> list[Verdict]:
        return [Verdict(v["name"], tuple(v["faults"]), v["cycles"]) for v in content]


def record_any(case: AnyCase, path: Path) -> None:
    """Record the waveform of a case, of whatever block."""
    if isinstance(case, Case):
        record_waves(case, path)
    else:
        collective_regression.record_waves(case, path)
