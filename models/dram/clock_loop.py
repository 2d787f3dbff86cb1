"""The clock loop of a front-end alone: one clock after another until the run is done.

Source of every rule: docs/dram.md, "A run of the front-end alone".
"""

from numba import njit

from recspeed.models.dram.front_end import start_of_clock
from recspeed.models.dram.sourced_front_end import carry_out, is_done, propose
from recspeed.models.lib.compilation import sources_fingerprint


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy")
    def run_clocks(front, states, reads, writes, log, served, clocks):
        """Run `clocks` clocks, or until done; the log buffer must hold two commands for each."""
        _ = fingerprint
        fe, state = front[0], states[0]
        counts = (len(reads), len(writes))
        state.logged = 0
        for t in range(state.t, state.t + clocks):
            start_of_clock(fe, t)
            if is_done(fe, state, t, counts):
                return
            read, write = reads[state.next_read], writes[state.next_write]
            taken, decided = propose(fe, state, t, read, write)
            place = state.logged
            commands = (log[place], log[place + 1])
            requests = (served[place], served[place + 1])
            carry_out(fe, state, t, counts, read, write, taken, decided, commands, requests)
        state.t += clocks

    return run_clocks


run_clocks = _compile(sources_fingerprint())
