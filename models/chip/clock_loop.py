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

LOOP = np.dtype(
    [(name, "<i8") for name in ("t", "finished", "progress", "row_cause", "logged")]
    + [("causes", "<i8", (len(Counter),))]
)
"""`t`: the next clock. `progress`: the latest clock in which an item, a command other than REF or a
result moved. `logged`: commands in the log. `causes`: clocks of each counter."""


def loop_state() -> np.ndarray:
    """A `LOOP` array of one record, as it is in clock 0."""
    state = np.zeros(1, dtype=LOOP)
    state["row_cause"] = BANK_BUSY
    return state


@njit(error_model="numpy")
def _log(entry, t, code, bank, row, column):
    entry.cycle = t + 1
    entry.row = row
    entry.column = column
    entry.bank = bank
    entry.command = code


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy")
    def run_clocks(
        states, bag_tables, bag_lengths, indices, transfer_cycle, log, record_commands, clocks
    ):
        """Run `clocks` clocks, or until done; the log must have room for two commands in each."""
        _ = fingerprint
        fe, issue, out, loop = states[0][0], states[1][0], states[2][0], states[3][0]
        logged = loop.logged
        for t in range(loop.t, loop.t + clocks):
            loop.t = t
            completed = start_of_clock(fe, t)
            if completed >= 0:
                issue.slot_pending[completed] -= 1
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
            loop.causes[cause] += 1

            if activate >= 0:
                apply_activate(fe, activate, t)
                if record_commands:
                    _log(log[logged], t, ACT, activate, fe.open_row[activate], 0)
                    logged += 1
            elif refresh:
                apply_refresh(fe, t)
                if record_commands:
                    _log(log[logged], t, REF, 0, 0, 0)
                    logged += 1
            if read >= 0:
                column = fe.open_column[read]
                last = apply_read(fe, read, t)
                if record_commands:
                    _log(log[logged], t, RDA if last else RD, read, fe.open_row[read], column)
                    logged += 1
            if accepted:
                apply_accept(
                    fe, issue.b_bank, issue.b_bursts, issue.b_row, issue.b_column, issue.b_slot
                )
            transferred = output_clock(out, issue, complete, t)
            if transferred:
                transfer_cycle[out.transferred - 1] = t
            table, length, index = 0, 0, 0
            if issue.bag_offered:
                table, length = bag_tables[issue.next_bag], bag_lengths[issue.next_bag]
            if issue.index_offered:
                index = indices[issue.next_index]
            taken = issue_clock(issue, t, accepted, bag_ready, table, length, index)
            if transferred or taken or accepted or read >= 0 or activate >= 0:
                loop.progress = t
        else:
            loop.t += 1
        loop.logged = logged

    return run_clocks


run_clocks = _compile(sources_fingerprint())
