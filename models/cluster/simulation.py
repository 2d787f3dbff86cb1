"""Golden model of the memory channel: every bit of every result, and the clock of every event.

It is written from docs/cluster.md and shares nothing with the RTL.
"""

from dataclasses import replace
from math import ceil

import numpy as np

from recspeed.models.cluster.clock_loop import loop_state, run_clocks
from recspeed.models.cluster.pooled_vectors import pooled_lanes
from recspeed.models.cluster.readout import output
from recspeed.models.dram.front_end_record import front_end
from recspeed.models.lib.endless_run import EndlessRunError, patience, standstill
from recspeed.models.pooling.lookup_issue import lookup_issue
from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.cluster import slot_layout
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.models.spec.table import MAXIMUM_BAG

CHUNK_CLOCKS = 1 << 16
"""Clocks between two returns to Python, where a run can be interrupted."""


def simulate_cluster(run: ClusterRun, *, record_commands: bool = True) -> ClusterResult:
    """Execute `run` on one pseudo channel.

    Parameters
    ----------
    run : ClusterRun
        The input.
    record_commands : bool
        Whether the result's `commands` are filled; without them a long run takes less memory.

    Raises
    ------
    ValueError
        For a run that the hardware cannot hold: a bag of more than 4095 lookups, an unknown table,
        a table outside the DRAM, contents of another shape, more bursts outstanding than the
        counter holds.
    EndlessRunError
        For a run that cannot end.
    """
    check_run(run)
    run = replace(
        run,
        bag_tables=np.ascontiguousarray(run.bag_tables, dtype=np.int64),
        bag_lengths=np.ascontiguousarray(run.bag_lengths, dtype=np.int64),
        indices=np.ascontiguousarray(run.indices, dtype=np.int64),
    )
    slots, _ = slot_layout(run.parameters, run.preset, run.tables) if run.tables else (1, 0)
    beats = np.array([table.beats for table in run.tables], dtype=np.int64)[run.bag_tables]
    total = int(beats.sum())
    states = (
        front_end(run.preset, _front_end_settings(run), run.parameters.queue_depth),
        lookup_issue(run, slots),
        output(total, run.patterns.pooled),
        loop_state(),
    )
    transfer_cycle = np.zeros(total, dtype=np.int64)
    commands = _run_to_end(run, states, transfer_cycle, record_commands)

    lanes = pooled_lanes(run)
    transferred = int(states[2]["transferred"][0])
    if len(lanes) != transferred:
        raise AssertionError(f"{transferred} beats transferred, {len(lanes)} pooled")
    bag = np.repeat(np.arange(len(beats)), beats)[:transferred]
    first = np.repeat(np.cumsum(beats) - beats, beats)[:transferred]
    return ClusterResult(
        bag=bag,
        beat=np.arange(transferred) - first,
        lanes=lanes,
        transfer_cycle=transfer_cycle[:transferred],
        commands=commands,
        counters=_counters(states),
    )


def _front_end_settings(run: ClusterRun) -> FrontEndSettings:
    """The channel's settings as far as the front-end has them; it has no writes."""
    settings = run.settings
    return FrontEndSettings(
        outstanding=settings.outstanding,
        refresh_group=settings.refresh_group,
        per_bank=settings.per_bank,
        row_hits=settings.row_hits,
    )


def check_run(run: ClusterRun) -> None:
    """Refuse what the hardware cannot hold, and patterns under which no run ends.

    Raises
    ------
    ValueError, EndlessRunError
        As `simulate_cluster` does.
    """
    preset, parameters, patterns = run.preset, run.parameters, run.patterns
    if len(run.tables) > parameters.tables:
        raise ValueError(f"{len(run.tables)} tables; expected at most {parameters.tables}")
    if run.settings.outstanding > parameters.maximum_outstanding:
        raise ValueError(
            f"{run.settings.outstanding} bursts outstanding; "
            f"expected at most {parameters.maximum_outstanding}"
        )
    if run.settings.per_bank and not preset.per_bank_refresh:
        raise ValueError(f"{preset.name} has no per-bank refresh")
    if run.contents is not None and len(run.contents) != len(run.tables):
        raise ValueError(f"contents of {len(run.contents)} tables; expected {len(run.tables)}")
    for number, table in enumerate(run.tables):
        places = ceil(ceil(table.rows / preset.banks) / table.row_span)
        if (
            table.base_row + table.row_span > preset.organization.rows
            or places * table.bursts(preset) > preset.bursts_per_row
        ):
            raise ValueError(
                f"table {number}: {table.rows} rows of {table.bytes} B do not fit {preset.name} "
                f"over {table.row_span} DRAM rows from row {table.base_row} on"
            )
        if run.contents is not None:
            expected = (table.rows, table.elements)
            content = run.contents[number]
            if content.shape != expected or content.dtype != np.uint16:
                raise ValueError(f"contents of table {number}: expected uint16 of shape {expected}")
    for name in ("bags", "indices", "pooled"):
        if not 0 <= getattr(patterns, name) < 1 << 64:
            raise ValueError(f"pattern of {name}: {getattr(patterns, name):#x} exceeds 64 bits")
    if len(run.bag_lengths) == 0:
        return
    for length in (run.bag_lengths.min(), run.bag_lengths.max()):
        if not 0 <= length <= MAXIMUM_BAG:
            raise ValueError(f"a bag of {length} lookups; expected 0 to {MAXIMUM_BAG}")
    for bag in np.flatnonzero((run.bag_tables < 0) | (run.bag_tables >= len(run.tables)))[:1]:
        known = f"; expected 0 to {len(run.tables) - 1}" if run.tables else ", and the run has none"
        raise ValueError(f"bag {bag} names table {run.bag_tables[bag]}{known}")
    for name, needed in (("bags", True), ("indices", len(run.indices) > 0), ("pooled", True)):
        if needed and getattr(patterns, name) == 0:
            raise EndlessRunError(f"the run cannot end: the pattern of {name} has no 1")


def _run_to_end(run, states, transfer_cycle, record) -> np.ndarray:
    """Run the clock loop until done; the commands in the order of the log."""
    buffer = np.zeros(2 * CHUNK_CLOCKS if record else 2, dtype=COMMAND_LOG)
    logs = []
    loop = states[3]
    limit = patience(run.preset, run.settings.refresh_group)
    bags = (run.bag_tables, run.bag_lengths, run.indices)
    while not loop["finished"][0]:
        run_clocks(states, *bags, transfer_cycle, buffer, record, CHUNK_CLOCKS)
        logs.append(buffer[: loop["logged"][0]].copy())
        if loop["t"][0] - loop["progress"][0] > limit and not loop["finished"][0]:
            raise standstill(loop["progress"][0], loop["t"][0])
    log = np.concatenate(logs)
    # What was decided in the last clock would be on the bus when the run is done.
    return log[log["cycle"] < loop["t"][0]]


def _counters(states) -> dict[Counter, int]:
    """Every counter and status word by the end of the run."""
    front, issue, _, loop = states
    counters = {cause: int(front["causes"][0, cause]) for cause in (Counter.DATA, *IDLE_CAUSES)}
    counters[Counter.CYCLES] = int(loop["t"][0])
    counters[Counter.ACTIVATES] = int(front["activates"][0])
    counters[Counter.REFRESHES] = int(front["refreshes"][0])
    counters[Counter.READS], counters[Counter.WRITES] = (int(n) for n in front["moved"][0])
    for counter in Counter:
        if counter not in counters:
            counters[counter] = int(issue[counter.name.lower()][0])
    counters[Counter.ERROR_INDEX] %= 1 << 64
    return {counter: counters[counter] for counter in Counter}
