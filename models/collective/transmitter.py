"""Golden model of the transmitter of a link's end: what it sends, and its next clock.

Source of every rule: docs/collective.md, "Transmitter".
"""

from numba import njit

from recspeed.models.collective.link_record import DOWN, START, UP
from recspeed.models.spec.link import Kind

NOTHING, NEW, REPLAY, CONTROL, INIT = range(5)
"""What the transmitter chooses in a clock."""

_KIND_IDLE, _KIND_CONTROL, _KIND_INIT = int(Kind.IDLE), int(Kind.CONTROL), int(Kind.INIT)


@njit(error_model="numpy", forceinline=True)
def choose(end, link, offered, channel):
    """The transmitter's choice in this clock; `offered`: an engine has a flit of `channel`."""
    if end.state == DOWN:
        return NOTHING
    if end.state == START:
        return INIT if end.start_timer == 0 else NOTHING
    news = max(end.accepted, end.freed)
    if end.nak_pending or end.answer or news >= link.report_interval:
        return CONTROL
    if end.since_control >= link.status_interval - 1:
        return CONTROL
    if end.replaying:
        return REPLAY
    credit = end.limit[channel] != end.sent[channel]
    if offered and end.next - end.acked < link.replay_depth and credit:
        return NEW
    return CONTROL if news > 0 else NOTHING


@njit(error_model="numpy", forceinline=True)
def replay_place(end, link, choice):
    """Place in the replay buffer of the flit that is sent, new or again."""
    return (end.cursor if choice == REPLAY else end.next) % link.replay_depth


@njit(error_model="numpy", forceinline=True)
def emit(end, link, choice, kind_of_new, channel, sent, flit):
    """Write the chosen flit to `flit`; `sent` (SENT_FLIT), in its `replay_place`, remembers it."""
    flit.kind = _KIND_IDLE
    flit.bad = 0
    if choice == NEW:
        sent.kind = flit.kind = kind_of_new
        sent.channel = flit.channel = channel
        flit.number = end.next
    elif choice == REPLAY:
        flit.kind, flit.channel = sent.kind, sent.channel
        flit.number = end.cursor
    elif choice in (CONTROL, INIT):
        flit.kind = _KIND_CONTROL if choice == CONTROL else _KIND_INIT
        flit.ack = end.expected
        flit.limit[0] = end.popped[0] + link.receive_depth
        flit.limit[1] = end.popped[1] + link.receive_depth
        flit.nak = end.nak_pending
        flit.heard = end.heard


@njit(error_model="numpy", forceinline=True)
def step_transmitter(end, link, choice, channel, report, flit):
    """Transmitter registers of the next clock; returns whether the link must go down.

    `report`: `flit` is a good CONTROL or INIT flit.
    """
    next_, acked, cursor = end.next, end.acked, end.cursor
    if choice == NEW:
        end.flits_sent += 1
        end.next = next_ + 1
        end.sent[channel] += 1
    if choice == REPLAY:
        end.flits_replayed += 1
        cursor += 1
    if choice == CONTROL:
        end.controls_sent += 1
    if end.state == UP:
        end.since_control = 0 if choice == CONTROL else end.since_control + 1
    if end.state == START:
        end.start_timer = link.start_interval - 1 if choice == INIT else end.start_timer - 1

    advance, nak = 0, False
    if report:
        end.limit[0], end.limit[1] = flit.limit[0], flit.limit[1]
        if acked <= flit.ack <= next_:
            advance = flit.ack - acked
            nak = flit.nak != 0 and flit.ack != next_
    waiting = acked != next_ and not end.replaying
    quiet = advance == 0 and not nak
    timeout = waiting and quiet and end.state == UP and end.timer == link.retry_timeout - 1
    end.timer = end.timer + 1 if waiting and quiet and not timeout else 0
    end.acked = acked + advance
    cursor = max(cursor, acked + advance) if advance else cursor
    end.replaying = end.replaying and cursor != next_
    failed = timeout or (nak and advance == 0)
    if advance:
        end.fruitless = 0
    if failed:
        end.fruitless += 1
    if nak:
        end.naks_received += 1
        cursor = flit.ack
        end.replaying = 1
    if timeout:
        end.timeouts += 1
        cursor = acked
        end.replaying = 1
    end.cursor = cursor
    return failed and end.fruitless == link.retry_limit
