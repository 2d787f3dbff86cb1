"""Golden model of a link's receive engine.

Source of every rule: docs/collective.md, "Engine", "Receive engine". `kind` and `head`
(HEAD_CONTENTS) are those of the flit at the output of the receive buffer, if one waits there, in
the channel of the collective in force.
"""

from numba import njit

from recspeed.models.collective.descriptor import adds_up, lines
from recspeed.models.collective.engine_record import BODY, HEAD, IDLE
from recspeed.models.spec.collective import EngineError, Operation
from recspeed.models.spec.link import Kind

_ALL_REDUCE = Operation.ALL_REDUCE.value
_KIND_DATA, _KIND_HEAD = int(Kind.DATA), int(Kind.HEAD)
_BAD_OPERATION, _BAD_SEQUENCE = int(EngineError.OPERATION), int(EngineError.SEQUENCE_ID)
_BAD_LENGTH, _BAD_FORMAT = int(EngineError.LENGTH), int(EngineError.FORMAT)
_FRAMING, _NONE = int(EngineError.FRAMING), int(EngineError.NONE)


@njit(error_model="numpy", forceinline=True)
def _waits(end, channel):
    """Whether a flit of a channel is in its receive buffer."""
    return end.popped[channel] < end.entered[channel]


@njit(error_model="numpy", forceinline=True)
def receive_summed(chip, port):
    """Whether the message that a receive engine is in goes to the reduction."""
    return adds_up(chip.operation) and port.receive_phase == 0


@njit(error_model="numpy", forceinline=True)
def receive_data(port, end, channel, kind):
    """Whether a DATA flit is at a receive engine that waits for one."""
    return port.receive_state == BODY and _waits(end, channel) and kind == _KIND_DATA


@njit(error_model="numpy", forceinline=True)
def receive_error(chip, port, end, channel, kind, head, peer):
    """`EngineError` of the flit at a receive engine, NONE when there is none."""
    if port.receive_state == IDLE:
        return _NONE
    if not _waits(end, channel):
        if not _waits(end, 1 - channel):
            return _NONE
        return _BAD_SEQUENCE if port.receive_state == HEAD else _FRAMING
    is_head = kind == _KIND_HEAD
    if is_head != (port.receive_state == HEAD):
        return _FRAMING
    if not is_head:
        return _NONE
    return _head_error(chip, port, head, peer)


@njit(error_model="numpy")
def _head_error(chip, port, head, peer):
    """`EngineError` of a HEAD that differs from what the descriptor expects."""
    length = chip.local_bytes if receive_summed(chip, port) else port.receive_bytes
    if head.operation != chip.operation:
        return _BAD_OPERATION
    if head.sequence != chip.sequence:
        return _BAD_SEQUENCE
    if head.length != length:
        return _BAD_LENGTH
    if head.wire != chip.wire or head.phase != port.receive_phase or head.rank != peer:
        return _BAD_FORMAT
    return _NONE


@njit(error_model="numpy", forceinline=True)
def step_receive(chip, port, end, channel, error, data_goes):
    """Move a receive engine to the next clock; returns whether it takes a flit.

    `data_goes`: a DATA flit is here, and the write port or the reduction takes it.
    """
    finished = False
    took = False
    if port.receive_state == HEAD and _waits(end, channel) and error == _NONE:
        length = chip.local_bytes if receive_summed(chip, port) else port.receive_bytes
        port.receive_state, port.receive_left = BODY, lines(length)
        finished = port.receive_left == 0
        took = True
    elif data_goes:
        port.receive_left -= 1
        finished = port.receive_left == 0
        took = True
    if finished:
        port.receive_state = IDLE
        if chip.operation == _ALL_REDUCE and port.receive_phase == 0:
            port.receive_state, port.receive_phase = HEAD, 1
    return took
