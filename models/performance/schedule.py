"""How the steps of a batch overlap: three schedules, each with its critical path.

Within a batch, lookups run in G groups; a group's exchange starts once its rows are pooled. That
is a two-stage pipeline: it ends either one group's exchange after the last lookup, or one group's
lookups plus the whole exchange after the start (paper Sec. V-B, "grouping memory accesses").

- `causal`: one batch at a time; its index exchange comes before its lookups.
- `paper`: the next batch's index exchange runs beside this batch's lookups, in front of this
  batch's embedding exchange on the links. The printed tables force this: they expose one
  collective latency in the unsharded cases and two in the sharded ones.
- `pipelined`: batches overlap without limit, only the busiest resource counts.
"""

from dataclasses import dataclass

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.steps import Step
from recspeed.models.spec.system import SCHEDULES, Schedule

CLASSES: tuple[str, ...] = ("memory", "bandwidth", "latency", "compute")
"""What can bound a batch: memory time, link transfer, link latency, dense compute."""


@dataclass(frozen=True)
class Phase:
    """One step on the time axis of a batch, in seconds from the start of its window."""

    name: str
    resource: str
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """Seconds between two batches, the critical path's seconds by class, the phases in order.

    `latency` is the time from a batch's arrival to its result.
    """

    interval: float
    latency: float
    critical: dict[str, float]
    phases: tuple[Phase, ...]


def check_schedule(name: str) -> Schedule:
    """The schedule of that name; raises SpecificationError when there is none."""
    for schedule in SCHEDULES:
        if name == schedule:
            return schedule
    raise SpecificationError(f"schedule '{name}' does not exist; there are {', '.join(SCHEDULES)}")


def _add(*parts: tuple[str, float]) -> dict[str, float]:
    total: dict[str, float] = dict.fromkeys(CLASSES, 0.0)
    for name, seconds in parts:
        total[name] += seconds
    return total


def _overlapped(
    index: Step, lookup: Step, embedding: Step, groups: int, lead: bool
) -> tuple[dict[str, float], float]:
    """Critical path of lookups and exchange, and when the exchange starts.

    `lead`: the links carry an index exchange before the embedding exchange may start.
    """
    memory_path = _add(
        ("memory", lookup.seconds),
        ("latency", embedding.latency),
        ("bandwidth", embedding.transfer / groups),
    )
    network_path = _add(
        ("latency", embedding.latency + (index.latency if lead else 0.0)),
        ("bandwidth", embedding.transfer + (index.transfer if lead else 0.0)),
        ("memory", lookup.seconds / groups),
    )
    start = lookup.seconds / groups + (index.seconds if lead else 0.0)
    longest = max(memory_path, network_path, key=lambda path: sum(path.values()))
    return longest, min(start, sum(longest.values()) - embedding.latency)


def _forward(steps: dict[str, Step], schedule: Schedule, groups: int) -> Timeline:
    index, lookup, embedding, dense = (
        steps[key] for key in ("index", "lookup", "embedding", "dense")
    )
    ahead = schedule == "paper"
    path, exchange_start = _overlapped(index, lookup, embedding, groups, lead=ahead)
    alone, _ = _overlapped(index, lookup, embedding, groups, lead=False)
    begin = 0.0 if ahead else index.seconds
    overlap = sum(path.values())
    latency = index.seconds + sum(alone.values()) + dense.seconds
    if not ahead:
        path = {
            **path,
            "latency": path["latency"] + index.latency,
            "bandwidth": path["bandwidth"] + index.transfer,
        }
    path = {**path, "compute": path["compute"] + dense.seconds}
    end = begin + overlap
    phases = (
        Phase(index.name + (" of the next batch" if ahead else ""), "network", 0.0, index.seconds),
        Phase(lookup.name, "memory", begin, begin + lookup.seconds),
        Phase(embedding.name, "network", begin + exchange_start, end),
        Phase(dense.name, "compute", end, end + dense.seconds),
    )
    return Timeline(end + dense.seconds, latency, path, phases)


def _appended(timeline: Timeline, steps: dict[str, Step]) -> Timeline:
    """Training steps one after the other behind the forward pass (they add up in the tables)."""
    clock, phases, path = timeline.interval, list(timeline.phases), dict(timeline.critical)
    for key in ("backward", "all_reduce", "dense_update", "gradient", "sparse_update"):
        step = steps[key]
        phases.append(Phase(step.name, step.resource, clock, clock + step.seconds))
        clock += step.seconds
        path["latency"] += step.latency
        other = "bandwidth" if step.resource == "network" else step.resource
        path[other] += step.transfer
    added = clock - timeline.interval
    return Timeline(clock, timeline.latency + added, path, tuple(phases))


def _pipelined(steps: dict[str, Step], latency: float) -> Timeline:
    """Only the busiest resource counts; every resource works through its own steps back to back."""
    busy: dict[str, list[Step]] = {"memory": [], "network": [], "compute": []}
    for step in steps.values():
        busy[step.resource].append(step)
    phases = []
    for used in busy.values():
        clock = 0.0
        for step in used:
            phases.append(Phase(step.name, step.resource, clock, clock + step.seconds))
            clock += step.seconds
    bound = max(busy, key=lambda name: sum(step.seconds for step in busy[name]))
    used = busy[bound]
    transfer = sum(step.transfer for step in used)
    if bound == "network":
        path = _add(("latency", sum(step.latency for step in used)), ("bandwidth", transfer))
    else:
        path = _add((bound, transfer))
    return Timeline(sum(path.values()), latency, path, tuple(phases))


def timeline(steps: dict[str, Step], schedule: Schedule, groups: int, training: bool) -> Timeline:
    """Lay the steps of one batch on the time axis.

    `steps` are those of `forward_steps`, and for training those of `training_steps` too.
    """
    forward = _forward(steps, "causal" if schedule == "pipelined" else schedule, groups)
    whole = _appended(forward, steps) if training else forward
    if schedule == "pipelined":
        return _pipelined(steps, whole.latency)
    return whole
