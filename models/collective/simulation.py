"""Golden model of collectives: the clock of every event, and every byte that is delivered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recspeed.models.collective.clock_loop import run_clocks
from recspeed.models.collective.reduction import reduced
from recspeed.models.collective.system_record import SystemRecord, system_record
from recspeed.models.runs.collective import (
    COUNTERS,
    Collective,
    CollectiveOutcome,
    CollectiveRun,
    quiesce_clocks,
)
from recspeed.models.spec.collective import Operation


def golden_outcome(run: CollectiveRun, *, log_peers: bool = True) -> CollectiveOutcome:
    """The clocks, errors and counters of a run; without `log_peers` the outcome's `peers` is empty.

    Raises
    ------
    RuntimeError
        When the peers of a run change more often than the log has room for.
    """
    system = system_record(run, quiesce_clocks(run.link), log_peers=log_peers)
    run_clocks(system)
    changes, room = int(system.run["peer_changes"][0]), len(system.peer_log)
    if log_peers and changes > room:
        raise RuntimeError(f"{changes} changes of peers, expected at most {room}")
    return _outcome(system)


def _outcome(system: SystemRecord) -> CollectiveOutcome:
    chips = len(system.chips)

    def clocks(name: str) -> list[list[int]]:
        return [[int(t) for t in row if t >= 0] for row in system.progress[name]]

    peers: list[list[tuple[int, int]]] = [[] for _ in range(chips)]
    logged = min(int(system.run["peer_changes"][0]), len(system.peer_log))
    for rank, clock, bits in system.peer_log[:logged].tolist():
        peers[rank].append((clock, bits))
    errors = system.chips[["error_clock", "error", "error_link"]].tolist()
    others = ~np.eye(chips, dtype=bool)
    counters = np.stack([system.ends[name][others] for name in COUNTERS], axis=-1)
    return CollectiveOutcome(
        starts=clocks("start"),
        completions=clocks("completion"),
        peers=peers,
        errors=[error if error[0] >= 0 else None for error in errors],
        counters=counters.reshape(chips, chips - 1, len(COUNTERS)),
        end=int(system.run["end"][0]),
    )


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
