"""The performance model: one workload on one system, under a placement and a schedule.

`evaluate` is an upper bound in the paper's sense (Sec. V-B): perfect balance unless the placement
says otherwise, no locality unless the workload says so, peak rates.
"""

from dataclasses import dataclass, field

from recspeed.models.performance.chip_load import PlacementLoad, place
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.footprint import Footprint, footprint
from recspeed.models.performance.schedule import Timeline, check_schedule, timeline
from recspeed.models.performance.steps import Assumptions, Step, forward_steps, training_steps
from recspeed.models.spec.placement_strategy import PlacementStrategy
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload


@dataclass(frozen=True)
class Evaluation:
    """The answer for one point: rates, where the time goes, and what it needs.

    `qps` counts batches per second, as the paper's tables do. `bounds` are the QPS that each class
    alone would allow: the generalized roofline of Sec. I, which adds communication to memory
    and compute. `bottleneck` is the class with the largest share of the critical path.
    """

    workload: str
    system: str
    schedule: str
    placement: str
    training: bool
    chips: int
    batch: int
    steps: dict[str, Step]
    timeline: Timeline
    load: PlacementLoad
    footprint: Footprint
    balance: float
    messages: dict[str, float]
    bounds: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds between two batches."""
        return self.timeline.interval

    @property
    def qps(self) -> float:
        """Batches (queries) per second."""
        return 1 / self.timeline.interval

    @property
    def memory_utilisation(self) -> float:
        """Memory time over total time (Table XVI)."""
        busy = sum(step.seconds for step in self.steps.values() if step.resource == "memory")
        return busy / self.timeline.interval

    @property
    def all_reduce_share(self) -> float:
        """Dense reduction and update over total time (Table XVII); 0 for inference."""
        if not self.training:
            return 0.0
        busy = self.steps["all_reduce"].seconds + self.steps["dense_update"].seconds
        return busy / self.timeline.interval

    @property
    def bottleneck(self) -> str:
        """The class with the largest share of the critical path."""
        return max(self.timeline.critical, key=lambda name: self.timeline.critical[name])

    @property
    def critical_shares(self) -> dict[str, float]:
        """Share of the critical path by class; adds up to 1."""
        return {name: part / self.seconds for name, part in self.timeline.critical.items()}


def _bounds(steps: dict[str, Step]) -> dict[str, float]:
    """QPS that each class alone would allow (infinite where it is not used)."""
    used = {
        "memory": sum(s.seconds for s in steps.values() if s.resource == "memory"),
        "bandwidth": sum(s.transfer for s in steps.values() if s.resource == "network"),
        "latency": sum(s.latency for s in steps.values() if s.resource == "network"),
        "compute": sum(s.seconds for s in steps.values() if s.resource == "compute"),
    }
    return {name: 1 / seconds if seconds > 0 else float("inf") for name, seconds in used.items()}


def _messages(load: PlacementLoad) -> dict[str, float]:
    """Message sizes of Sec. VI: bytes per chip and operation, a chip's own part included."""
    return {
        "index_exchange": load.index_bytes,
        "embedding_exchange": load.pooled_exchange + load.sharded_exchange,
        "gradient_exchange": load.pooled_exchange + load.sharded_gradient,
    }


def evaluate(
    workload: Workload,
    system: System,
    placement: PlacementStrategy,
    *,
    schedule: str | None = None,
    training: bool = False,
    assumptions: Assumptions | None = None,
) -> Evaluation:
    """Evaluate one point. Raises SpecificationError (DoesNotFitError) where it cannot exist.

    `schedule` defaults to the system's own.
    """
    name = check_schedule(schedule or system.schedule)
    system.interconnect.check(system.chips)
    if training and system.inference_only:
        raise SpecificationError(f"{system.name} is an inference system: {system.inference_only}")
    assumptions = assumptions or Assumptions()
    if training and name == "pipelined" and not assumptions.stale_reads:
        raise SpecificationError(
            "schedule 'pipelined' contradicts training: lookups of the next batch would read rows"
            " that this batch has not updated yet; allow stale reads to accept that"
        )
    room = sum(tier.capacity_bytes for tier in system.memory) - workload.dense_bytes
    load = place(workload, placement, system.chips, room)
    size = footprint(workload, load, system, training)
    steps = forward_steps(workload, load, system)
    if training:
        steps |= training_steps(workload, load, system, assumptions)
    return Evaluation(
        workload=workload.name,
        system=system.name,
        schedule=name,
        placement=str(placement),
        training=training,
        chips=system.chips,
        batch=workload.batch,
        steps=steps,
        timeline=timeline(steps, name, system.lookup_groups, training),
        load=load,
        footprint=size,
        balance=load.balance,
        messages=_messages(load),
        bounds=_bounds(steps),
    )
