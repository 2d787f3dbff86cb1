"""Serving: queries that arrive at random, latency percentiles, and the throughput within an SLA.

The paper's equation 1: PPF(D_Q, P) <= C_SLA, where D_Q is the distribution of query times and P a
percentile. A discrete-event simulation (SimPy) sends queries of random size through one system;
each part of a query occupies the system for the model's interval and is answered after the model's
latency.
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.model import evaluate
from recspeed.models.spec.placement_strategy import PlacementStrategy
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload

if TYPE_CHECKING:
    import simpy

SizeKind = Literal["fixed", "lognormal", "exponential"]
SIZE_KINDS: tuple[SizeKind, ...] = ("fixed", "lognormal", "exponential")

LARGEST_QUERY = 4096
"""Samples; longer draws are cut. The paper's queries reach about a thousand."""


@dataclass(frozen=True)
class QuerySizes:
    """Distribution of query sizes in samples.

    `lognormal` is heavy-tailed around its median: with median 200 and sigma 0.9, about one query in
    nine is above 600, the paper's large batch. `values`, when given, are drawn from instead.
    """

    kind: SizeKind = "lognormal"
    median: float = 200.0
    sigma: float = 0.9
    values: tuple[int, ...] = ()

    def draw(self, random: np.random.Generator, count: int) -> np.ndarray:
        """`count` sizes, whole numbers from 1 to LARGEST_QUERY."""
        if self.values:
            return random.choice(np.array(self.values), count)
        match self.kind:
            case "fixed":
                sizes = np.full(count, self.median)
            case "lognormal":
                sizes = random.lognormal(math.log(self.median), self.sigma, count)
            case "exponential":
                sizes = random.exponential(self.median / math.log(2), count)
        return np.clip(np.rint(sizes), 1, LARGEST_QUERY).astype(int)


@dataclass(frozen=True)
class ServiceTime:
    """Seconds of one part of a query: until the system takes the next, and until the answer."""

    interval: float
    latency: float


Service = Callable[[int], ServiceTime]
"""How long a part of so many samples takes."""


def service_model(
    workload: Workload, system: System, placement: PlacementStrategy, schedule: str | None = None
) -> Service:
    """The performance model as a service: evaluated once for every size that occurs."""
    known: dict[int, ServiceTime] = {}

    def service(samples: int) -> ServiceTime:
        if samples not in known:
            result = evaluate(workload.changed(batch=samples), system, placement, schedule=schedule)
            known[samples] = ServiceTime(result.seconds, result.timeline.latency)
        return known[samples]

    return service


@dataclass(frozen=True)
class Served:
    """What one run saw. Latencies in seconds, one per query, in order of arrival."""

    offered_qps: float
    latencies: np.ndarray
    busy: float
    seconds: float

    def percentile(self, percent: float) -> float:
        """PPF(D_Q, P): the latency that `percent` of the queries do not exceed."""
        return float(np.percentile(self.latencies, percent))

    @property
    def utilisation(self) -> float:
        """Share of the time in which the system was occupied."""
        return self.busy / self.seconds

    @property
    def completed_qps(self) -> float:
        """Queries answered per second."""
        return len(self.latencies) / self.seconds


def poisson_arrivals(qps: float, count: int, random: np.random.Generator) -> np.ndarray:
    """Arrival times of `count` queries in seconds, exponential gaps of mean 1 / `qps`."""
    return np.cumsum(random.exponential(1 / qps, count))


def _parts(size: int, largest: int) -> Iterator[int]:
    """Cut a query in parts of at most `largest` samples, as even as can be."""
    pieces = -(-size // largest)
    for index in range(pieces):
        yield size * (index + 1) // pieces - size * index // pieces


def simulate(
    arrivals: Sequence[float] | np.ndarray,
    sizes: Sequence[int] | np.ndarray,
    service: Service,
    largest_part: int,
    replicas: int = 1,
) -> Served:
    """Send queries through `replicas` equal systems with one queue, first come first served.

    A query of more than `largest_part` samples is cut in parts that queue one by one (the paper's
    "adjusting the query size", Sec. III-C); it is answered with its last part.
    """
    import simpy

    environment = simpy.Environment()
    systems = simpy.Resource(environment, capacity=replicas)
    latencies = np.zeros(len(arrivals))
    busy = 0.0

    def part(samples: int) -> "Generator[simpy.Event, Any, None]":
        nonlocal busy
        time = service(samples)
        with systems.request() as turn:
            yield turn
            yield environment.timeout(time.interval)
            busy += time.interval
        if time.latency > time.interval:
            yield environment.timeout(time.latency - time.interval)

    def query(index: int, size: int) -> "Generator[simpy.Event, Any, None]":
        start = environment.now
        yield environment.all_of(
            [environment.process(part(piece)) for piece in _parts(size, largest_part)]
        )
        latencies[index] = environment.now - start

    def source() -> "Generator[simpy.Event, Any, None]":
        for index, (moment, size) in enumerate(zip(arrivals, sizes, strict=True)):
            yield environment.timeout(max(float(moment) - environment.now, 0.0))
            environment.process(query(index, int(size)))

    environment.process(source())
    environment.run()
    seconds = float(environment.now)
    span = float(arrivals[-1]) or seconds
    return Served(len(arrivals) / span, latencies, busy / replicas, seconds)


@dataclass(frozen=True)
class Serving:
    """One experiment: a service, sizes, and how many queries are drawn with which seed."""

    service: Service
    sizes: QuerySizes
    largest_part: int
    replicas: int = 1
    queries: int = 20_000
    seed: int = 0

    def capacity(self) -> float:
        """Queries per second at which the system is never idle."""
        random = np.random.default_rng(self.seed)
        sizes = self.sizes.draw(random, self.queries)
        busy = sum(
            self.service(piece).interval
            for size in sizes
            for piece in _parts(int(size), self.largest_part)
        )
        return self.replicas * len(sizes) / busy

    def at(self, qps: float) -> Served:
        """Serve Poisson arrivals at `qps`; equal seeds give equal queries at every rate."""
        if not qps > 0:
            raise SpecificationError(f"queries per second must be above zero, not {qps:g}")
        random = np.random.default_rng(self.seed)
        sizes = self.sizes.draw(random, self.queries)
        arrivals = poisson_arrivals(qps, self.queries, random)
        return simulate(arrivals, sizes, self.service, self.largest_part, self.replicas)

    def highest_qps(self, sla: float, percent: float, tolerance: float = 0.01) -> float:
        """Most queries per second whose `percent` percentile stays within `sla` seconds.

        Bisection between idle and capacity, to `tolerance` of the capacity. 0 when even an almost
        idle system misses the SLA.
        """
        capacity = self.capacity()
        low, high = 0.001 * capacity, capacity
        if self.at(low).percentile(percent) > sla:
            return 0.0
        while high - low > tolerance * capacity:
            middle = (low + high) / 2
            if self.at(middle).percentile(percent) <= sla:
                low = middle
            else:
                high = middle
        return low
