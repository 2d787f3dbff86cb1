"""Cycle model of the performance counters: to which cause each clock is counted.

Source of every rule: ARCHITECTURE.md, "Where the clocks go".
"""

from numba import njit

from recspeed.models.spec.registers import Counter

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


@njit(error_model="numpy")
def _row_rule(fe, t, activates, row_cause):
    """What holds the row commands back while a request waits at an inactive bank."""
    if activates:
        return row_cause
    if fe.waiting & ~fe.active & fe.bank_ready == 0:
        return BANK_BUSY
    return TFAW if t < fe.faw_end else TRRD


@njit(error_model="numpy")
def attribute(fe, issue, t, activates, reads, complete, row_cause):
    """`(cause, row cause from the next clock on)`, by the registers of `t`.

    `activates`, `reads`: an ACT, a read is decided in `t`; `complete`: the oldest bag is.
    """
    refresh = fe.due > 0 or t < fe.rfc_end
    row_waits = fe.waiting & ~fe.active != 0
    row = _row_rule(fe, t, activates, row_cause) if row_waits else row_cause
    next_row_cause = row_cause if refresh else row
    if reads or t < fe.data_end:
        return DATA, next_row_cause
    if refresh:
        return REFRESH, next_row_cause
    column = fe.active & fe.column_ready
    if column != 0:
        permitted = t >= fe.ccd_r_end or column & fe.last_stack != 0
        return (TCCD_L if permitted else TURNAROUND), next_row_cause
    if row_waits:
        return row, next_row_cause
    if fe.active != 0:
        return BANK_BUSY, next_row_cause
    if issue.b_valid:
        return OUTSTANDING, next_row_cause
    if complete and issue.occupied == issue.slots:
        return BACK_PRESSURE, next_row_cause
    return NO_REQUEST, next_row_cause
