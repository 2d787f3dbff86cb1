"""Golden model of a descriptor's taking: registers of the engine as it begins a collective.

Source of every rule: docs/collective.md, "Engine".
"""

from numba import njit

from recspeed.models.collective.engine_record import HEAD
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.link import PAYLOAD_BYTES

_REDUCE_SCATTER, _ALL_REDUCE = Operation.REDUCE_SCATTER.value, Operation.ALL_REDUCE.value


@njit(error_model="numpy", forceinline=True)
def lines(length):
    """Flits, and lines of buffer, of a message of `length` bytes."""
    return (length + PAYLOAD_BYTES - 1) // PAYLOAD_BYTES


@njit(error_model="numpy", forceinline=True)
def adds_up(operation):
    """Whether the operation is a reduction."""
    return operation in (_REDUCE_SCATTER, _ALL_REDUCE)


@njit(error_model="numpy")
def begin(chip, ports, descriptor, messages, rank):
    """Take over a descriptor; `messages` (MESSAGE[chips]) is what it says of each link."""
    chip.busy = 1
    chip.number += 1
    chip.operation, chip.wire = descriptor.operation, descriptor.wire
    chip.sequence = descriptor.sequence
    chip.local_bytes, chip.result_bytes = descriptor.local_bytes, descriptor.result_bytes
    chip.local_left = chip.local_fetch = chip.inputs = lines(descriptor.local_bytes)
    chip.result_left = lines(descriptor.result_bytes) if adds_up(descriptor.operation) else 0
    chip.written = 0
    for peer in range(len(ports)):
        if peer == rank:
            continue
        port, message = ports[peer], messages[peer]
        port.send_state, port.send_phase = HEAD, 0
        port.send_length = message.source_bytes
        port.send_left = port.send_fetch = lines(message.source_bytes)
        port.receive_state, port.receive_phase = HEAD, 0
        port.receive_bytes = message.destination_bytes
