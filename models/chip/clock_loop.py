"""The memory channel's clock loop: the cycle models of its blocks, one clock after another."""

import numpy as np
from numba import njit

from recspeed.models.chip.attribution import BANK_BUSY, attribute
from recspeed.models.compiled import sources_fingerprint
from recspeed.models.dram.front_end import (
    accepts,
    activate_choice,
    apply_accept,
    apply_activate,
    apply_read,
    apply_refresh,
    read_choice,
    refresh_choice,
    start_of_clock,
)
from recspeed.models.pooling.lookup_issue import issue_clock, oldest_complete
from recspeed.models.pooling.output import output_clock
from recspeed.models.spec.registers import Counter
from recspeed.models.spec.run import CommandCode

ACT, RD, RDA, REF = (int(code) for code in CommandCode)

LOOP = np.dtype([(name, "<i8") for name in ("t", "finished", "progress", "row_cause", "logged")])
"""`t`: the next clock. `progress`: the latest clock in which an item, a command other than REF or a
result moved. `logged`: commands in the log buffer."""


def loop_state() -> np.ndarray:
    """A `LOOP` array of one record, as it is in clock 0."""
    state = np.zeros(1, dtype=LOOP)
    state["row_cause"] = BANK_BUSY
    return state


@njit(error_model="numpy")
def _log(log, place, t, code, bank, row, column):
    entry = log[place]
    entry.cycle = t + 1
    entry.row = row
    entry.column = column
    entry.bank = bank
    entry.command = code


@njit(error_model="numpy")
def _row_command(fe, loop, log, record, t, activate, refresh):
    """Apply and log what the row slot decided."""
    if activate >= 0:
        apply_activate(fe, activate, t)
        if record:
            _log(log, loop.logged, t, ACT, activate, fe.open_row[activate], 0)
            loop.logged += 1
    elif refresh:
        apply_refresh(fe, t)
        if record:
            _log(log, loop.logged, t, REF, 0, 0, 0)
            loop.logged += 1


@njit(error_model="numpy")
def _column_command(fe, loop, log, record, t, bank):
    """Apply and log what the column slot decided."""
    column = fe.open_column[bank]
    last = apply_read(fe, bank, t)
    if record:
        _log(log, loop.logged, t, RDA if last else RD, bank, fe.open_row[bank], column)
        loop.logged += 1


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy")
    def run_clocks(
        states,
        tables,
        bag_tables,
        bag_lengths,
        indices,
        transfer_cycle,
        causes,
        log,
        record,
        clocks,
    ):
        """Run `clocks` clocks, or until done; the log buffer must hold two commands for each."""
        _ = fingerprint
        fe, issue, out, loop = states[0][0], states[1][0], states[2][0], states[3][0]
        loop.logged = 0
        for t in range(loop.t, loop.t + clocks):
            completed = start_of_clock(fe, t)
            if completed >= 0:
                issue.pending[completed] -= 1
            drained = issue.occupied == 0 and not out.r_valid and not out.o_valid
            if out.transferred == out.total or (issue.error and drained):
                loop.finished = 1
                break

            accepted = issue.b_valid and accepts(fe, issue.b_bank, issue.b_bursts)
            activate = activate_choice(fe, t)
            read = read_choice(fe, t)
            refresh = refresh_choice(fe, t)
            complete = oldest_complete(issue)
            bag_ready = issue.occupied < issue.slots
            cause, loop.row_cause = attribute(
                fe, issue, t, activate >= 0, read >= 0, complete, loop.row_cause
            )
            causes[cause] += 1

            _row_command(fe, loop, log, record, t, activate, refresh)
            if read >= 0:
                _column_command(fe, loop, log, record, t, read)
            if accepted:
                apply_accept(
                    fe, issue.b_bank, issue.b_bursts, issue.b_row, issue.b_column, issue.b_slot
                )
            moved = output_clock(out, issue, tables, bag_tables, transfer_cycle, complete, t)
            taken = issue_clock(
                issue, tables, bag_tables, bag_lengths, indices, t, accepted, bag_ready
            )
            if moved or taken or accepted or read >= 0 or activate >= 0:
                loop.progress = t
            loop.t = t + 1

    return run_clocks


COUNTERS = len(Counter)
run_clocks = _compile(sources_fingerprint())
