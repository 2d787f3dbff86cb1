"""A front-end with its sources and its log, one clock: for front-ends alone, in any number.

A loop runs `start_of_clock`, asks `is_done`, then `propose`, which sees the registers as they are
in `t`, and hands `carry_out` what of it is decided. What a front-end's user knows is a record of
type `USER`, one beside each front-end's.

Source of every rule: docs/dram.md, "A run of the front-end alone".
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from recspeed.models.dram.attribution import NO_REQUEST, OUTSTANDING
from recspeed.models.dram.front_end import decide, front_end_clock
from recspeed.models.dram.front_end_record import READ
from recspeed.models.dram.request_queue import accepts_read, put_request
from recspeed.models.dram.write_buffer import admits_write, put_write
from recspeed.models.lib.patterns import pattern_permits
from recspeed.models.runs.dram import REQUESTS, DramRun

USER = np.dtype(
    [
        (name, "<i8")
        for name in (
            *("t", "finished", "refreshes", "progress", "logged"),
            *("first_read", "reads", "read_offered", "next_read"),
            *("first_write", "writes", "write_offered", "next_write"),
            *("data_offered", "next_beat", "beats_of_run", "beats_taken"),
            *("accept_read", "take_beat", "accept_write", "refresh", "column", "activate"),
        )
    ]
    + [(name, "<u8") for name in ("read_pattern", "write_pattern", "data_pattern")]
)
"""`t`: the next clock; of a finished run the one in which it was done. `refreshes`: of a finished
run, those until then. `progress`: the latest clock in which an item or a command other than a
refresh moved. `logged`: commands in the log buffer. `first_...`: where the run's requests begin in
the list of all runs; `next_...`: the item that the source holds, or will offer next. `beats_taken`:
of the offered write. The last six: what is taken and what is proposed in a clock."""


def sourced_runs(runs: Sequence[DramRun]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(users, reads, writes)`: a `USER` record per run, in clock 0, and the requests of all runs.

    A request that no run has stands behind the others, so that there always is a next one.
    """
    users = np.zeros(len(runs), dtype=USER)
    for user, run in zip(users, runs, strict=True):
        user["reads"], user["writes"] = len(run.reads), len(run.writes)
        user["beats_of_run"] = int(run.writes["bursts"].sum()) * run.preset.burst_clocks
        patterns = run.patterns
        user["read_pattern"], user["write_pattern"] = patterns.reads, patterns.writes
        user["data_pattern"] = patterns.write_data
    users["first_read"] = np.cumsum(users["reads"]) - users["reads"]
    users["first_write"] = np.cumsum(users["writes"]) - users["writes"]
    end = np.zeros(1, dtype=REQUESTS)
    reads = np.concatenate([*(run.reads.astype(REQUESTS) for run in runs), end])
    writes = np.concatenate([*(run.writes.astype(REQUESTS) for run in runs), end])
    return users, reads, writes


@njit(error_model="numpy", forceinline=True)
def _sources_clock(user, t):
    """One clock of the three sources."""
    user.next_read += user.accept_read
    user.next_write += user.accept_write
    user.next_beat += user.take_beat
    user.beats_taken = 0 if user.accept_write else user.beats_taken + user.take_beat
    if user.accept_read or not user.read_offered:
        more = user.next_read < user.reads
        user.read_offered = more and pattern_permits(user.read_pattern, t)
    if user.accept_write or not user.write_offered:
        more = user.next_write < user.writes
        user.write_offered = more and pattern_permits(user.write_pattern, t)
    if user.take_beat or not user.data_offered:
        more = user.next_beat < user.beats_of_run
        user.data_offered = more and pattern_permits(user.data_pattern, t)


@njit(error_model="numpy", forceinline=True)
def is_done(fe, user, t):
    """Whether the run is done in `t` or was before."""
    if user.finished:
        return True
    if user.next_read < user.reads or fe.in_flight != 0 or fe.writes_done < user.writes:
        return False
    user.finished, user.t, user.refreshes = 1, t, fe.refreshes
    return True


@njit(error_model="numpy", forceinline=True)
def propose(fe, user, t, reads, writes):
    """Note what is taken from the sources in `t`, and what the front-end wants to do."""
    user.accept_read = user.take_beat = user.accept_write = 0
    if user.read_offered:
        read = reads[user.first_read + user.next_read]
        user.accept_read = accepts_read(fe, read.bank, read.bursts)
    if user.write_offered and user.data_offered:
        write = writes[user.first_write + user.next_write]
        user.take_beat = admits_write(fe, write.bank, write.bursts)
        last = user.beats_taken + 1 == write.bursts * fe.burst_clocks
        user.accept_write = user.take_beat and last
    user.refresh, user.column, user.activate = decide(fe, t)


@njit(error_model="numpy", forceinline=True)
def carry_out(fe, user, t, reads, writes, log, served):
    """Do what the user's record says is decided and taken in `t`; count the clock until done.

    `log`, `served`: the buffers of this front-end, with room for two more commands; of no length
    where no log is wanted.
    """
    column = user.column
    number = fe.open_tag[column] if column >= 0 else -1
    cause = OUTSTANDING if user.read_offered or user.write_offered else NO_REQUEST
    decided = (user.refresh, column, user.activate)
    place = user.logged
    commands = front_end_clock(fe, t, decided, cause, not user.finished, log[place], log[place + 1])
    if len(served) > 2:
        served[place].request = -1
        if column >= 0:
            served[place + commands - 1].request = number
        user.logged = place + commands
    if user.accept_read:
        read = reads[user.first_read + user.next_read]
        put_request(fe, READ, read.bank, read.bursts, read.row, read.column, user.next_read)
    if user.accept_write:
        write = writes[user.first_write + user.next_write]
        put_write(fe, write.bank, write.bursts, write.row, write.column, user.next_write)
    if user.accept_read or user.take_beat or column >= 0 or user.activate >= 0:
        user.progress = t
    _sources_clock(user, t)
