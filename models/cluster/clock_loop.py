"""The memory channel's clock loop: the cycle models of its blocks, one clock after another."""

import numpy as np
from numba import njit

from recspeed.models.cluster.readout import output_clock
from recspeed.models.dram.attribution import BACK_PRESSURE, NO_REQUEST, OUTSTANDING
from recspeed.models.dram.front_end import decide, front_end_clock, start_of_clock
from recspeed.models.dram.front_end_record import READ
from recspeed.models.dram.request_queue import accepts_read, put_request
from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.pooling.lookup_issue import issue_clock, oldest_complete

LOOP = np.dtype([(name, "<i8") for name in ("t", "finished", "progress", "logged")])
"""`t`: the next clock. `progress`: the latest clock in which an item, a command other than REF or a
result moved. `logged`: commands in the log buffer."""

USED = ("cluster", "dram", "lib", "pooling", "runs", "spec")
"""Folders whose code the loop is compiled of."""


def loop_state() -> np.ndarray:
    """A `LOOP` array of one record, as it is in clock 0."""
    return np.zeros(1, dtype=LOOP)


@njit(error_model="numpy")
def _user_cause(issue, complete):
    """Why the front-end has nothing to do; `complete`: the oldest bag is."""
    if issue.b_valid:
        return OUTSTANDING
    if complete and issue.occupied == issue.slots:
        return BACK_PRESSURE
    return NO_REQUEST


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy", nogil=True)
    def run_clocks(
        states, bag_tables, bag_lengths, indices, transfer_cycle, log, record_commands, clocks
    ):
        """Run `clocks` clocks, or until done; the log buffer must hold two commands for each."""
        _ = fingerprint
        fe, issue, out, loop = states[0][0], states[1][0], states[2][0], states[3][0]
        logged = 0
        for t in range(loop.t, loop.t + clocks):
            loop.t = t
            completed = start_of_clock(fe, t)
            if completed >= 0:
                issue.slot_pending[completed] -= 1
            drained = issue.occupied == 0 and not out.r_valid and not out.o_valid
            if out.transferred == out.total or (issue.error and drained):
                loop.finished = 1
                break

            accepted = issue.b_valid and accepts_read(fe, issue.b_bank, issue.b_bursts)
            refresh, column, activate = decide(fe, t)
            complete = oldest_complete(issue)
            bag_ready = issue.occupied < issue.slots
            decided, cause = (refresh, column, activate), _user_cause(issue, complete)
            commands = front_end_clock(fe, t, decided, cause, True, log[logged], log[logged + 1])
            if record_commands:
                logged += commands
            if accepted:
                put_request(
                    fe,
                    READ,
                    issue.b_bank,
                    issue.b_bursts,
                    issue.b_row,
                    issue.b_column,
                    issue.b_slot,
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
            if transferred or taken or accepted or column >= 0 or activate >= 0:
                loop.progress = t
        else:
            loop.t += 1
        loop.logged = logged

    return run_clocks


run_clocks = _compile(sources_fingerprint(*USED))
