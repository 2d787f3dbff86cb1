"""One clock of a front-end with its sources, for the clock loops of one and of two of them.

A loop runs `start_of_clock`, asks `is_done`, then `propose`, which sees the registers as they are
in `t`, and hands `carry_out` what of it is decided.

Source of every rule: docs/dram.md.
"""

import numpy as np
from numba import njit

from recspeed.models.dram.attribution import (
    BANK_BUSY,
    NO_REQUEST,
    NOTHING_TO_DO,
    OUTSTANDING,
    attribute,
)
from recspeed.models.dram.front_end import apply_commands, decide
from recspeed.models.dram.front_end_record import READ
from recspeed.models.dram.mode_control import apply_modes, next_modes
from recspeed.models.dram.request_queue import accepts_read, put_request
from recspeed.models.dram.write_buffer import admits_write, put_write, release_oldest
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.register_map import Counter

RUN = np.dtype(
    [
        (name, "<i8")
        for name in (
            *("t", "finished", "refreshes", "progress", "row_cause", "logged"),
            *("read_offered", "next_read", "write_offered", "next_write"),
            *("data_offered", "next_beat", "beats_of_run", "beats_taken"),
        )
    ]
    + [(name, "<u8") for name in ("read_pattern", "write_pattern", "data_pattern")]
    + [("causes", "<i8", (len(Counter),))]
)
"""`t`: the next clock; of a finished run the one in which it was done. `refreshes`: of a finished
run, those until then. `progress`: the latest clock in which an item or a command other than a
refresh moved. `next_...`: the item that the source holds, or will offer next. `beats_taken`: of the
offered write. `causes`: clocks of each counter."""

SERVED = np.dtype([("request", "<i4")])
"""Beside each entry of the log: number of a column command's request in its list; -1 of others."""


def run_state(run: DramRun) -> np.ndarray:
    """A `RUN` array of one record, as it is in clock 0."""
    state = np.zeros(1, dtype=RUN)
    state["row_cause"] = BANK_BUSY
    state["beats_of_run"] = int(run.writes["bursts"].sum()) * run.preset.burst_clocks
    patterns = run.patterns
    state["read_pattern"], state["write_pattern"] = patterns.reads, patterns.writes
    state["data_pattern"] = patterns.write_data
    return state


@njit(error_model="numpy", forceinline=True)
def _permits(pattern, t):
    """Bit `t mod 64` of an unsigned pattern."""
    return (pattern >> np.uint64(t & 63)) & np.uint64(1) != 0


@njit(error_model="numpy", forceinline=True)
def _sources_clock(state, t, counts, accept_read, take_beat, accept_write):
    """One clock of the three sources; `counts`: reads and writes of the run."""
    reads, writes = counts
    state.next_read += accept_read
    state.next_write += accept_write
    state.next_beat += take_beat
    state.beats_taken = 0 if accept_write else state.beats_taken + take_beat
    if accept_read or not state.read_offered:
        state.read_offered = state.next_read < reads and _permits(state.read_pattern, t)
    if accept_write or not state.write_offered:
        state.write_offered = state.next_write < writes and _permits(state.write_pattern, t)
    if take_beat or not state.data_offered:
        more = state.next_beat < state.beats_of_run
        state.data_offered = more and _permits(state.data_pattern, t)


@njit(error_model="numpy", forceinline=True)
def is_done(fe, state, t, counts):
    """Whether the run of `counts` reads and writes is done in `t`; to be asked until it is."""
    reads, writes = counts
    if state.next_read < reads or fe.in_flight != 0 or fe.writes_done < writes:
        return False
    state.finished, state.t, state.refreshes = 1, t, fe.refreshes
    return True


@njit(error_model="numpy", forceinline=True)
def propose(fe, state, t, read, write):
    """What is taken from the sources, `(read, beat, write)`, and what `decide` gives.

    `read`, `write`: the request that each source holds or will offer next; not looked at where it
    holds none.
    """
    accept_read = False
    if state.read_offered:
        accept_read = accepts_read(fe, read.bank, read.bursts)
    take_beat, accept_write = False, False
    if state.write_offered and state.data_offered:
        take_beat = admits_write(fe, write.bank, write.bursts)
        last = state.beats_taken + 1 == write.bursts * fe.burst_clocks
        accept_write = take_beat and last
    return (accept_read, take_beat, accept_write), decide(fe, t)


@njit(error_model="numpy", forceinline=True)
def carry_out(fe, state, t, counts, read, write, taken, decided, log, served):
    """Count the clock if the run is not done, do what is decided in it, take what is taken.

    `log`, `served`: the next two free entries each of the log buffer and of what is served.
    """
    accept_read, take_beat, accept_write = taken
    refresh, column, activate = decided
    act_mode, column_mode = next_modes(fe, t)
    cause, state.row_cause = attribute(fe, t, activate >= 0, column >= 0, state.row_cause)
    if cause == NOTHING_TO_DO:
        offered = state.read_offered or state.write_offered
        cause = OUTSTANDING if offered else NO_REQUEST
    if not state.finished:
        state.causes[cause] += 1

    number = fe.open_tag[column] if column >= 0 else -1
    commands = apply_commands(fe, t, refresh, column, activate, log[0], log[1])
    served[0].request = -1
    if column >= 0:
        served[commands - 1].request = number
    state.logged += commands
    release_oldest(fe)
    if accept_read:
        put_request(fe, READ, read.bank, read.bursts, read.row, read.column, state.next_read)
    if accept_write:
        put_write(fe, write.bank, write.bursts, write.row, write.column, state.next_write)
    apply_modes(fe, t, act_mode, column_mode)
    _sources_clock(state, t, counts, accept_read, take_beat, accept_write)
    if accept_read or take_beat or column >= 0 or activate >= 0:
        state.progress = t
