"""Cycle model of the column slot: which bank's burst is moved, and what a column command sets.

Source of every rule: docs/dram.md, "Column scheduler".
"""

from numba import njit

from recspeed.models.dram.front_end_record import (
    BANK,
    COMPLETED,
    DONE,
    GROUP_COLUMN,
    MAXIMUM_RANKS,
    READ,
    RETURNED,
    ROW,
)
from recspeed.models.dram.request_queue import open_head, some_overdue
from recspeed.models.lib.masks import count_banks, lowest_bank
from recspeed.models.spec.front_end import OVERDUE


@njit(error_model="numpy", forceinline=True)
def turns_permit(fe, t):
    """Mask of the banks whose stack, rank and group turn and visit gap permit `column_mode`."""
    direction = fe.column_mode
    if t >= fe.turn_end[direction]:
        return fe.all_banks
    if t < fe.visit_gap_end:
        return 0
    mask = 0
    for stack in range(fe.stacks):
        rank = stack // fe.stacks_per_rank
        if (
            t >= fe.stack_turn_end[stack]
            and t >= fe.rank_turn_end[direction * MAXIMUM_RANKS + rank]
        ):
            mask |= fe.stack_banks[stack]
    if direction == READ and t < fe.group_turn_latest:
        for bank in range(fe.banks):
            if t < fe.group_turn_end[fe.group[bank]]:
                mask &= ~(1 << bank)
    return mask


@njit(error_model="numpy")
def _overdue(fe):
    """Banks that could move a burst of a request that very many were accepted after."""
    direction = fe.column_mode
    ready = fe.active[direction] & fe.column_ready
    overdue = 0
    while ready != 0:
        bank = lowest_bank(ready)
        ready &= ready - 1
        if fe.accepted[direction] - fe.open_age[bank] > OVERDUE:
            overdue |= 1 << bank
    return overdue


@njit(error_model="numpy", forceinline=True)
def _best(fe, candidates):
    """The candidate of the group with most active banks; then of fewest bursts left; then by age.

    The first two are compared as one number, below 0 since a candidate's own bank is active.
    """
    if candidates != 0 and candidates & (candidates - 1) == 0:
        return lowest_bank(candidates)
    active = fe.active[fe.column_mode]
    choice, least, oldest = -1, 0, 0
    while candidates != 0:
        bank = lowest_bank(candidates)
        candidates &= candidates - 1
        key = fe.open_left[bank] - (count_banks(active & fe.group_banks[bank]) << 6)
        age = fe.open_age[bank]
        if key < least or (key == least and age < oldest):
            choice, least, oldest = bank, key, age
    return choice


@njit(error_model="numpy", forceinline=True)
def column_choice(fe, t):
    """The bank whose next burst is moved, or -1."""
    candidates = fe.active[fe.column_mode] & fe.column_ready & fe.group_column_ready
    for rank in range(fe.ranks):
        if t < fe.ccd_s_end[rank]:
            candidates &= ~fe.rank_banks[rank]
    if candidates == 0:
        return -1
    candidates &= turns_permit(fe, t)
    overdue = _overdue(fe) if some_overdue(fe, fe.column_mode) else 0
    if overdue != 0:
        candidates &= overdue
    elif candidates & fe.several[fe.act_mode] != 0:
        candidates &= fe.several[fe.act_mode]
    elif candidates & fe.waiting[fe.act_mode] != 0:
        candidates &= fe.waiting[fe.act_mode]
    return _best(fe, candidates)


@njit(error_model="numpy", forceinline=True)
def _set_turns_of_others(fe, bank, direction, t):
    """Turns of the other stacks of the bank's rank, and of the other ranks."""
    rank, stack = fe.rank[bank], fe.stack[bank]
    if fe.stacks_per_rank > 1:
        end = t + fe.tCCD_R
        first = rank * fe.stacks_per_rank
        for other in range(first, first + fe.stacks_per_rank):
            if other != stack:
                fe.stack_turn_end[other] = max(fe.stack_turn_end[other], end)
        for after in range(2):
            fe.turn_end[after] = max(fe.turn_end[after], end)
    if fe.ranks > 1:
        for after in range(2):
            end = t + fe.rank_switch[2 * direction + after]
            fe.turn_end[after] = max(fe.turn_end[after], end)
            for other in range(fe.ranks):
                if other != rank:
                    place = after * MAXIMUM_RANKS + other
                    fe.rank_turn_end[place] = max(fe.rank_turn_end[place], end)


@njit(error_model="numpy", forceinline=True)
def _set_turns_of_other_direction(fe, bank, direction, t):
    """Turn of the bank's rank for the other direction; after a write also of its group."""
    other = 1 - direction
    end = t + (fe.read_to_write if direction == READ else fe.write_to_read_s)
    place = other * MAXIMUM_RANKS + fe.rank[bank]
    fe.rank_turn_end[place] = max(fe.rank_turn_end[place], end)
    if direction != READ:
        end = t + fe.write_to_read_l
        group = fe.group[bank]
        fe.group_turn_end[group] = max(fe.group_turn_end[group], end)
        fe.group_turn_latest = max(fe.group_turn_latest, end)
    fe.turn_end[other] = max(fe.turn_end[other], end)


@njit(error_model="numpy", forceinline=True)
def _keeps_row(fe, bank, direction):
    """Whether the head of the bank's queue is served in the same activation."""
    fe.open_served[bank] += 1
    if fe.open_served[bank] >= fe.row_hits or fe.act_mode != fe.column_mode:
        return False
    if fe.waiting[direction] >> bank & 1 == 0 or fe.victim >> bank & 1:
        return False
    queue = direction * fe.banks + bank
    row = fe.request[queue * fe.queue_depth + fe.queue_head[queue], ROW]
    return row == fe.open_row[bank] and fe.due[fe.rank[bank]] == 0


@njit(error_model="numpy", forceinline=True)
def apply_column(fe, bank, t):
    """Move the active request's next burst; return whether that closes the row (RDA, WRA)."""
    direction = fe.column_mode
    fe.open_column[bank] += 1
    fe.open_left[bank] -= 1
    fe.bursts_left[direction] -= 1
    fe.ccd_s_end[fe.rank[bank]] = t + fe.tCCD_S
    fe.group_column_ready &= ~fe.group_banks[bank]
    fe.wheel[(t + fe.tCCD_L) & fe.wheel_mask, GROUP_COLUMN] |= fe.group_banks[bank]
    fe.data_end = t + fe.burst_clocks
    fe.moved[direction] += 1
    _set_turns_of_others(fe, bank, direction, t)
    _set_turns_of_other_direction(fe, bank, direction, t)
    if direction == READ:
        fe.wheel[(t + fe.read_to_returned) & fe.wheel_mask, RETURNED] = 1
    if fe.open_left[bank] != 0:
        return False
    if fe.visit_gap:
        fe.visit_gap_end = t + fe.visit_gap
        for after in range(2):
            fe.turn_end[after] = max(fe.turn_end[after], fe.visit_gap_end)
    if direction == READ:
        # One clock after the burst counts no more: the user's view of its last beat (the pooling
        # slice adds it in the clock after the bus has carried it).
        completed = t + fe.read_to_returned + 1
        fe.wheel[completed & fe.wheel_mask, COMPLETED] = fe.open_tag[bank] + 1
    else:
        fe.wheel[(t + fe.write_to_done) & fe.wheel_mask, DONE] = fe.open_age[bank] + 1
    if fe.row_hits and _keeps_row(fe, bank, direction):
        open_head(fe, direction, bank)
        return False
    bit = 1 << bank
    fe.active[direction] &= ~bit
    end = max(fe.bank_end[bank], t + fe.close_to_activate[direction])
    fe.wheel[end & fe.wheel_mask, BANK] |= bit
    return True
