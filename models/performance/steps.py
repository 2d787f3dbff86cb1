"""The steps of one batch: Algorithms 1 and 2 of the paper's appendix, each with time and bytes.

A step occupies one resource of every chip: its memory, its links, or its compute.
"""

from dataclasses import dataclass
from typing import Literal

from recspeed.models.performance.chip_load import ChipLoad, PlacementLoad
from recspeed.models.performance.collective_time import collective_time
from recspeed.models.performance.footprint import tier_shares
from recspeed.models.performance.tier_time import compute_seconds, tier_seconds
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload

Resource = Literal["memory", "network", "compute"]


@dataclass(frozen=True)
class Assumptions:
    """What the paper leaves open; the defaults reach its tables (see the assumptions page).

    `all_reduce_latencies`: latencies of one all-reduce, 1 or 2 (reduce-scatter, then all-gather).
    `sparse_update`: `write-only` keeps the looked-up rows on the chip (Sec. V-B).
    `sharded_gradient`: how pooled gradients reach the owners of fully sharded rows (Algorithm 2).
    `backward_factor`: backward over forward multiply-adds. `stale_reads`: lets a pipelined
    schedule train, although its lookups then run before the previous batch has updated the rows,
    which is not the vanilla SGD of the paper's appendix.
    """

    all_reduce_latencies: int = 1
    sparse_update: Literal["write-only", "read-modify-write"] = "write-only"
    sharded_gradient: Operation = Operation.ALL_GATHER
    backward_factor: float = 2.0
    stale_reads: bool = False


@dataclass(frozen=True)
class Step:
    """One step: seconds on the busiest chip, split into latency and the rest; bytes per chip.

    `moved_bytes` is read or written memory, or bytes sent over the links; zero for compute.
    `per_chip` lists each chip's own time where chips differ.
    """

    name: str
    operation: str
    resource: Resource
    latency: float
    transfer: float
    moved_bytes: float
    per_chip: tuple[float, ...] | None = None

    @property
    def seconds(self) -> float:
        """Latency and transfer."""
        return self.latency + self.transfer


def _network(name: str, parts: list[tuple[Operation, float]], system: System) -> Step:
    """A step of one or more collectives in sequence; parts without bytes fall away."""
    times = [
        collective_time(system.interconnect, operation, sent, system.chips)
        for operation, sent in parts
        if sent > 0
    ]
    return Step(
        name,
        " + ".join(operation.text for operation, sent in parts if sent > 0) or "none",
        "network",
        sum(time.latency for time in times),
        sum(time.transfer for time in times),
        sum(time.sent_bytes for time in times),
    )


def chip_memory_seconds(load: ChipLoad, workload: Workload, system: System) -> float:
    """Time of one chip's lookups: tiers work side by side, the slowest counts (Sec. VII-A)."""
    if len(system.memory) == 1:
        return tier_seconds(system.memory[0], load.accesses, load.bags)
    slowest = 0.0
    for tier, share in zip(system.memory, tier_shares(load, workload, system), strict=True):
        if share > 0:
            accesses = {size: share * count for size, count in load.accesses.items()}
            bags = {size: share * count for size, count in load.bags.items()}
            slowest = max(slowest, tier_seconds(tier, accesses, bags))
    return slowest


def _memory(name: str, operation: str, load: PlacementLoad, w: Workload, system: System) -> Step:
    chips = load.chips[:1] if load.identical else load.chips
    seconds = [chip_memory_seconds(chip, w, system) for chip in chips]
    busiest = max(chip.read_bytes for chip in chips)
    per_chip = None if load.identical else tuple(seconds)
    return Step(name, operation, "memory", 0.0, max(seconds), busiest, per_chip)


def _compute(name: str, operation: str, seconds: float) -> Step:
    return Step(name, operation, "compute", 0.0, seconds, 0.0)


def forward_steps(workload: Workload, load: PlacementLoad, system: System) -> dict[str, Step]:
    """Algorithm 1: index exchange, lookups and pooling, embedding exchange, interaction, MLPs.

    Keys: `index`, `lookup`, `embedding`, `dense`. Lower-bound volumes: a chip keeps its own 1/n,
    so it sends f = (n-1)/n of what it holds (Sec. IV-D). Unpooled rows go out as an all-to-all
    that the destination pools, which is the paper's reduce-scatter (Sec. IV-B).
    """
    chips = system.chips
    f = (chips - 1) / chips
    sharded = Operation.ALL_TO_ALL if load.unpooled else Operation.REDUCE_SCATTER
    macs = workload.macs_per_sample * workload.batch / chips
    return {
        "index": _network("index exchange", [(Operation.ALL_TO_ALL, load.index_bytes * f)], system),
        "lookup": _memory("lookups and pooling", "read", load, workload, system),
        "embedding": _network(
            "embedding exchange",
            [
                (Operation.ALL_TO_ALL, load.pooled_exchange * f),
                (sharded, load.sharded_exchange * f),
            ],
            system,
        ),
        "dense": _compute(
            "interaction and MLPs", "FP16 multiply-add", compute_seconds(system.compute, macs)
        ),
    }


def training_steps(
    workload: Workload, load: PlacementLoad, system: System, assumptions: Assumptions
) -> dict[str, Step]:
    """Algorithm 2: dense backward, all-reduce, dense update, gradient exchange, sparse update.

    Pooled gradients go back by all-to-all to whole tables; to sharded rows every chip's gradients
    are gathered by all, and expanded there (copied to each looked-up row, no traffic).
    """
    chips = system.chips
    f = (chips - 1) / chips
    macs = workload.macs_per_sample * workload.batch / chips * assumptions.backward_factor
    reduce = collective_time(
        system.interconnect, Operation.ALL_REDUCE, 2 * workload.dense_bytes * f, chips
    )
    gather_factor = chips - 1 if assumptions.sharded_gradient == Operation.ALL_GATHER else f
    gradient = _network(
        "gradient exchange",
        [
            (Operation.ALL_TO_ALL, load.pooled_exchange * f),
            (assumptions.sharded_gradient, load.sharded_gradient * gather_factor),
        ],
        system,
    )
    writes = 1 if assumptions.sparse_update == "write-only" else 2
    update = _memory(
        "expansion and sparse update", assumptions.sparse_update, load, workload, system
    )
    return {
        "backward": _compute(
            "backward of the dense layers",
            "FP16 multiply-add",
            compute_seconds(system.compute, macs),
        ),
        "all_reduce": Step(
            "dense all-reduce",
            Operation.ALL_REDUCE.text,
            "network",
            reduce.latency * assumptions.all_reduce_latencies,
            reduce.transfer,
            reduce.sent_bytes,
        ),
        "dense_update": _compute(
            "dense update",
            "SGD",
            workload.dense_parameters / (system.compute.updates_per_ns * 1e9),
        ),
        "gradient": gradient,
        "sparse_update": Step(
            update.name,
            update.operation,
            "memory",
            0.0,
            update.transfer * writes,
            update.moved_bytes * writes,
            None if update.per_chip is None else tuple(writes * t for t in update.per_chip),
        ),
    }
