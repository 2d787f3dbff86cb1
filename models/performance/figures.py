"""The data behind the paper's figures that hold numbers: Figs. 5 to 13."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from recspeed.models.performance import access, presets
from recspeed.models.performance.collective_time import collective_time
from recspeed.models.performance.model import Evaluation, evaluate
from recspeed.models.performance.paper import CASES, Case, results
from recspeed.models.performance.sweep import PARAMETERS, Axis
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload

SWEPT_SYSTEM = "recspeed-8"
"""Sec. VI sweeps a reference system of 8 chips (recovered from its message sizes)."""

LATENCY_AXIS = Axis("latency", tuple(round(0.5 + 0.475 * i, 4) for i in range(21)))
BANDWIDTH_AXIS = Axis("bandwidth", tuple(float(value) for value in range(100, 1001, 45)))
"""Table XIII: 0.5 to 10 us, 100 to 1000 GB/s."""


@cache
def _swept_system() -> System:
    return presets.system(SWEPT_SYSTEM)


@cache
def _workload(name: str) -> Workload:
    return presets.workload(name)


def swept(case: Case, latency: float, bandwidth: float, training: bool) -> Evaluation:
    """One case of Sec. VI at a latency (us) and a bandwidth (GB/s); nothing refitted."""
    workload, system = _workload(case.workload), _swept_system()
    for name, value in (("latency", latency), ("bandwidth", bandwidth)):
        workload, system = PARAMETERS[name].apply(workload, system, value)
    return evaluate(workload, system, parse_placement(case.placement), training=training)


@cache
def surface(case: Case, training: bool) -> np.ndarray:
    """QPS over LATENCY_AXIS (rows) and BANDWIDTH_AXIS (columns): one part of Fig. 8 or 11."""
    qps = np.array(
        [
            [swept(case, latency, bandwidth, training).qps for bandwidth in BANDWIDTH_AXIS.values]
            for latency in LATENCY_AXIS.values
        ]
    )
    qps.setflags(write=False)
    return qps


def line(
    case: Case, name: str, values: list[float], other: float, training: bool
) -> list[Evaluation]:
    """Evaluations along `name` ("latency" or "bandwidth") with the other parameter fixed."""
    if name == "latency":
        return [swept(case, value, other, training) for value in values]
    return [swept(case, other, value, training) for value in values]


@dataclass(frozen=True)
class AxisCheck:
    """Whether the model's values fit the throughput axis that a figure prints.

    A line plot's axis (`whole`) is printed from end to end and must hold all values. On a surface
    plot only some labels survive, `first` to `last` in steps of `step`: they must lie on the
    surface, which must end less than one step beyond them.
    """

    figure: str
    first: float
    last: float
    step: float
    lowest: float
    highest: float
    whole: bool

    @property
    def fits(self) -> bool:
        """True when the model's range agrees with the axis."""
        if self.whole:
            return self.first <= self.lowest and self.highest <= self.last
        covered = self.lowest <= self.first and self.last <= self.highest
        return (
            covered
            and self.first - self.step < self.lowest
            and self.highest < self.last + self.step
        )


def _check(figure: str, values: list[float], whole: bool = False) -> AxisCheck:
    first, last = (float(tick) for tick in results()["axis_ticks"][figure])
    step = float(results()["axis_steps"][figure])
    return AxisCheck(figure, first, last, step, min(values), max(values), whole)


def axis_checks() -> list[AxisCheck]:
    """Every throughput axis of Figs. 8, 9, 11 and 12 whose labels survive."""
    checks = []
    for number, training in ((8, False), (11, True)):
        for letter, case in zip("abcd", CASES, strict=True):
            key = f"{number}{letter}"
            if key in results()["axis_ticks"]:
                checks.append(_check(key, surface(case, training).ravel().tolist()))
    lines = [
        result.qps
        for bandwidth in (100.0, 1000.0)
        for result in line(CASES[0], "latency", list(LATENCY_AXIS.values), bandwidth, False)
    ]
    checks.append(_check("9", lines, whole=True))
    training = line(CASES[0], "bandwidth", list(BANDWIDTH_AXIS.values), 2.0, True)
    checks.append(_check("12", [result.qps for result in training], whole=True))
    return checks


RANDOM_ACCESS: tuple[tuple[str, str, int], ...] = (
    ("HBM2E-2400, 4 stacks", "hbm2e-2400", 64),
    ("GDDR6-16000, 12 chips", "gddr6-16000", 24),
    ("DDR4-3200 dual rank, 6 channels", "ddr4-3200", 6),
)
"""Fig. 6: label, memory preset, channels (a GDDR6 chip has two)."""

EMBEDDING_BYTES = tuple(range(32, 257, 32))


def random_access_gb_per_s(preset: str, channels: int) -> list[float]:
    """Bandwidth of random embedding reads for each of EMBEDDING_BYTES, one row visit per vector."""
    return [
        size / access.jedec_access_time(preset, size) * channels * 1e-9 for size in EMBEDDING_BYTES
    ]


CAPACITIES: tuple[tuple[str, float, str], ...] = (
    ("DDR4, 6 channels of 256 GB 3D TSV DIMMs", 6 * 256.0, "Table I: up to 256 GB per DIMM"),
    ("HBM2E, 4 stacks", 4 * 16.0, "Table XIV: 96 GB in 6 stacks"),
    ("GDDR6, 12 chips", 12 * 1.0, "Table VIII: 11 chips hold 11 GB"),
)
"""Fig. 7: label, GB, where the capacity of one part is printed."""


def all_gather_gb_per_s(volumes: list[float], measured: bool) -> list[float]:
    """Fig. 5: bandwidth per chip of the DGX-2's all-gather, by bytes that a chip receives.

    `measured` uses the recovered bandwidth curve; otherwise one latency and 150 GB/s.
    """
    network = presets.system("dgx-2").interconnect
    if not measured:
        network = network.changed(curve=None)
    return [
        volume / collective_time(network, Operation.ALL_GATHER, volume, 16).seconds * 1e-9
        for volume in volumes
    ]


BREAKDOWN = ("forward", "all-reduce and dense update", "sparse exchange and update", "backward")
"""Parts of a training step in Figs. 12b and 13b, and the dense backward pass that they leave out.
"""


def breakdown(result: Evaluation) -> list[float]:
    """Share of each part of BREAKDOWN in a training step; adds up to 1 for serial schedules."""
    steps = result.steps
    parts = [
        sum(steps[name].seconds for name in names)
        for names in (
            ("all_reduce", "dense_update"),
            ("gradient", "sparse_update"),
            ("backward",),
        )
    ]
    forward = result.seconds - sum(parts)
    return [part / result.seconds for part in (forward, *parts)]
