"""Sweeps: one workload and system evaluated over a grid of parameters, chunk by chunk.

A sweep is a list of axes; every point of their product is one evaluation. The grid is cut in chunks
of fixed size, each of which may be evaluated anywhere.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.steps import Assumptions
from recspeed.models.spec.placement_strategy import PlacementStrategy
from recspeed.models.spec.system import System
from recspeed.models.spec.toml import describe
from recspeed.models.spec.workload import Workload

DEFAULT_POINTS = 25
CHUNK = 500
MOST_POINTS = 2_000_000

COLUMNS = (
    "qps",
    "seconds_per_query",
    "memory_utilisation",
    "all_reduce_share",
    "memory_share",
    "bandwidth_share",
    "latency_share",
    "compute_share",
    "bottleneck",
)
"""What a sweep reports for each point, next to the values of its axes."""

PAPER_ASSUMPTIONS = Assumptions()

Target = tuple[Workload, System]


def _interconnect(change: Callable[[System, float], dict[str, Any]]) -> Callable[..., Target]:
    def apply(workload: Workload, system: System, value: float) -> Target:
        if system.interconnect.topology == "none":
            raise SpecificationError(f"{system.name} has no interconnect that could be varied")
        network = system.interconnect.model_copy(update=change(system, value))
        return workload, system.model_copy(update={"interconnect": network})

    return apply


def _latency(system: System, value: float) -> dict[str, Any]:
    if system.interconnect.latency_us is None:
        return {"link_latency_us": value}
    names = type(system.interconnect.latency_us).model_fields
    return {
        "latency_us": system.interconnect.latency_us.model_copy(update=dict.fromkeys(names, value))
    }


def _bandwidth(system: System, value: float) -> dict[str, Any]:
    return {"gb_per_s": value, "curve": None}


def _chips(workload: Workload, system: System, value: float) -> Target:
    network = system.interconnect.model_copy(update={"links_per_chip": None})
    return workload, system.model_copy(update={"chips": int(value), "interconnect": network})


def _units(workload: Workload, system: System, value: float) -> Target:
    first, *rest = system.memory
    source = first.source.model_copy(update={"units": value})
    return workload, system.model_copy(
        update={"memory": (first.model_copy(update={"source": source}), *rest)}
    )


def _compute(workload: Workload, system: System, value: float) -> Target:
    return workload, system.model_copy(
        update={"compute": system.compute.model_copy(update={"tflops": value})}
    )


def _groups(workload: Workload, system: System, value: float) -> Target:
    return workload, system.model_copy(update={"lookup_groups": int(value)})


def _batch(workload: Workload, system: System, value: float) -> Target:
    return workload.changed(batch=int(value)), system


def _lookups(workload: Workload, system: System, value: float) -> Target:
    tables = tuple(group.changed(lookups=value) for group in workload.tables)
    return workload.changed(tables=tables), system


def _dimension(workload: Workload, system: System, value: float) -> Target:
    """All tables get this dimension, and the bottom MLP ends at it."""
    tables = tuple(group.changed(dimension=int(value)) for group in workload.tables)
    bottom = (*workload.bottom_mlp[:-1], int(value))
    return workload.changed(tables=tables, bottom_mlp=bottom), system


@dataclass(frozen=True)
class Parameter:
    """What an axis may vary: its unit, whether in whole numbers, and how it changes a point."""

    unit: str
    whole: bool
    apply: Callable[[Workload, System, float], Target]


PARAMETERS: dict[str, Parameter] = {
    "latency": Parameter("us", False, _interconnect(_latency)),
    "bandwidth": Parameter("GB/s", False, _interconnect(_bandwidth)),
    "chips": Parameter("", True, _chips),
    "memory-units": Parameter("", True, _units),
    "tflops": Parameter("TFLOPS", False, _compute),
    "lookup-groups": Parameter("", True, _groups),
    "batch": Parameter("", True, _batch),
    "lookups": Parameter("", False, _lookups),
    "dimension": Parameter("", True, _dimension),
}


@dataclass(frozen=True)
class Axis:
    """One swept parameter and its values."""

    name: str
    values: tuple[float, ...]

    @property
    def label(self) -> str:
        """Name with unit, for a plot."""
        unit = PARAMETERS[self.name].unit
        return f"{self.name} ({unit})" if unit else self.name


_RANGE = re.compile(r"([0-9.eE+-]+):([0-9.eE+-]+?)(us|GB/s|TFLOPS)?(?::([0-9]+))?")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecificationError(f"{where}: '{text}' is not a number") from None


def parse_axis(text: str) -> Axis:
    """`Axis` of `name=start:stop[unit][:points]` or `name=a,b,c`; `latency=0.5:10us`."""
    name, equals, rest = text.partition("=")
    if not equals or not rest:
        raise SpecificationError(f"sweep '{text}': expected NAME=START:STOP[:POINTS] or NAME=A,B,C")
    if name not in PARAMETERS:
        raise SpecificationError(
            f"sweep '{text}': no parameter '{name}'; there are {', '.join(PARAMETERS)}"
        )
    parameter = PARAMETERS[name]
    if ":" not in rest:
        values = [
            _number(part.removesuffix(parameter.unit), f"sweep '{text}'")
            for part in rest.split(",")
        ]
    else:
        match = _RANGE.fullmatch(rest)
        if match is None or (match[3] or parameter.unit) != parameter.unit:
            unit = f" in {parameter.unit}" if parameter.unit else ""
            raise SpecificationError(f"sweep '{text}': expected {name}=START:STOP[:POINTS]{unit}")
        start, stop = (_number(match[index], f"sweep '{text}'") for index in (1, 2))
        points = int(match[4] or DEFAULT_POINTS)
        if not start < stop or points < 2:
            raise SpecificationError(
                f"sweep '{text}': START must be below STOP, and POINTS 2 or more"
            )
        values = [start + (stop - start) * index / (points - 1) for index in range(points)]
    if not all(map(math.isfinite, values)):
        raise SpecificationError(f"sweep '{text}': values must be finite")
    if parameter.whole:
        values = sorted({round(value) for value in values})
    if min(values) < 0 or (min(values) == 0 and name != "latency"):
        raise SpecificationError(f"sweep '{text}': {name} must be above zero")
    return Axis(name, tuple(values))


@dataclass(frozen=True)
class Sweep:
    """Everything that defines a sweep; plain data, so that it can go to another process."""

    workload: Workload
    system: System
    placement: PlacementStrategy
    axes: tuple[Axis, ...]
    schedule: str | None = None
    training: bool = False
    assumptions: Assumptions = PAPER_ASSUMPTIONS

    @property
    def size(self) -> int:
        """Number of points."""
        size = 1
        for axis in self.axes:
            size *= len(axis.values)
        return size

    @property
    def chunks(self) -> int:
        """Number of chunks of at most CHUNK points."""
        return -(-self.size // CHUNK)

    def points(self, chunk: int) -> Iterator[tuple[float, ...]]:
        """The axis values of each point of a chunk; the last axis runs fastest."""
        every = itertools.product(*(axis.values for axis in self.axes))
        return itertools.islice(every, chunk * CHUNK, (chunk + 1) * CHUNK)

    def check(self) -> None:
        """Raise SpecificationError for no axis, one axis twice, or too many points."""
        names = [axis.name for axis in self.axes]
        if not names or len(set(names)) != len(names):
            raise SpecificationError(
                f"a sweep needs different axes, got {', '.join(names) or 'none'}"
            )
        if self.size > MOST_POINTS:
            raise SpecificationError(f"a sweep of {self.size:,} points is above {MOST_POINTS:,}")


def evaluate_chunk(sweep: Sweep, chunk: int) -> list[list[float | str]]:
    """Rows of one chunk: axis values, then COLUMNS. Impossible points raise SpecificationError."""
    rows: list[list[float | str]] = []
    for values in sweep.points(chunk):
        workload, system = sweep.workload, sweep.system
        try:
            for axis, value in zip(sweep.axes, values, strict=True):
                workload, system = PARAMETERS[axis.name].apply(workload, system, value)
            result = evaluate(
                workload,
                system,
                sweep.placement,
                schedule=sweep.schedule,
                training=sweep.training,
                assumptions=sweep.assumptions,
            )
        except (SpecificationError, ValidationError) as error:
            point = ", ".join(f"{a.name}={v:g}" for a, v in zip(sweep.axes, values, strict=True))
            if isinstance(error, ValidationError):
                raise SpecificationError(describe(error, f"at {point}")) from None
            raise SpecificationError(f"at {point}: {error}") from None
        shares = result.critical_shares
        rows.append(
            [
                *values,
                result.qps,
                result.seconds,
                result.memory_utilisation,
                result.all_reduce_share,
                shares["memory"],
                shares["bandwidth"],
                shares["latency"],
                shares["compute"],
                result.bottleneck,
            ]
        )
    return rows
