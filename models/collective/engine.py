"""Golden model of one chip's collective engine, clock by clock, from docs/collective.md.

Registers of the engine are a vector `chip`, those of a link's two engines a vector `port`.
"""

from numba import njit

from recspeed.models.collective.link import ENTERED, NEW, P_CHANNELS, POPPED, STATE, UP
from recspeed.models.spec.collective import EngineError, Operation, WireFormat
from recspeed.models.spec.link import Kind

(
    BUSY,
    NUMBER,
    ERROR,
    ERROR_LINK,
    LOCAL_LEFT,
    LOCAL_FETCH,
    LOCAL_HELD,
    STAGE_1,
    STAGE_2,
    STAGE_3,
    OFFERED,
    PART,
    INPUTS,
    RESULT_LEFT,
    WRITTEN,
    OPERATION,
    WIRE,
    SEQUENCE,
    LOCAL_BYTES,
    RESULT_BYTES,
    COMPLETED,
    FINISHED,
    PEERS,
) = range(23)
CHIP_FIELDS = 23

(
    SEND_STATE,
    SEND_PHASE,
    SEND_LENGTH,
    SEND_LEFT,
    SEND_FETCH,
    SEND_INDEX,
    SEND_HELD,
    RECEIVE_STATE,
    RECEIVE_PHASE,
    RECEIVE_LEFT,
    RECEIVE_BYTES,
) = range(11)
PORT_FIELDS = 11

IDLE, HEAD, BODY = range(3)

(D_OPERATION, D_WIRE, D_SEQUENCE, D_LOCAL_BYTES, D_RESULT_BYTES, D_READY) = range(6)
DESCRIPTOR_FIELDS = 6

LOCAL_PORT = 15
"""Number of the local write port among a chip's write ports."""

DATA_KIND, HEAD_KIND = int(Kind.DATA), int(Kind.HEAD)
_REDUCE_SCATTER, _ALL_REDUCE = int(Operation.REDUCE_SCATTER), int(Operation.ALL_REDUCE)
_FP16, _FP32 = int(WireFormat.FP16), int(WireFormat.FP32)
_BAD_OPERATION, _BAD_SEQUENCE = int(EngineError.OPERATION), int(EngineError.SEQUENCE_ID)
_BAD_LENGTH, _BAD_FORMAT = int(EngineError.LENGTH), int(EngineError.FORMAT)
_FRAMING = int(EngineError.FRAMING)


@njit(error_model="numpy")
def lines(length):
    """Flits of a message of `length` bytes."""
    return (length + 63) // 64


@njit(error_model="numpy")
def adds_up(operation):
    """Whether the operation is a reduction."""
    return operation in (_REDUCE_SCATTER, _ALL_REDUCE)


@njit(error_model="numpy")
def write_ready(chip, port, clock, stall):
    """Whether a write port takes a line: `stall` holds rate, begin and end of a chip's stalls.

    The noise is the one that the testbench's write ports make, 32-bit arithmetic throughout.
    """
    if stall[1] <= clock < stall[2]:
        return False
    if stall[0] == 0:
        return True
    mask = 0xFFFFFFFF
    value = ((clock & mask) * 0x9E3779B1) & mask
    value ^= ((chip * 16 + port) * 0x85EBCA77) & mask
    value ^= value >> 15
    value = (value * 0xC2B2AE3D) & mask
    value ^= value >> 13
    return (value & 0xFF) >= stall[0]


@njit(error_model="numpy")
def begin(chip, ports, common, source_bytes, destination_bytes, rank):
    """Take over a descriptor."""
    chip[BUSY] = 1
    chip[NUMBER] += 1
    chip[OPERATION], chip[WIRE] = common[D_OPERATION], common[D_WIRE]
    chip[SEQUENCE] = common[D_SEQUENCE]
    chip[LOCAL_BYTES], chip[RESULT_BYTES] = common[D_LOCAL_BYTES], common[D_RESULT_BYTES]
    chip[LOCAL_LEFT] = chip[LOCAL_FETCH] = lines(common[D_LOCAL_BYTES])
    chip[INPUTS] = chip[LOCAL_LEFT]
    chip[RESULT_LEFT] = lines(common[D_RESULT_BYTES]) if adds_up(common[D_OPERATION]) else 0
    chip[WRITTEN] = 0
    for peer in range(len(ports)):
        if peer == rank:
            continue
        port = ports[peer]
        port[SEND_STATE], port[SEND_PHASE] = HEAD, 0
        port[SEND_LENGTH] = source_bytes[peer]
        port[SEND_LEFT] = port[SEND_FETCH] = lines(source_bytes[peer])
        port[RECEIVE_STATE], port[RECEIVE_PHASE] = HEAD, 0
        port[RECEIVE_BYTES] = destination_bytes[peer]


@njit(error_model="numpy")
def channel_of(chip, p):
    """The virtual channel of the collective in force."""
    return chip[SEQUENCE] % p[P_CHANNELS]


@njit(error_model="numpy")
def _waits(end, channel):
    """Whether a flit of a channel is in its receive buffer."""
    return end[POPPED + channel] < end[ENTERED + channel]


@njit(error_model="numpy")
def send_offers(port):
    """Whether the send engine has a flit for the transmitter."""
    return port[SEND_STATE] == HEAD or (port[SEND_STATE] == BODY and port[SEND_HELD] != 0)


@njit(error_model="numpy")
def head_of(chip, port, rank):
    """The head that the send engine offers: operation, wire, phase, rank, sequence, length."""
    return (
        chip[OPERATION],
        chip[WIRE],
        port[SEND_PHASE],
        rank,
        chip[SEQUENCE],
        port[SEND_LENGTH],
    )


@njit(error_model="numpy")
def step_send(chip, port, choice, written):
    """Move a send engine to the next clock; `written` is the register as of this clock."""
    taken = choice == NEW
    state = port[SEND_STATE]
    handed = taken and state == BODY
    fetch = (
        state != IDLE
        and port[SEND_FETCH] != 0
        and (port[SEND_PHASE] == 0 or port[SEND_INDEX] < written)
        and (not port[SEND_HELD] or handed)
    )
    port[SEND_HELD] = fetch or (port[SEND_HELD] and not handed)
    if fetch:
        port[SEND_FETCH] -= 1
        port[SEND_INDEX] += 1
    finished = False
    if taken and state == HEAD:
        port[SEND_STATE] = BODY
        finished = port[SEND_LEFT] == 0
    if handed:
        port[SEND_LEFT] -= 1
        finished = port[SEND_LEFT] == 0
    if finished:
        port[SEND_STATE] = IDLE
        if chip[OPERATION] == _ALL_REDUCE and port[SEND_PHASE] == 0:
            port[SEND_STATE], port[SEND_PHASE] = HEAD, 1
            port[SEND_LENGTH] = chip[RESULT_BYTES]
            port[SEND_LEFT] = port[SEND_FETCH] = lines(chip[RESULT_BYTES])
            port[SEND_INDEX] = 0


@njit(error_model="numpy")
def receive_summed(chip, port):
    """Whether the message that a receive engine is in goes to the reduction."""
    return adds_up(chip[OPERATION]) and port[RECEIVE_PHASE] == 0


@njit(error_model="numpy")
def receive_data(port, end, channel, kinds):
    """Whether a DATA flit is at a receive engine that waits for one."""
    kind = kinds[channel, end[POPPED + channel] % kinds.shape[1]]
    return port[RECEIVE_STATE] == BODY and _waits(end, channel) and kind == DATA_KIND


@njit(error_model="numpy")
def receive_error(chip, port, end, channel, kinds, heads, peer):
    """`EngineError` of the flit at a receive engine, 0 when there is none."""
    if port[RECEIVE_STATE] == IDLE:
        return 0
    if not _waits(end, channel):
        if not _waits(end, 1 - channel):
            return 0
        return _BAD_SEQUENCE if port[RECEIVE_STATE] == HEAD else _FRAMING
    place = end[POPPED + channel] % kinds.shape[1]
    is_head = kinds[channel, place] == HEAD_KIND
    if is_head != (port[RECEIVE_STATE] == HEAD):
        return _FRAMING
    if not is_head:
        return 0
    head = heads[channel, place]
    summed = receive_summed(chip, port)
    length = chip[LOCAL_BYTES] if summed else port[RECEIVE_BYTES]
    if head[0] != chip[OPERATION]:
        return _BAD_OPERATION
    if head[4] != chip[SEQUENCE]:
        return _BAD_SEQUENCE
    if head[5] != length:
        return _BAD_LENGTH
    if head[1] != chip[WIRE] or head[2] != port[RECEIVE_PHASE] or head[3] != peer:
        return _BAD_FORMAT
    return 0


@njit(error_model="numpy")
def step_receive(chip, port, end, channel, error, data_goes):
    """Move a receive engine to the next clock; returns whether it takes a flit.

    `data_goes`: a DATA flit is here, and the write port or the reduction takes it.
    """
    finished = False
    took = False
    if port[RECEIVE_STATE] == HEAD and _waits(end, channel) and error == 0:
        summed = receive_summed(chip, port)
        length = chip[LOCAL_BYTES] if summed else port[RECEIVE_BYTES]
        port[RECEIVE_STATE], port[RECEIVE_LEFT] = BODY, lines(length)
        finished = port[RECEIVE_LEFT] == 0
        took = True
    elif data_goes:
        port[RECEIVE_LEFT] -= 1
        finished = port[RECEIVE_LEFT] == 0
        took = True
    if finished:
        port[RECEIVE_STATE] = IDLE
        if chip[OPERATION] == _ALL_REDUCE and port[RECEIVE_PHASE] == 0:
            port[RECEIVE_STATE], port[RECEIVE_PHASE] = HEAD, 1
    return took


@njit(error_model="numpy")
def step_local(chip, taken, ready):
    """Move the local part and the reduction to the next clock.

    `taken`: the reduction takes its operands; `ready`: the local write port's.
    """
    advance = not chip[OFFERED] or ready
    wrote = chip[OFFERED] and ready
    summed = adds_up(chip[OPERATION])
    handed = chip[LOCAL_HELD] and (taken if summed else ready)
    fetch = chip[LOCAL_FETCH] != 0 and (not chip[LOCAL_HELD] or handed)
    chip[LOCAL_HELD] = fetch or (chip[LOCAL_HELD] and not handed)
    chip[LOCAL_FETCH] -= fetch
    chip[LOCAL_LEFT] -= handed
    if advance:
        fresh = chip[STAGE_3]
        parts = 1 if chip[WIRE] == _FP16 else 2 if chip[WIRE] == _FP32 else 4
        full = chip[PART] == parts - 1 or chip[INPUTS] == 1
        chip[OFFERED] = fresh and full
        if fresh:
            chip[INPUTS] -= 1
            chip[PART] = 0 if full else chip[PART] + 1
        chip[STAGE_3], chip[STAGE_2], chip[STAGE_1] = chip[STAGE_2], chip[STAGE_1], taken
    if wrote:
        chip[RESULT_LEFT] -= 1
        chip[WRITTEN] += 1


@njit(error_model="numpy")
def all_up(ends, rank):
    """Whether all links of a chip are up."""
    up = True
    for peer in range(len(ends)):
        up = up and (peer == rank or ends[peer, STATE] == UP)
    return up
