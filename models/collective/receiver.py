"""Golden model of the receiver of a link's end: what it accepts, and its next clock.

Source of every rule: docs/collective.md, "Receiver".
"""

from numba import njit

from recspeed.models.collective.link_record import DOWN, UP
from recspeed.models.collective.transmitter import CONTROL
from recspeed.models.spec.link import Kind

_KIND_IDLE, _KIND_DATA, _KIND_HEAD = int(Kind.IDLE), int(Kind.DATA), int(Kind.HEAD)
_KIND_CONTROL, _KIND_INIT = int(Kind.CONTROL), int(Kind.INIT)


@njit(error_model="numpy", forceinline=True)
def is_report(end, flit):
    """Whether a flit at an end tells it what its peer has accepted and freed."""
    return end.state != DOWN and not flit.bad and flit.kind in (_KIND_CONTROL, _KIND_INIT)


@njit(error_model="numpy", forceinline=True)
def step_receiver(end, link, choice, flit, freed, freed_channel):
    """Receiver registers of the next clock; returns whether the peer is heard and hears.

    `choice` is the transmitter's: a CONTROL flit reports what was accepted and freed. `freed`: an
    engine takes a flit of `freed_channel` from its buffer.
    """
    alive = end.state != DOWN
    good = alive and not flit.bad
    kind = flit.kind if good else _KIND_IDLE
    body = kind in (_KIND_DATA, _KIND_HEAD)
    reported = choice == CONTROL
    accept = body and flit.number == end.expected
    duplicate = body and flit.number < end.expected
    gap = body and flit.number > end.expected
    bad = alive and flit.bad != 0
    end.crc_errors += bad
    end.sequence_gaps += gap
    end.duplicates += duplicate

    nak_sent = reported and end.nak_pending != 0
    end.naks_sent += nak_sent
    loss = (bad or gap) and not end.nak_pending and end.nak_timer == 0
    end.nak_timer = max(end.nak_timer - 1, 0)
    if nak_sent:
        end.nak_pending, end.nak_timer = 0, link.nak_hold
    if accept:
        end.nak_pending, end.nak_timer = 0, 0
    elif loss:
        end.nak_pending = 1

    deaf_peer = kind == _KIND_INIT and not flit.heard
    end.answer = (end.answer != 0 and not reported) or (deaf_peer and end.state == UP)
    end.accepted = (0 if reported else end.accepted) + (accept or duplicate)
    end.freed = (0 if reported else end.freed) + freed
    end.popped[freed_channel] += freed
    if accept:
        end.expected += 1
        end.entered[flit.channel] += 1
    if kind in (_KIND_CONTROL, _KIND_INIT):
        end.heard = 1
    end.silence = 0 if kind != _KIND_IDLE else end.silence + alive
    return kind != _KIND_IDLE and not deaf_peer
