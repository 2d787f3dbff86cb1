"""Cycle model of the front-end's idle causes: to which counter each clock goes.

Source of every rule: docs/dram.md, "Where the clocks go".
"""

from numba import njit

from recspeed.models.dram.column_scheduler import turns_permit
from recspeed.models.spec.register_map import Counter

DATA = int(Counter.DATA)
REFRESH = int(Counter.IDLE_REFRESH)
TCCD_L = int(Counter.IDLE_TCCD_L)
TURNAROUND = int(Counter.IDLE_TURNAROUND)
BANK_BUSY = int(Counter.IDLE_BANK_BUSY)
TFAW = int(Counter.IDLE_TFAW)
TRRD = int(Counter.IDLE_TRRD)
OUTSTANDING = int(Counter.IDLE_OUTSTANDING)
BACK_PRESSURE = int(Counter.IDLE_BACK_PRESSURE)
NO_REQUEST = int(Counter.IDLE_NO_REQUEST)
NOTHING_TO_DO = -1
"""No cause of the front-end: its user says why."""


@njit(error_model="numpy", forceinline=True)
def _row_rule(fe, t, waits, open_ranks):
    """What holds back the row commands of the banks `waits`, if no ACT is decided."""
    expired = waits & open_ranks & fe.bank_ready
    if expired == 0:
        return BANK_BUSY
    if t < fe.rrefd_end or expired == fe.victim:
        return REFRESH
    for rank in range(fe.ranks):
        if t >= fe.faw_end[rank] and expired & fe.rank_banks[rank] != 0:
            return TRRD
    return TFAW


@njit(error_model="numpy", forceinline=True)
def attribute(fe, t, activates, moves, row_cause):
    """`(cause or NOTHING_TO_DO, row cause from the next clock on)`, by the registers of `t`.

    `activates`, `moves`: an ACT, a column command is decided in `t`.
    """
    active = fe.active[0] | fe.active[1]
    waits = fe.waiting[fe.act_mode] & ~active
    open_ranks = 0
    for rank in range(fe.ranks):
        if fe.due[rank] == 0 and t >= fe.rfc_end[rank]:
            open_ranks |= fe.rank_banks[rank]
    if waits & open_ranks != 0 and not activates:
        row_cause = _row_rule(fe, t, waits, open_ranks)
    if moves or t < fe.data_end:
        return DATA, row_cause
    if open_ranks == 0:
        return REFRESH, row_cause
    column = fe.active[fe.column_mode] & fe.column_ready
    if column != 0:
        return (TCCD_L if column & turns_permit(fe, t) != 0 else TURNAROUND), row_cause
    if waits != 0:
        return (row_cause if waits & open_ranks != 0 else REFRESH), row_cause
    if active != 0:
        return BANK_BUSY, row_cause
    if fe.waiting[1 - fe.act_mode] != 0:
        return TURNAROUND, row_cause
    return NOTHING_TO_DO, row_cause
