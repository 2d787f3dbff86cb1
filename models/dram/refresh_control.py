"""Cycle model of refresh: all-bank refresh per rank, or per-bank refresh.

Source of every rule: docs/dram.md, "Refresh control".
"""

from numba import njit

from recspeed.models.dram.front_end_record import BANK
from recspeed.models.lib.masks import lowest_bank
from recspeed.models.spec.front_end import AHEAD, URGENT


@njit(error_model="numpy", forceinline=True)
def _choose_victim(fe):
    left = fe.all_banks & ~fe.round
    fe.victim = left & -left if fe.owed >= URGENT else 0


@njit(error_model="numpy", forceinline=True)
def refreshes_fall_due(fe, t):
    """Count the refreshes that are first seen due or owed in `t`."""
    for rank in range(fe.ranks):
        if t == fe.next_refresh[rank]:
            fe.due[rank] += fe.refresh_group
            fe.next_refresh[rank] += fe.refresh_group * fe.refresh_interval
    if t == fe.next_owed:
        fe.owed += 1
        fe.next_owed += fe.per_bank_interval
        _choose_victim(fe)


@njit(error_model="numpy", forceinline=True)
def all_bank_choice(fe, t):
    """The rank that a REF is decided for, or -1."""
    for rank in range(fe.ranks):
        if fe.due[rank] > 0 and t >= fe.rfc_end[rank]:
            banks = fe.rank_banks[rank]
            if (fe.active[0] | fe.active[1]) & banks == 0 and fe.bank_ready & banks == banks:
                return rank
    return -1


@njit(error_model="numpy", forceinline=True)
def per_bank_choice(fe, t):
    """The bank that a REFpb is decided for, or -1."""
    if t < fe.rrefd_end or fe.owed <= -AHEAD:
        return -1
    eligible = fe.all_banks & fe.bank_ready & fe.group_act_ready
    eligible &= ~(fe.round | fe.active[0] | fe.active[1])
    for rank in range(fe.ranks):
        if t < fe.rrd_s_end[rank]:
            eligible &= ~fe.rank_banks[rank]
    if eligible & fe.victim == 0:
        eligible &= ~(fe.waiting[0] | fe.waiting[1])
    else:
        eligible = fe.victim
    return lowest_bank(eligible) if eligible != 0 else -1


@njit(error_model="numpy", forceinline=True)
def apply_all_bank(fe, rank, t):
    """Start a REF in `t`."""
    fe.due[rank] -= 1
    fe.rfc_end[rank] = t + fe.tRFC
    fe.refreshes += 1


@njit(error_model="numpy", forceinline=True)
def apply_per_bank(fe, bank, t):
    """Start a REFpb in `t`."""
    bit = 1 << bank
    fe.owed -= 1
    fe.round |= bit
    if fe.round == fe.all_banks:
        fe.round = 0
    _choose_victim(fe)
    fe.bank_ready &= ~bit
    fe.wheel[(t + fe.tRFCpb) & fe.wheel_mask, BANK] |= bit
    fe.rrefd_end = t + fe.tRREFD
    fe.refreshes += 1
