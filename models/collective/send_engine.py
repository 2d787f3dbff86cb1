"""Golden model of a link's send engine.

Source of every rule: docs/collective.md, "Engine", "Send engine".
"""

from numba import njit

from recspeed.models.collective.descriptor import lines
from recspeed.models.collective.engine_record import BODY, HEAD, IDLE
from recspeed.models.collective.transmitter import NEW
from recspeed.models.spec.collective import Operation

_ALL_REDUCE = Operation.ALL_REDUCE.value


@njit(error_model="numpy", forceinline=True)
def send_offers(port):
    """Whether the send engine has a flit for the transmitter."""
    return port.send_state == HEAD or (port.send_state == BODY and port.send_held != 0)


@njit(error_model="numpy", forceinline=True)
def write_head(chip, port, rank, head):
    """Write the HEAD that the send engine of chip `rank` offers to `head`."""
    head.operation, head.wire = chip.operation, chip.wire
    head.phase, head.rank = port.send_phase, rank
    head.sequence, head.length = chip.sequence, port.send_length


@njit(error_model="numpy", forceinline=True)
def step_send(chip, port, choice, written):
    """Move a send engine to the next clock; `written` is the register as of this clock."""
    taken = choice == NEW
    state = port.send_state
    handed = taken and state == BODY
    fetch = (
        state != IDLE
        and port.send_fetch != 0
        and (port.send_phase == 0 or port.send_index < written)
        and (not port.send_held or handed)
    )
    port.send_held = fetch or (port.send_held != 0 and not handed)
    if fetch:
        port.send_fetch -= 1
        port.send_index += 1
    finished = False
    if taken and state == HEAD:
        port.send_state = BODY
        finished = port.send_left == 0
    if handed:
        port.send_left -= 1
        finished = port.send_left == 0
    if finished:
        port.send_state = IDLE
        if chip.operation == _ALL_REDUCE and port.send_phase == 0:
            port.send_state, port.send_phase = HEAD, 1
            port.send_length = chip.result_bytes
            port.send_left = port.send_fetch = lines(chip.result_bytes)
            port.send_index = 0
