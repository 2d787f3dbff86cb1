"""The clock loop of a front-end alone: sources, front-end, done.

Source of every rule: docs/dram.md.
"""

import numpy as np
from numba import njit

from recspeed.models.compiled import sources_fingerprint
from recspeed.models.dram.attribution import (
    BANK_BUSY,
    NO_REQUEST,
    NOTHING_TO_DO,
    OUTSTANDING,
    attribute,
)
from recspeed.models.dram.front_end import apply_commands, decide, start_of_clock
from recspeed.models.dram.modes import apply_modes, next_modes
from recspeed.models.dram.queues import accepts_read, put_request
from recspeed.models.dram.state import READ
from recspeed.models.dram.write_buffer import admits_write, put_write, release_oldest
from recspeed.models.spec.dram_run import DramRun
from recspeed.models.spec.registers import Counter

RUN = np.dtype(
    [
        (name, "<i8")
        for name in (
            *("t", "finished", "progress", "row_cause", "logged"),
            *("read_offered", "next_read", "write_offered", "next_write"),
            *("data_offered", "next_beat", "beats_of_run", "beats_taken"),
        )
    ]
    + [(name, "<u8") for name in ("read_pattern", "write_pattern", "data_pattern")]
    + [("causes", "<i8", (len(Counter),))]
)
"""`t`: the next clock. `progress`: the latest clock in which an item or a command other than a
refresh moved. `next_...`: the item that the source holds, or will offer next. `beats_taken`: of the
offered write. `causes`: clocks of each counter."""


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


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy")
    def run_clocks(front, states, reads, writes, log, served, clocks):
        """Run `clocks` clocks, or until done; the log buffer must hold two commands for each."""
        _ = fingerprint
        fe, state = front[0], states[0]
        counts = (len(reads), len(writes))
        logged = 0
        for t in range(state.t, state.t + clocks):
            state.t = t
            start_of_clock(fe, t)
            if state.next_read == counts[0] and fe.in_flight == 0 and fe.writes_done == counts[1]:
                state.finished = 1
                break

            accept_read = False
            if state.read_offered:
                read = reads[state.next_read]
                accept_read = accepts_read(fe, read.bank, read.bursts)
            take_beat, accept_write = False, False
            if state.write_offered and state.data_offered:
                write = writes[state.next_write]
                take_beat = admits_write(fe, write.bank, write.bursts)
                last = state.beats_taken + 1 == write.bursts * fe.burst_clocks
                accept_write = take_beat and last
            refresh, column, activate = decide(fe, t)
            act_mode, column_mode = next_modes(fe, t)
            cause, state.row_cause = attribute(fe, t, activate >= 0, column >= 0, state.row_cause)
            if cause == NOTHING_TO_DO:
                offered = state.read_offered or state.write_offered
                cause = OUTSTANDING if offered else NO_REQUEST
            state.causes[cause] += 1

            number = fe.open_tag[column] if column >= 0 else -1
            commands = apply_commands(
                fe, t, refresh, column, activate, log[logged], log[logged + 1]
            )
            served[logged] = -1
            logged += commands
            if column >= 0:
                served[logged - 1] = number
            release_oldest(fe)
            if accept_read:
                read = reads[state.next_read]
                put_request(
                    fe, READ, read.bank, read.bursts, read.row, read.column, state.next_read
                )
            if accept_write:
                write = writes[state.next_write]
                put_write(fe, write.bank, write.bursts, write.row, write.column, state.next_write)
            apply_modes(fe, t, act_mode, column_mode)
            _sources_clock(state, t, counts, accept_read, take_beat, accept_write)
            if accept_read or take_beat or column >= 0 or activate >= 0:
                state.progress = t
        else:
            state.t += 1
        state.logged = logged

    return run_clocks


run_clocks = _compile(sources_fingerprint())
