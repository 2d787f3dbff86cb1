"""Runs of one collective at any fidelity, and what is reported of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from recspeed.models.bounds.collective import bound_clocks
from recspeed.models.collective.reduction import partial_sums
from recspeed.models.collective.simulation import golden_outcome, golden_output
from recspeed.models.runs.collective import (
    COUNTERS,
    Collective,
    CollectiveOutcome,
    CollectiveRun,
    Fault,
    FaultKind,
    collective,
    lay_out,
    start_clock,
)
from recspeed.models.spec.collective import CollectiveParameters, EngineError, Operation, WireFormat
from recspeed.models.spec.link import lines_of
from recspeed.models.topologies.comparison import Topology, bound_nanoseconds, golden_nanoseconds
from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.options import Fidelity
from recspeed.tb.collective.compare import compare_outcomes
from recspeed.tb.collective.mixes import random_mask
from recspeed.tb.collective.simulation import simulate_collectives
from recspeed.tb.simulator import toolchain

BUS_FACTOR = {
    Operation.ALL_TO_ALL: 1,
    Operation.ALL_GATHER: 1,
    Operation.REDUCE_SCATTER: 1,
    Operation.ALL_REDUCE: 2,
}
"""nccl-tests: bus bandwidth is algorithm bandwidth times this times (n - 1) / n."""


@dataclass(frozen=True)
class Result:
    """One collective at one fidelity; the keys of `recspeed collective --out`.

    `cycles` is from the first start to the last completion; bandwidths are in GB/s after
    nccl-tests' definitions. `digest` is the SHA-256 of all outputs in rank order. Of other
    topologies than direct links there are times alone, given in clocks of direct links.
    """

    op: str
    chips: int
    bytes_per_chip: int
    wire: str
    fidelity: str
    clock_ghz: float
    cycles: int
    nanoseconds: float
    bound_cycles: int
    algorithm_bandwidth: float
    bus_bandwidth: float
    flits_sent: int
    flits_replayed: int
    crc_errors: int
    digest: str | None
    topology: str = Topology.DIRECT.value

    def keys(self) -> dict[str, object]:
        """As written to JSON, where the fidelity is called engine as on the command line."""
        fields = asdict(self)
        return {("engine" if name == "fidelity" else name): fields[name] for name in fields}


@dataclass(frozen=True, eq=False)
class Job:
    """A collective with its data, ready to run.

    `held` is what each rank holds before the operation, `inputs` the same as it lies in the buffers
    (for reductions as partial sums in the wire format); uint8.
    """

    parameters: CollectiveParameters
    item: Collective
    bytes_per_chip: int
    held: list[NDArray[np.uint8]]
    inputs: list[NDArray[np.uint8]]
    faults: list[Fault]

    @property
    def limit(self) -> int:
        """Clocks after which the run is given up; far beyond any retry."""
        flits = int(np.vectorize(lines_of)(self.item.lengths).sum(axis=1).max())
        skew = int(self.item.ready_from.max())
        return 40 * flits + skew + 20 * self.parameters.link.dead_link_clocks + 100_000


def random_errors(rng: np.random.Generator, chips: int, rate: float, flits: int) -> list[Fault]:
    """Bit errors in `rate` of the first `flits` flits of every wire."""
    faults = []
    for source in range(chips):
        for target in range(chips):
            if source != target and rate > 0:
                for ordinal in np.flatnonzero(rng.random(flits) < rate):
                    mask = random_mask(rng)
                    faults.append(Fault(source, target, int(ordinal), FaultKind.CORRUPT, mask))
    return faults


def make_job(
    parameters: CollectiveParameters,
    item: Collective,
    bytes_per_chip: int,
    *,
    seed: int,
    skew: int = 0,
    error_rate: float = 0.0,
) -> Job:
    """Fill in random data, arrival times and errors.

    Reductions get FP16 values of a normal distribution, everything else random bytes. Ranks start
    up to `skew` clocks late.
    """
    rng = np.random.default_rng(seed)
    chips = parameters.chips
    ready = start_clock(parameters.link) + rng.integers(0, skew + 1, chips)
    item = Collective(item.operation, item.lengths, ready.astype(np.int64), item.wire)
    held, inputs = [], []
    for rank in range(chips):
        total = sum(item.input_blocks(rank))
        if item.operation.reduces:
            values = rng.normal(size=total // item.wire.bytes).astype(np.float16)
            held.append(values.astype("<f2").view(np.uint8))
            inputs.append(partial_sums(values, item.wire))
        else:
            held.append(rng.integers(0, 256, total, dtype=np.uint8))
            inputs.append(held[-1])
    flits = 4 * max(lines_of(int(length)) for length in item.lengths.flat) + 20_000
    faults = random_errors(rng, chips, error_rate, flits)
    return Job(parameters, item, bytes_per_chip, held, inputs, faults)


def equal_collective(
    operation: Operation, chips: int, bytes_per_chip: int, wire: WireFormat
) -> Collective:
    """The operation cut evenly.

    Raises
    ------
    UserError
        When a reduction is asked for half an FP16 element.
    """
    if operation.reduces and bytes_per_chip % 2:
        raise UserError(
            f"--bytes {bytes_per_chip}: {operation.name.lower()} adds FP16 elements of 2 bytes; "
            "expected an even number"
        )
    return collective(operation, bytes_per_chip, chips, wire=wire)


def _result(
    job: Job,
    fidelity: Fidelity,
    cycles: int,
    counters: Sequence[int],
    outputs: Sequence[NDArray[np.uint8]] | None,
) -> Result:
    digest = None
    if outputs is not None:
        digest = hashlib.sha256(b"".join(output.tobytes() for output in outputs)).hexdigest()
    clock = job.parameters.clock_gigahertz
    bound = bound_clocks(job.item, job.parameters.link)
    result = _timed(job, fidelity, cycles, cycles / clock, bound)
    return replace(
        result,
        flits_sent=counters[0],
        flits_replayed=counters[1],
        crc_errors=counters[2],
        digest=digest,
    )


def _timed(job: Job, fidelity: Fidelity, cycles: int, nanoseconds: float, bound: int) -> Result:
    """A result of which the time is known and nothing else."""
    parameters, operation = job.parameters, job.item.operation
    chips = parameters.chips
    size = job.bytes_per_chip * (chips if operation == Operation.ALL_GATHER else 1)
    bandwidth = size / nanoseconds if nanoseconds else 0.0
    return Result(
        op=operation.name.lower(),
        chips=chips,
        bytes_per_chip=job.bytes_per_chip,
        wire=job.item.wire.name.lower(),
        fidelity=fidelity.value,
        clock_ghz=round(parameters.clock_gigahertz, 6),
        cycles=cycles,
        nanoseconds=round(nanoseconds, 3),
        bound_cycles=bound,
        algorithm_bandwidth=round(bandwidth, 3),
        bus_bandwidth=round(bandwidth * BUS_FACTOR[operation] * (chips - 1) / chips, 3),
        flits_sent=0,
        flits_replayed=0,
        crc_errors=0,
        digest=None,
    )


def other_topologies(job: Job, slice_bytes: int) -> list[Result]:
    """The same collective of equal slices on ring and switch, by their golden models."""
    clock = job.parameters.clock_gigahertz
    results = []
    for topology in Topology:
        if topology == Topology.DIRECT:
            continue
        time = golden_nanoseconds(topology, job.item, job.parameters)
        least = bound_nanoseconds(topology, job.item.operation, slice_bytes, job.parameters)
        result = _timed(job, Fidelity.GOLDEN, ceil(time * clock), time, ceil(least * clock))
        results.append(replace(result, topology=topology.value))
    return results


def _cycles(outcome: CollectiveOutcome) -> int:
    """Clocks from the first start to the last completion.

    Raises
    ------
    UserError
        When a rank met an error, or did not complete.
    """
    for rank, error in enumerate(outcome.errors):
        if error is not None:
            clock, code, link = error
            peer = link + (link >= rank)
            raise UserError(
                f"rank {rank} met {EngineError(code).name} on its link to rank {peer} "
                f"in clock {clock}",
                CHECK_FAILED,
            )
    if outcome.end < 0 or not all(outcome.completions):
        raise UserError("the collective did not complete within its limit", CHECK_FAILED)
    return max(clocks[0] for clocks in outcome.completions) - min(
        clocks[0] for clocks in outcome.starts
    )


def _totals(outcome: CollectiveOutcome) -> list[int]:
    names = ("flits_sent", "flits_replayed", "crc_errors")
    return [int(outcome.counters[:, :, COUNTERS.index(name)].sum()) for name in names]


Outputs = list[NDArray[np.uint8]]


def run_golden(job: Job, run: CollectiveRun) -> tuple[CollectiveOutcome, Outputs]:
    """Clocks and counters, and every rank's output, by the golden model."""
    return golden_outcome(run), golden_output(job.item, job.inputs)


def verify(
    rtl: CollectiveOutcome, rtl_outputs: Outputs, golden: CollectiveOutcome, outputs: Outputs
) -> None:
    """Hold the RTL's outcome against the golden model's.

    Raises
    ------
    UserError
        When a checker reported a violation, or a clock, counter or byte differs.
    """
    differences = [*rtl.violations, *compare_outcomes(rtl, golden)]
    for rank, (seen, wanted) in enumerate(zip(rtl_outputs, outputs, strict=True)):
        if not np.array_equal(seen, wanted):
            differences.insert(0, f"the data delivered to rank {rank} differ")
    if differences:
        raise UserError(f"RTL and golden model differ: {differences[0]}", CHECK_FAILED)


def error_free_cycles(job: Job) -> int:
    """Clocks that the same collective takes without errors, by the golden model."""
    run = CollectiveRun(job.parameters.link, lay_out([job.item]).descriptors, limit=job.limit)
    return _cycles(golden_outcome(run))


def run_job(
    job: Job, fidelities: Sequence[Fidelity]
) -> tuple[list[Result], list[NDArray[np.uint8]] | None]:
    """Run a collective at the given fidelities; results, and the outputs of the last that has any.

    Raises
    ------
    UserError
        When an engine reports an error, a checker a violation, or RTL and golden model differ.
    """
    layout = lay_out([job.item])
    run = CollectiveRun(job.parameters.link, layout.descriptors, faults=job.faults, limit=job.limit)
    results: list[Result] = []
    found: dict[Fidelity, tuple[CollectiveOutcome, Outputs]] = {}
    outputs: list[NDArray[np.uint8]] | None = None
    for fidelity in fidelities:
        if fidelity == Fidelity.BOUND:
            bound = bound_clocks(job.item, job.parameters.link)
            results.append(_result(job, fidelity, bound, (0, 0, 0), None))
            continue
        if fidelity == Fidelity.GOLDEN:
            outcome, outputs = run_golden(job, run)
        else:
            try:
                [(outcome, images)] = simulate_collectives([(run, layout.images([job.inputs]))])
            except toolchain.ToolchainError as error:
                raise UserError(str(error), CHECK_FAILED) from None
            outputs = layout.extract(images)[0]
            if outcome.violations:
                raise UserError(f"RTL: {outcome.violations[0]}", CHECK_FAILED)
        results.append(_result(job, fidelity, _cycles(outcome), _totals(outcome), outputs))
        found[fidelity] = outcome, outputs
    if len(found) == 2:
        verify(*found[Fidelity.RTL], *found[Fidelity.GOLDEN])
    return results, outputs
