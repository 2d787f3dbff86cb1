"""Golden model of one end of a link, clock by clock: transmitter, receiver and state.

Source of every rule: docs/collective.md, "Link".
"""

from numba import njit

from recspeed.models.collective.link_record import DOWN, START, UP
from recspeed.models.collective.receiver import is_report, step_receiver
from recspeed.models.collective.transmitter import step_transmitter


@njit(error_model="numpy", forceinline=True)
def step_link(end, link, choice, channel, flit, freed, abort):
    """Move an end to the next clock.

    Parameters
    ----------
    end, link, flit : LINK_END, LINK_PARAMETERS, FLIT
        `flit` is in receiver stage 1.
    choice
        The transmitter's.
    channel
        Of the collective in force: a new flit and a flit that is freed belong to it.
    freed
        Whether an engine takes a flit from the receive buffer.
    abort
        Whether the chip has stopped, which takes the link down.
    """
    report = is_report(end, flit)
    silent = end.silence == link.silence_limit
    state = end.state
    down = step_transmitter(end, link, choice, channel, report, flit)
    heard_peer = step_receiver(end, link, choice, flit, freed, channel)
    if state == START and heard_peer:
        end.state = UP
    if silent or down or abort:
        end.state = DOWN


@njit(error_model="numpy", forceinline=True)
def all_up(ends, rank):
    """Whether all links of a chip are up."""
    up = True
    for peer in range(len(ends)):
        up = up and (peer == rank or ends[peer].state == UP)
    return up
