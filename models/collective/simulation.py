"""Golden model of collectives: the clock of every event, and every byte that is delivered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recspeed.models.collective import engine as e
from recspeed.models.collective.clock_loop import (
    EVENT_COMPLETE,
    EVENT_ERROR,
    EVENT_PEERS,
    EVENT_START,
    run_clocks,
)
from recspeed.models.collective.link import parameter_vector
from recspeed.models.collective.reduction import reduced
from recspeed.models.runs.collective import (
    COUNTERS,
    Collective,
    CollectiveOutcome,
    CollectiveRun,
    quiesce_clocks,
)
from recspeed.models.spec.collective import Operation


def golden_outcome(run: CollectiveRun) -> CollectiveOutcome:
    """The clocks, errors and counters of a run."""
    chips = run.chips
    longest = max(1, *(len(items) for items in run.descriptors))
    common = np.zeros((chips, longest, e.DESCRIPTOR_FIELDS), np.int64)
    source_bytes = np.zeros((chips, longest, chips), np.int64)
    destination_bytes = np.zeros((chips, longest, chips), np.int64)
    for rank, items in enumerate(run.descriptors):
        for number, item in enumerate(items):
            common[rank, number] = (
                item.operation,
                item.wire,
                item.sequence,
                item.local_bytes,
                item.result_bytes,
                item.ready_from,
            )
            source_bytes[rank, number] = item.source_bytes
            destination_bytes[rank, number] = item.destination_bytes
    stalls = np.zeros((chips, 3), np.int64)
    stalls[:, 1:] = 1 << 62
    for rank, stall in run.stalls.items():
        stalls[rank] = stall.rate, stall.begin, stall.end
    dead_from = np.full((chips, chips), 1 << 62, np.int64)
    for pair, clock in run.dead.items():
        dead_from[pair] = clock
    ordered = sorted(run.faults, key=lambda f: (f.source, f.target, f.ordinal))
    faults = np.array([(f.ordinal, int(f.kind)) for f in ordered], np.int64).reshape(-1, 2)
    wires = [f.source * chips + f.target for f in ordered]
    fault_begin = np.searchsorted(wires, np.arange(chips * chips + 1)).astype(np.int64)
    counters = np.zeros((chips, chips - 1, len(COUNTERS)), np.int64)
    events = np.zeros((chips * longest * (4 * chips + 8) + 64, 5), np.int64)
    counts = np.array([len(items) for items in run.descriptors], np.int64)
    end, count = run_clocks(
        parameter_vector(run.link), counts, common, source_bytes, destination_bytes, stalls,
        faults, fault_begin, dead_from, quiesce_clocks(run.link), run.limit, counters, events,
    )  # fmt: skip
    if count > len(events):
        raise RuntimeError(f"{count} events, expected at most {len(events)}")
    return _outcome(events[:count], counters, int(end))


def _outcome(events: NDArray[np.int64], counters: NDArray[np.int64], end: int) -> CollectiveOutcome:
    chips = len(counters)
    outcome = CollectiveOutcome(
        starts=[[] for _ in range(chips)],
        completions=[[] for _ in range(chips)],
        peers=[[] for _ in range(chips)],
        errors=[None] * chips,
        counters=counters,
        end=end,
    )
    for what, rank, clock, first, second in events.tolist():
        if what == EVENT_START:
            outcome.starts[rank].append(clock)
        elif what == EVENT_COMPLETE:
            outcome.completions[rank].append(clock)
        elif what == EVENT_PEERS:
            outcome.peers[rank].append((clock, first))
        elif what == EVENT_ERROR:
            outcome.errors[rank] = (clock, first, second)
    return outcome


def golden_output(item: Collective, inputs: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.uint8]]:
    """Every rank's output, uint8, for every rank's input."""
    if item.operation == Operation.ALL_GATHER:
        return [np.concatenate(inputs)] * item.chips
    pieces = [
        np.split(values, np.cumsum(lengths)[:-1])
        for values, lengths in zip(inputs, item.lengths, strict=True)
    ]
    columns = [list(column) for column in zip(*pieces, strict=True)]
    if item.operation == Operation.ALL_TO_ALL:
        return [np.concatenate(column) for column in columns]
    slices = [reduced(column, item.wire) for column in columns]
    if item.operation == Operation.REDUCE_SCATTER:
        return slices
    return [np.concatenate(slices)] * item.chips
