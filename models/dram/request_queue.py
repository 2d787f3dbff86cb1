"""Cycle model of the bank queues: acceptance of reads, and one queue per bank and direction.

Source of every rule: docs/dram.md, "Request queues".
"""

from numba import njit

from recspeed.models.dram.front_end_record import (
    AGE,
    BURSTS,
    COLUMN,
    READ,
    ROW,
    TAG,
)
from recspeed.models.lib.masks import lowest_bank
from recspeed.models.spec.front_end import OVERDUE


@njit(error_model="numpy", forceinline=True)
def accepts_read(fe, bank, bursts):
    """Whether an offered read of `bursts` for `bank` is accepted."""
    return fe.queue_count[bank] < fe.queue_depth and (
        fe.in_flight + bursts <= fe.outstanding or fe.in_flight == 0
    )


@njit(error_model="numpy", forceinline=True)
def put_request(fe, direction, bank, bursts, row, column, tag):
    """Put an accepted request into its queue."""
    queue = direction * fe.banks + bank
    place = fe.queue_head[queue] + fe.queue_count[queue]
    if place >= fe.queue_depth:
        place -= fe.queue_depth
    place += queue * fe.queue_depth
    age = fe.accepted[direction]
    fe.request[place, AGE] = age
    fe.request[place, BURSTS] = bursts
    fe.request[place, ROW] = row
    fe.request[place, COLUMN] = column
    fe.request[place, TAG] = tag
    if fe.queue_count[queue] == 0:
        fe.head_age[queue] = age
    else:
        fe.several[direction] |= 1 << bank
    fe.queue_count[queue] += 1
    fe.waiting[direction] |= 1 << bank
    fe.accepted[direction] = age + 1
    if direction == READ:
        fe.in_flight += bursts
    else:
        fe.buffered += bursts


@njit(error_model="numpy")
def _look_for_overdue(fe, direction):
    """Look for the oldest request that is active or in a queue; return whether it is overdue.

    It is looked for so rarely that a call is better than more code in the clock loop.
    """
    accepted = fe.accepted[direction]
    oldest = accepted
    banks = fe.active[direction]
    while banks != 0:
        oldest = min(oldest, fe.open_age[lowest_bank(banks)])
        banks &= banks - 1
    banks = fe.waiting[direction]
    while banks != 0:
        oldest = min(oldest, fe.head_age[direction * fe.banks + lowest_bank(banks)])
        banks &= banks - 1
    fe.overdue_from[direction] = oldest + OVERDUE
    return accepted > oldest + OVERDUE


@njit(error_model="numpy", forceinline=True)
def some_overdue(fe, direction):
    """Whether a request that is active or in a queue is overdue.

    None is before `overdue_from` requests are accepted: by then the oldest that was there when it
    was last looked for is overdue, if it is there still.
    """
    return fe.accepted[direction] > fe.overdue_from[direction] and _look_for_overdue(fe, direction)


@njit(error_model="numpy", forceinline=True)
def open_head(fe, direction, bank):
    """Take the head out of its queue and make it the bank's active request."""
    queue = direction * fe.banks + bank
    head = fe.queue_head[queue]
    first = queue * fe.queue_depth
    place = first + head
    fe.open_age[bank] = fe.request[place, AGE]
    fe.open_left[bank] = fe.request[place, BURSTS]
    fe.open_row[bank] = fe.request[place, ROW]
    fe.open_column[bank] = fe.request[place, COLUMN]
    fe.open_tag[bank] = fe.request[place, TAG]
    head += 1
    if head == fe.queue_depth:
        head = 0
    fe.queue_head[queue] = head
    fe.head_age[queue] = fe.request[first + head, AGE]
    fe.bursts_left[direction] += fe.open_left[bank]
    fe.queue_count[queue] -= 1
    if fe.queue_count[queue] <= 1:
        fe.several[direction] &= ~(1 << bank)
    if fe.queue_count[queue] == 0:
        fe.waiting[direction] &= ~(1 << bank)
