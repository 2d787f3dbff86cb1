"""Clock loops of front-ends: any number in lock step, each with a run of its own.

Source of every rule: docs/dram.md, "A run of the front-end alone" and "The two pseudo channels of
an HBM channel".
"""

from numba import njit

from recspeed.models.dram.command_bus import grant
from recspeed.models.dram.front_end import start_of_clock
from recspeed.models.dram.sourced_front_end import carry_out, is_done, propose
from recspeed.models.lib.compilation import sources_fingerprint

USED = ("dram", "lib", "runs", "spec")
"""Folders whose code the loops are compiled of."""


def _compile(fingerprint: int):
    @njit(cache=True, error_model="numpy", nogil=True)
    def run_clocks(front_ends, users, reads, writes, log, served, clocks):
        """Run `clocks` clocks, or until all are done.

        Parameters
        ----------
        front_ends, users : arrays of records, one of each per front-end
        reads, writes : REQUESTS[...]
            The requests of all runs, one run behind another.
        log, served : COMMAND_LOG, SERVED [front-ends, 2 clocks]
            Two commands for each clock; or [front-ends, 2] where no log is wanted.

        A front-end that is done goes on refreshing, in its log as well, until all are.
        """
        _ = fingerprint
        first = users[0].t
        for number in range(len(users)):
            users[number].logged = 0
            first = max(first, users[number].t)
        for t in range(first, first + clocks):
            running = 0
            for number in range(len(users)):
                fe, user = front_ends[number], users[number]
                start_of_clock(fe, t)
                if not is_done(fe, user, t):
                    running += 1
                    user.t = t + 1
                elif len(users) == 1:
                    return
                propose(fe, user, t, reads, writes)
                carry_out(fe, user, t, reads, writes, log[number], served[number])
            if running == 0:
                return

    @njit(cache=True, error_model="numpy", nogil=True)
    def run_clocks_on_shared_buses(front_ends, users, buses, reads, writes, log, served, clocks):
        """The same for the two pseudo channels of an HBM channel, on the command buses `buses`."""
        _ = fingerprint
        bus = buses[0]
        for number in range(2):
            users[number].logged = 0
        for t in range(bus.t, bus.t + clocks):
            running = 0
            for number in range(2):
                fe, user = front_ends[number], users[number]
                start_of_clock(fe, t)
                running += not is_done(fe, user, t)
            if running == 0:
                return
            for number in range(2):
                propose(front_ends[number], users[number], t, reads, writes)
            for_0, for_1 = users[0], users[1]
            (
                (for_0.refresh, for_0.column, for_0.activate),
                (for_1.refresh, for_1.column, for_1.activate),
            ) = grant(
                bus,
                t,
                (for_0.refresh, for_0.column, for_0.activate),
                (for_1.refresh, for_1.column, for_1.activate),
            )
            for number in range(2):
                fe, user = front_ends[number], users[number]
                carry_out(fe, user, t, reads, writes, log[number], served[number])
        bus.t += clocks

    return run_clocks, run_clocks_on_shared_buses


run_clocks, run_clocks_on_shared_buses = _compile(sources_fingerprint(*USED))
