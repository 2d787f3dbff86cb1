"""Cycle model of the row slot: which bank an ACT goes to.

Source of every rule: docs/dram.md, "Row scheduler".
"""

from numba import njit

from recspeed.models.dram.front_end_record import COLUMN_TIMER, GROUP_ACT
from recspeed.models.dram.request_queue import open_head, some_overdue
from recspeed.models.lib.masks import lowest_bank
from recspeed.models.spec.front_end import OVERDUE


@njit(error_model="numpy", forceinline=True)
def _oldest_head(fe, candidates):
    """The candidate with the oldest head, or -1."""
    queues = fe.act_mode * fe.banks
    choice, oldest = -1, fe.accepted[fe.act_mode]
    while candidates != 0:
        bank = lowest_bank(candidates)
        candidates &= candidates - 1
        age = fe.head_age[queues + bank]
        if age < oldest:
            choice, oldest = bank, age
    return choice


@njit(error_model="numpy")
def _overdue_head(fe, candidates):
    """The candidate with the oldest head if that is overdue, or -1."""
    bank = _oldest_head(fe, candidates)
    age = fe.head_age[fe.act_mode * fe.banks + bank]
    return bank if fe.accepted[fe.act_mode] - age > OVERDUE else -1


@njit(error_model="numpy", forceinline=True)
def activate_choice(fe, t):
    """The bank that an ACT goes to, or -1."""
    if t < fe.rrefd_end:
        return -1
    candidates = fe.waiting[fe.act_mode] & fe.bank_ready & fe.group_act_ready
    candidates &= ~(fe.active[0] | fe.active[1] | fe.victim)
    for rank in range(fe.ranks):
        if (
            t < fe.rrd_s_end[rank]
            or t < fe.faw_end[rank]
            or fe.due[rank] > 0
            or t < fe.rfc_end[rank]
        ):
            candidates &= ~fe.rank_banks[rank]
    if candidates == 0:
        return -1
    if some_overdue(fe, fe.act_mode):
        bank = _overdue_head(fe, candidates)
        if bank >= 0:
            return bank
    if candidates & fe.several[fe.act_mode] != 0:
        candidates &= fe.several[fe.act_mode]
    return _oldest_head(fe, candidates)


@njit(error_model="numpy", forceinline=True)
def apply_activate(fe, bank, t):
    """Open the row of the head of the bank's queue, with the timers of an ACT in `t`."""
    direction = fe.act_mode
    open_head(fe, direction, bank)
    fe.open_served[bank] = 0
    bit = 1 << bank
    fe.active[direction] |= bit
    fe.column_ready &= ~bit
    fe.wheel[(t + fe.activate_to_column[direction]) & fe.wheel_mask, COLUMN_TIMER] |= bit
    # Nothing asks for the bank timer of an active bank: its wheel entry is made when it closes.
    fe.bank_ready &= ~bit
    fe.bank_end[bank] = t + fe.activate_to_activate
    fe.group_act_ready &= ~fe.group_banks[bank]
    fe.wheel[(t + fe.tRRD_L) & fe.wheel_mask, GROUP_ACT] |= fe.group_banks[bank]
    rank = fe.rank[bank]
    fe.rrd_s_end[rank] = t + fe.tRRD_S
    number = fe.activates_of_rank[rank]
    fe.activated[4 * rank + (number & 3)] = t
    fe.activates_of_rank[rank] = number + 1
    fe.activates += 1
    if number >= 3:
        fe.faw_end[rank] = fe.activated[4 * rank + ((number + 1) & 3)] + fe.tFAW
