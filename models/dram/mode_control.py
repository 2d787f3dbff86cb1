"""Cycle model of the modes: for which direction rows are opened and bursts are moved.

Source of every rule: docs/dram.md, "Mode control".
"""

from numba import njit


@njit(error_model="numpy", forceinline=True)
def next_modes(fe, t):
    """`(act_mode, column_mode)` from `t + 1` on, by the registers of `t`."""
    act_mode, column_mode = fe.act_mode, fe.column_mode
    if act_mode == column_mode:
        yields = fe.waiting[act_mode] == 0 or t - fe.mode_since >= fe.turnaround_limit
        if fe.waiting[1 - act_mode] != 0 and yields:
            return 1 - act_mode, column_mode
    elif fe.active[column_mode] == 0:
        return act_mode, act_mode
    return act_mode, column_mode


@njit(error_model="numpy", forceinline=True)
def apply_modes(fe, t, act_mode, column_mode):
    """Take the modes over that `next_modes` gave in `t`."""
    fe.act_mode = act_mode
    if column_mode != fe.column_mode:
        fe.column_mode = column_mode
        fe.mode_since = t + 1
