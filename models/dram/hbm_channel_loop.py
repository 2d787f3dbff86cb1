"""The clock loop of the two pseudo channels of an HBM channel, in lock step.

Source of every rule: docs/dram.md, "The two pseudo channels of an HBM channel".
"""

from numba import njit

from recspeed.models.dram.command_bus import grant
from recspeed.models.dram.front_end import start_of_clock
from recspeed.models.dram.sourced_front_end import carry_out, is_done, propose
from recspeed.models.lib.compilation import sources_fingerprint


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy")
    def run_clocks_of_both(fronts, states, all_buses, reads, writes, logs, served, clocks):
        """Run `clocks` clocks, or until both are done.

        `reads`, `writes`, `logs`, `served`: a pair of arrays each; a log buffer must hold two
        commands for each clock. One that is done goes on refreshing, in its log as well.
        """
        _ = fingerprint
        fe_0, fe_1, state_0, state_1 = fronts[0], fronts[1], states[0], states[1]
        buses = all_buses[0]
        reads_0, reads_1 = reads
        writes_0, writes_1 = writes
        log_0, log_1 = logs
        served_0, served_1 = served
        counts_0, counts_1 = (len(reads_0), len(writes_0)), (len(reads_1), len(writes_1))
        state_0.logged = state_1.logged = 0
        for t in range(buses.t, buses.t + clocks):
            start_of_clock(fe_0, t)
            start_of_clock(fe_1, t)
            if not state_0.finished:
                is_done(fe_0, state_0, t, counts_0)
            if not state_1.finished:
                is_done(fe_1, state_1, t, counts_1)
            if state_0.finished and state_1.finished:
                return

            read_0, write_0 = reads_0[state_0.next_read], writes_0[state_0.next_write]
            read_1, write_1 = reads_1[state_1.next_read], writes_1[state_1.next_write]
            taken_0, proposed_0 = propose(fe_0, state_0, t, read_0, write_0)
            taken_1, proposed_1 = propose(fe_1, state_1, t, read_1, write_1)
            decided_0, decided_1 = grant(buses, t, proposed_0, proposed_1)

            place = state_0.logged
            log = (log_0[place], log_0[place + 1])
            requests = (served_0[place], served_0[place + 1])
            carry_out(
                fe_0, state_0, t, counts_0, read_0, write_0, taken_0, decided_0, log, requests
            )
            place = state_1.logged
            log = (log_1[place], log_1[place + 1])
            requests = (served_1[place], served_1[place + 1])
            carry_out(
                fe_1, state_1, t, counts_1, read_1, write_1, taken_1, decided_1, log, requests
            )
        buses.t += clocks

    return run_clocks_of_both


run_clocks_of_both = _compile(sources_fingerprint())
