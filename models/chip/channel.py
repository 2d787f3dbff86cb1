"""Golden model of the memory channel: every bit of every result, and the clock of every event.

It is written from ARCHITECTURE.md, "The memory channel", and shares nothing with the RTL.
"""

from dataclasses import replace
from math import ceil

import numpy as np

from recspeed.models.chip.clock_loop import loop_state, run_clocks
from recspeed.models.dram.front_end import front_end
from recspeed.models.pooling.lookup_issue import lookup_issue
from recspeed.models.pooling.output import output
from recspeed.models.pooling.pooled_sums import pooled_lanes
from recspeed.models.spec.engine import MAXIMUM_BAG, slot_layout
from recspeed.models.spec.registers import IDLE_CAUSES, Counter
from recspeed.models.spec.run import COMMAND_LOG, ChannelResult, ChannelRun

CHUNK_CLOCKS = 1 << 16
"""Clocks between two returns to Python, where a run can be interrupted."""


class EndlessRunError(RuntimeError):
    """A run that cannot end: a pattern of no ones, or no clock left between refreshes."""


def simulate_channel(run: ChannelRun, *, record_commands: bool = True) -> ChannelResult:
    """Execute `run` on one pseudo channel.

    Parameters
    ----------
    run : ChannelRun
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
        front_end(run.preset, run.parameters, run.settings),
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
    return ChannelResult(
        bag=bag,
        beat=np.arange(transferred) - first,
        lanes=lanes,
        transfer_cycle=transfer_cycle[:transferred],
        commands=commands,
        counters=_counters(states),
    )


def check_run(run: ChannelRun) -> None:
    """Refuse what the hardware cannot hold, and patterns under which no run ends.

    Raises
    ------
    ValueError, EndlessRunError
        As `simulate_channel` does.
    """
    preset, parameters, patterns = run.preset, run.parameters, run.patterns
    if len(run.tables) > parameters.tables:
        raise ValueError(f"{len(run.tables)} tables; expected at most {parameters.tables}")
    if run.settings.outstanding > parameters.maximum_outstanding:
        raise ValueError(
            f"{run.settings.outstanding} bursts outstanding; "
            f"expected at most {parameters.maximum_outstanding}"
        )
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


def _patience(run: ChannelRun) -> int:
    """Clocks without progress after which a run cannot go on.

    Nothing but refresh keeps a request waiting for more than a few hundred clocks. Where tREFI
    leaves little beyond tRFC, refreshes that a drain has delayed are caught up by as little as one
    clock per group, after as many groups as the drain had clocks.
    """
    clocks = run.preset.clocks
    drain = 1024 + 2 * clocks.tRC + 32 * clocks.tCCD_L + clocks.tCL
    return (1 + run.settings.refresh_group) * clocks.tREFI * drain


def _run_to_end(run, states, transfer_cycle, record) -> np.ndarray:
    """Run the clock loop until done; the commands in the order of the log."""
    loop = states[3]
    bursts = np.array([table.bursts(run.preset) for table in run.tables], dtype=np.int64)
    most = len(run.indices) + int((bursts[run.bag_tables] * run.bag_lengths).sum())
    # Pages that nothing is written to take no memory: the log may be larger than it comes to be.
    log = np.empty(most + 4 * CHUNK_CLOCKS if record else 0, dtype=COMMAND_LOG)
    patience = _patience(run)
    bags = (run.bag_tables, run.bag_lengths, run.indices)
    while not loop["finished"][0]:
        if record and len(log) - loop["logged"][0] < 2 * CHUNK_CLOCKS:
            log = np.concatenate((log, np.empty(len(log), dtype=COMMAND_LOG)))
        run_clocks(states, *bags, transfer_cycle, log, record, CHUNK_CLOCKS)
        if loop["t"][0] - loop["progress"][0] > patience and not loop["finished"][0]:
            raise EndlessRunError(
                f"the run cannot end: nothing has moved from clock {loop['progress'][0]} "
                f"to clock {loop['t'][0]}"
            )
    # What was decided in the last clock would be on the bus when the run is done.
    log = log[: loop["logged"][0]]
    return log[log["cycle"] < loop["t"][0]]


def _counters(states) -> dict[Counter, int]:
    """Every counter and status word by the end of the run."""
    front, issue, _, loop = states
    counters = {cause: int(loop["causes"][0, cause]) for cause in (Counter.DATA, *IDLE_CAUSES)}
    counters[Counter.CYCLES] = int(loop["t"][0])
    for counter in (Counter.ACTIVATES, Counter.READS, Counter.REFRESHES):
        counters[counter] = int(front[counter.name.lower()][0])
    for counter in Counter:
        if counter >= Counter.LOOKUPS:
            counters[counter] = int(issue[counter.name.lower()][0])
    counters[Counter.ERROR_INDEX] %= 1 << 64
    return {counter: counters[counter] for counter in Counter}
