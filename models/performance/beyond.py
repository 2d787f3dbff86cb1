"""Beyond the paper: what RecSpeed would do with real timings, other schedules, exchanges and
latencies.

Each variant is reported next to the paper's own value for the same cell.
"""

from dataclasses import dataclass, field

from recspeed.models.performance import presets
from recspeed.models.performance.energy import Energy, energy_per_query
from recspeed.models.performance.model import Evaluation
from recspeed.models.performance.paper import CASES, Case, Row, Variant, evaluate_case, results
from recspeed.models.performance.steps import Assumptions
from recspeed.models.spec.collective import WireFormat


@dataclass(frozen=True)
class Beyond:
    """A variant by name: the system preset that it uses and how it changes the model."""

    name: str
    title: str
    system: str
    variant: Variant = field(default_factory=Variant)
    sharded_only: bool = False


_STALE = Assumptions(stale_reads=True)

VARIANTS: tuple[Beyond, ...] = (
    Beyond("jedec", "memory at the bound of published timings", "recspeed-16-jedec"),
    Beyond("golden", "memory as the golden model of the channel runs it", "recspeed-16-golden"),
    Beyond(
        "pipelined",
        "batches overlap without limit (training reads rows that are one batch old)",
        "recspeed-16",
        Variant(schedule="pipelined", assumptions=_STALE),
    ),
    Beyond("causal", "one batch at a time", "recspeed-16", Variant(schedule="causal")),
    Beyond(
        "partial-fp32",
        "sharded tables pooled on each chip first, FP32 partial sums on the wire",
        "recspeed-16",
        Variant(wire=WireFormat.FP32),
        sharded_only=True,
    ),
    Beyond(
        "partial-exact",
        "the same with exact fixed-point partial sums",
        "recspeed-16",
        Variant(wire=WireFormat.EXACT),
        sharded_only=True,
    ),
    Beyond("direct", "latency of a direct link with a hardware engine", "recspeed-16-direct"),
    Beyond(
        "direct-jedec-partial-fp32",
        "published timings, direct-link latency and FP32 partial sums together",
        "recspeed-16-direct-jedec",
        Variant(wire=WireFormat.FP32),
    ),
    Beyond(
        "direct-jedec-partial-fp32-pipelined",
        "the same, batches overlapping without limit",
        "recspeed-16-direct-jedec",
        Variant(wire=WireFormat.FP32, schedule="pipelined", assumptions=_STALE),
    ),
)


def evaluate_beyond(beyond: Beyond, case: Case, training: bool) -> Evaluation:
    """One case under one variant."""
    return evaluate_case(case, beyond.system, training, beyond.variant)


def beyond_rows() -> list[Row]:
    """QPS of every variant next to the paper's value for RecSpeed; `table` is `beyond XVI` or
    XVII.
    """
    rows = []
    for table, mode in (("XVI", "inference"), ("XVII", "training")):
        printed = results()[mode]["recspeed-16"]["qps"]
        for beyond in VARIANTS:
            for case in CASES:
                if beyond.sharded_only and case.placement == "unsharded":
                    continue
                qps = evaluate_beyond(beyond, case, mode == "training").qps
                name = f"recspeed-16-{beyond.name}"
                rows.append(Row(f"beyond {table}", name, case.name, "qps", printed[case.name], qps))
    return rows


@dataclass(frozen=True)
class EnergyRow:
    """Energy of one query (batch) of one case on one system."""

    system: str
    case: str
    training: bool
    qps: float
    energy: Energy

    @property
    def watts(self) -> tuple[float, float, float]:
        """Dynamic power at full throughput: low, typical, high."""
        low, typical, high = (part * self.qps for part in self.energy.total)
        return low, typical, high


def energy_rows(
    systems: tuple[str, ...] = ("recspeed-16", "dgx-2", "xeon-ddr4"),
) -> list[EnergyRow]:
    """Energy per query of all four cases, inference and training."""
    rows = []
    for name in systems:
        system = presets.system(name)
        for case in CASES:
            for training in (False, True):
                result = evaluate_case(case, name, training)
                spent = energy_per_query(result, presets.workload(case.workload), system)
                rows.append(EnergyRow(name, case.name, training, result.qps, spent))
    return rows
