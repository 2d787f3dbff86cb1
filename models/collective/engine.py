"""Golden model of one chip's collective engine, clock by clock: host, links, local part.

Source of every rule: docs/collective.md, "Engine".
"""

from numba import njit

from recspeed.models.collective.descriptor import adds_up, begin
from recspeed.models.collective.engine_record import HEAD, IDLE, LOCAL_PORT
from recspeed.models.collective.link import all_up, step_link
from recspeed.models.collective.link_record import DOWN
from recspeed.models.collective.local import step_local, write_ready
from recspeed.models.collective.receive_engine import (
    receive_data,
    receive_error,
    receive_summed,
    step_receive,
)
from recspeed.models.collective.send_engine import send_offers, step_send, write_head
from recspeed.models.collective.transmitter import NEW, choose, emit, replay_place
from recspeed.models.collective.wire import pass_wire
from recspeed.models.spec.collective import EngineError
from recspeed.models.spec.link import Kind

_KIND_DATA, _KIND_HEAD = int(Kind.DATA), int(Kind.HEAD)
_NONE, _LINK_DOWN = int(EngineError.NONE), int(EngineError.LINK_DOWN)


@njit(error_model="numpy", forceinline=True)
def chip_clock(system, rank, clock):
    """One clock of the chip of a rank. What other chips see of it goes through `system.flits`."""
    chip = system.chips[rank]
    channel = chip.sequence % system.link[0].virtual_channels
    begins = _host(system, rank, clock)
    local_ready = write_ready(system.stalls[rank], rank, LOCAL_PORT, clock)
    taken = (not chip.offered or local_ready) and _operands_wait(system, rank, channel)
    written, abort = chip.written, chip.error != _NONE
    first_error, first_link, link = _NONE, 0, 0
    for peer in range(len(system.chips)):
        if peer != rank:
            ready = write_ready(system.stalls[rank], rank, link, clock)
            error = _link_clock(system, rank, peer, clock, channel, taken, ready, written, abort)
            if error != _NONE and first_error == _NONE:
                first_error, first_link = error, link
            link += 1
    step_local(chip, taken, local_ready)
    if chip.error == _NONE:
        chip.error, chip.error_link = first_error, first_link
    if begins:
        number = chip.number
        descriptor = system.descriptors[rank, number]
        begin(chip, system.ports[rank], descriptor, system.messages[rank, number], rank)


@njit(error_model="numpy", forceinline=True)
def _operands_wait(system, rank, channel):
    """Whether the local word and a flit of every link are there for the reduction."""
    chip = system.chips[rank]
    depth = system.link[0].receive_depth
    waits = chip.local_held != 0 and adds_up(chip.operation)
    for peer in range(len(system.chips)):
        if waits and peer != rank:
            port, end = system.ports[rank, peer], system.ends[rank, peer]
            kind = system.kinds[peer, rank, channel, end.popped[channel] % depth]
            waits = receive_data(port, end, channel, kind) and receive_summed(chip, port)
    return waits


@njit(error_model="numpy", forceinline=True)
def _link_clock(system, rank, peer, clock, channel, taken, ready, written, abort):
    """One clock of a link's engines and of its end; returns the error that is seen there.

    `taken`: the reduction takes a flit of every link; `ready`: the link's write port's; `written`,
    `abort`: lines of the result, and whether the chip has stopped, as of this clock.
    """
    chip, link = system.chips[rank], system.link[0]
    port, end = system.ports[rank, peer], system.ends[rank, peer]
    span = system.flits.shape[2]
    choice = choose(end, link, send_offers(port), channel)
    kind = _KIND_HEAD if port.send_state == HEAD else _KIND_DATA
    if choice == NEW:
        place = end.sent[channel] % link.receive_depth
        system.kinds[rank, peer, channel, place] = kind
        if kind == _KIND_HEAD:
            write_head(chip, port, rank, system.heads[rank, peer, channel, place])
    flit = system.flits[rank, peer, clock % span]
    sent = system.replays[rank, peer, replay_place(end, link, choice)]
    emit(end, link, choice, kind, channel, sent, flit)
    copy = system.copies[rank, peer]
    pass_wire(flit, copy, system.wires[rank, peer], system.faults, clock + 2)

    place = end.popped[channel] % link.receive_depth
    waiting = system.kinds[peer, rank, channel, place]
    head = system.heads[peer, rank, channel, place]
    error = receive_error(chip, port, end, channel, waiting, head, peer)
    goes = receive_data(port, end, channel, waiting)
    goes = taken if receive_summed(chip, port) else goes and ready
    seen = _LINK_DOWN if end.state == DOWN else error
    step_send(chip, port, choice, written)
    freed = step_receive(chip, port, end, channel, error, goes)
    # The flit of latency + 3 clocks ago, or one of those that were there in clock 0.
    arrived = system.flits[peer, rank, (clock + 1) % span]
    step_link(end, link, choice, channel, arrived, freed, abort)
    return seen


@njit(error_model="numpy", forceinline=True)
def _host(system, rank, clock):
    """What the host sees and does in this clock; returns whether a descriptor is taken."""
    chip, progress = system.chips[rank], system.progress
    peers, bit, idle = 0, 1, True
    for peer in range(len(system.chips)):
        if peer != rank:
            port = system.ports[rank, peer]
            done = port.send_state == IDLE and port.receive_state == IDLE
            peers += bit * done
            idle = idle and done
            bit *= 2
    idle = idle and chip.local_left == 0 and chip.result_left == 0
    begins = (
        chip.number < chip.descriptors
        and clock >= system.descriptors[rank, chip.number].ready_from
        and not chip.busy
        and chip.error == _NONE
        and all_up(system.ends[rank], rank)
    )
    if begins:
        progress[rank, chip.number].start = clock
    if peers != chip.peers:
        _log_peers(system, rank, clock, peers)
        chip.peers = peers
    if chip.busy and idle and chip.error == _NONE:
        progress[rank, chip.completed].completion = clock
        chip.completed += 1
        chip.busy = 0
    finishes = chip.finished != 0
    if chip.error != _NONE and not finishes:
        chip.error_clock = clock
    chip.finished = finishes or chip.error != _NONE or chip.completed == chip.descriptors
    return begins


@njit(error_model="numpy")
def _log_peers(system, rank, clock, peers):
    """Note a change of the set of links that have nothing left to do, where that is wanted."""
    run = system.run[0]
    if run.peer_changes < len(system.peer_log):
        change = system.peer_log[run.peer_changes]
        change.rank, change.clock, change.peers = rank, clock, peers
    run.peer_changes += 1
