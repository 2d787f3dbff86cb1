"""Cycle model of the write buffer: a ring of writes from their first beat until they are done.

Source of every rule: docs/dram.md, "Write buffer".
"""

from numba import njit

from recspeed.models.dram.front_end_record import RING, WRITE
from recspeed.models.dram.request_queue import put_request


@njit(error_model="numpy", forceinline=True)
def admits_write(fe, bank, bursts):
    """Whether an offered write of `bursts` for `bank` is admissible."""
    return fe.queue_count[fe.banks + bank] < fe.queue_depth and (
        fe.buffered + bursts <= fe.write_buffer or fe.buffered == 0
    )


@njit(error_model="numpy", forceinline=True)
def write_is_done(fe, number):
    """Note that write `number` is seen done."""
    fe.ring_done[number % RING] = 1
    fe.writes_done += 1


@njit(error_model="numpy", forceinline=True)
def release_oldest(fe):
    """Let the oldest write of the ring leave, if it is done as seen."""
    if fe.ring_oldest < fe.accepted[WRITE]:
        place = fe.ring_oldest % RING
        if fe.ring_done[place]:
            fe.buffered -= fe.ring_bursts[place]
            fe.ring_oldest += 1


@njit(error_model="numpy", forceinline=True)
def put_write(fe, bank, bursts, row, column, tag):
    """Put a write whose last beat is taken into the ring and into its queue."""
    place = fe.accepted[WRITE] % RING
    fe.ring_done[place] = 0
    fe.ring_bursts[place] = bursts
    put_request(fe, WRITE, bank, bursts, row, column, tag)
