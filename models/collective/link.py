"""Golden model of one end of a link, clock by clock, from docs/collective.md.

An end is a vector of registers. Numbers are totals that never wrap; the hardware's are the same
modulo 4096, and the buffers' depths keep the two apart from each other.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.spec.link import Kind, LinkParameters

(
    STATE,
    NEXT,
    ACKED,
    CURSOR,
    REPLAYING,
    TIMER,
    FRUITLESS,
    SINCE_CONTROL,
    START_TIMER,
    EXPECTED,
    ACCEPTED,
    FREED,
    HEARD,
    ANSWER,
    NAK_PENDING,
    NAK_TIMER,
    SILENCE,
) = range(17)
LIMIT, SENT, ENTERED, POPPED = 17, 19, 21, 23
"""Each of these has two registers, one per virtual channel: credit, new flits sent, flits accepted
and flits taken. SENT and ENTERED are totals of the same flits, at the two ends of a wire."""
END_FIELDS = 25

START, UP, DOWN = range(3)

(F_KIND, F_CHANNEL, F_NUMBER, F_ACK, F_LIMIT, F_LIMIT_1, F_NAK, F_HEARD, F_BAD) = range(9)
FLIT_FIELDS = 9
"""A flit on the wire; all zero is a good IDLE flit."""

(P_LATENCY, P_REPLAY, P_RECEIVE, P_REPORT, P_STATUS, P_TIMEOUT, P_RETRIES, P_HOLD, P_START,
 P_SILENCE, P_CHANNELS) = range(11)  # fmt: skip

NOTHING, NEW, REPLAY, CONTROL, INIT = range(5)
"""What the transmitter chooses in a clock."""

(C_SENT, C_REPLAYED, C_CONTROLS, C_CRC, C_GAPS, C_DUPLICATES, C_NAKS_SENT, C_NAKS, C_TIMEOUTS) = (
    range(9)
)

_KIND_DATA, _KIND_HEAD = int(Kind.DATA), int(Kind.HEAD)
_KIND_CONTROL, _KIND_INIT = int(Kind.CONTROL), int(Kind.INIT)


def parameter_vector(link: LinkParameters) -> NDArray[np.int64]:
    """Link constants in the order of the `P_` names."""
    return np.array(
        [
            link.latency,
            link.replay_depth,
            link.receive_depth,
            link.report_interval,
            link.status_interval,
            link.retry_timeout,
            link.retry_limit,
            link.nak_hold,
            link.start_interval,
            link.silence_limit,
            link.virtual_channels,
        ],
        np.int64,
    )


@njit(error_model="numpy")
def choose(end, offered, channel, p):
    """The transmitter's choice in this clock; `offered`: an engine has a flit of `channel`."""
    if end[STATE] == DOWN:
        return NOTHING
    if end[STATE] == START:
        return INIT if end[START_TIMER] == 0 else NOTHING
    report, news = p[P_REPORT], max(end[ACCEPTED], end[FREED])
    if end[NAK_PENDING] or end[ANSWER] or news >= report:
        return CONTROL
    if end[SINCE_CONTROL] >= p[P_STATUS] - 1:
        return CONTROL
    if end[REPLAYING]:
        return REPLAY
    credit = end[LIMIT + channel] != end[SENT + channel]
    if offered and end[NEXT] - end[ACKED] < p[P_REPLAY] and credit:
        return NEW
    return CONTROL if news > 0 else NOTHING


@njit(error_model="numpy")
def emit(end, choice, kind_of_new, channel, replay, kinds, flit, p):
    """Write the chosen flit to `flit`.

    `replay` remembers kind and channel of every number, `kinds` HEAD or DATA of every flit of each
    channel.
    """
    flit[:] = 0
    if choice == NEW:
        flit[F_KIND] = kind_of_new
        flit[F_CHANNEL] = channel
        flit[F_NUMBER] = end[NEXT]
        place = end[NEXT] % len(replay)
        replay[place, 0], replay[place, 1] = kind_of_new, channel
        kinds[channel, end[SENT + channel] % kinds.shape[1]] = kind_of_new
    elif choice == REPLAY:
        place = end[CURSOR] % len(replay)
        flit[F_KIND], flit[F_CHANNEL] = replay[place, 0], replay[place, 1]
        flit[F_NUMBER] = end[CURSOR]
    elif choice in (CONTROL, INIT):
        flit[F_KIND] = _KIND_CONTROL if choice == CONTROL else _KIND_INIT
        flit[F_ACK] = end[EXPECTED]
        flit[F_LIMIT] = end[POPPED] + p[P_RECEIVE]
        flit[F_LIMIT_1] = end[POPPED + 1] + p[P_RECEIVE]
        flit[F_NAK] = end[NAK_PENDING]
        flit[F_HEARD] = end[HEARD]


@njit(error_model="numpy")
def _transmit(end, choice, channel, report, flit, counters, p):
    """Transmitter registers of the next clock; returns whether the link must go down."""
    next_, acked, cursor = end[NEXT], end[ACKED], end[CURSOR]
    if choice == NEW:
        counters[C_SENT] += 1
        end[NEXT] = next_ + 1
        end[SENT + channel] += 1
    if choice == REPLAY:
        counters[C_REPLAYED] += 1
        cursor += 1
    if choice == CONTROL:
        counters[C_CONTROLS] += 1
    if end[STATE] == UP:
        end[SINCE_CONTROL] = 0 if choice == CONTROL else end[SINCE_CONTROL] + 1
    if end[STATE] == START:
        end[START_TIMER] = p[P_START] - 1 if choice == INIT else end[START_TIMER] - 1

    advance, nak = 0, False
    if report:
        end[LIMIT], end[LIMIT + 1] = flit[F_LIMIT], flit[F_LIMIT_1]
        if acked <= flit[F_ACK] <= next_:
            advance = flit[F_ACK] - acked
            nak = flit[F_NAK] != 0 and flit[F_ACK] != next_
    timeout = (
        end[STATE] == UP
        and end[TIMER] == p[P_TIMEOUT] - 1
        and acked != next_
        and not end[REPLAYING]
        and advance == 0
        and not nak
    )
    waiting = acked != next_ and not end[REPLAYING]
    end[TIMER] = end[TIMER] + 1 if waiting and advance == 0 and not nak and not timeout else 0
    end[ACKED] = acked + advance
    cursor = max(cursor, acked + advance) if advance else cursor
    end[REPLAYING] = end[REPLAYING] and cursor != next_
    failed = timeout or (nak and advance == 0)
    if advance:
        end[FRUITLESS] = 0
    if failed:
        end[FRUITLESS] += 1
    if nak:
        counters[C_NAKS] += 1
        cursor = flit[F_ACK]
        end[REPLAYING] = 1
    if timeout:
        counters[C_TIMEOUTS] += 1
        cursor = acked
        end[REPLAYING] = 1
    end[CURSOR] = cursor
    return failed and end[FRUITLESS] == p[P_RETRIES]


@njit(error_model="numpy")
def _receive(end, choice, flit, freed, freed_channel, counters, p):
    """Receiver registers of the next clock."""
    alive = end[STATE] != DOWN
    good = alive and not flit[F_BAD]
    kind = flit[F_KIND] if good else 0
    body = kind in (_KIND_DATA, _KIND_HEAD)
    reported = choice == CONTROL
    accept = body and flit[F_NUMBER] == end[EXPECTED]
    duplicate = body and flit[F_NUMBER] < end[EXPECTED]
    gap = body and flit[F_NUMBER] > end[EXPECTED]
    bad = alive and flit[F_BAD] != 0
    counters[C_CRC] += bad
    counters[C_GAPS] += gap
    counters[C_DUPLICATES] += duplicate

    nak_sent = reported and end[NAK_PENDING]
    counters[C_NAKS_SENT] += nak_sent
    loss = (bad or gap) and not end[NAK_PENDING] and end[NAK_TIMER] == 0
    end[NAK_TIMER] = max(end[NAK_TIMER] - 1, 0)
    if nak_sent:
        end[NAK_PENDING], end[NAK_TIMER] = 0, p[P_HOLD]
    if accept:
        end[NAK_PENDING], end[NAK_TIMER] = 0, 0
    elif loss:
        end[NAK_PENDING] = 1

    deaf_peer = kind == _KIND_INIT and not flit[F_HEARD]
    end[ANSWER] = (end[ANSWER] and not reported) or (deaf_peer and end[STATE] == UP)
    end[ACCEPTED] = (0 if reported else end[ACCEPTED]) + (accept or duplicate)
    end[FREED] = (0 if reported else end[FREED]) + freed
    end[POPPED + freed_channel] += freed
    end[EXPECTED] += accept
    end[ENTERED + flit[F_CHANNEL]] += accept
    if kind in (_KIND_CONTROL, _KIND_INIT):
        end[HEARD] = 1
    end[SILENCE] = 0 if kind != 0 else end[SILENCE] + alive
    return kind != 0 and not deaf_peer


@njit(error_model="numpy")
def step(end, choice, channel, flit, freed, abort, counters, p):
    """Move an end to the next clock.

    `flit` is in receiver stage 1, `freed` says that an engine takes a flit from a receive buffer.
    That and a new flit belong to `channel`, the one of the collective in force.
    """
    kind = flit[F_KIND]
    report = end[STATE] != DOWN and not flit[F_BAD] and (kind in (_KIND_CONTROL, _KIND_INIT))
    silent = end[SILENCE] == p[P_SILENCE]
    state = end[STATE]
    down = _transmit(end, choice, channel, report, flit, counters, p)
    heard_peer = _receive(end, choice, flit, freed, channel, counters, p)
    if state == START and heard_peer:
        end[STATE] = UP
    if silent or down or abort:
        end[STATE] = DOWN
