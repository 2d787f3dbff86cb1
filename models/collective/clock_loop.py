"""The clock loop of a whole system: all engines, all links, and the wires between them."""

import numpy as np
from numba import njit

from recspeed.models.collective import engine as e
from recspeed.models.collective import link as k
from recspeed.models.lib.compilation import sources_fingerprint

DATA_KIND, HEAD_KIND = e.DATA_KIND, e.HEAD_KIND
EVENT_START, EVENT_COMPLETE, EVENT_PEERS, EVENT_ERROR = range(4)

CORRUPT, DROP, DUPLICATE = range(3)

(W_ORDINAL, W_NEXT_FAULT, W_COPIES, W_DEAD_FROM) = range(4)


@njit(error_model="numpy")
def _put_on_wire(flit, state, faults, clock, line, copy):
    """Apply the faults of a wire to the flit of this clock and store it in `line`.

    `state` is the wire's, `faults` its (ordinal, kind) pairs in order.
    """
    line[:] = flit
    if flit[k.F_KIND] != 0:
        fault = state[W_NEXT_FAULT]
        if fault < len(faults) and faults[fault, 0] == state[W_ORDINAL]:
            state[W_NEXT_FAULT] += 1
            if faults[fault, 1] == CORRUPT:
                line[k.F_BAD] = 1
            elif faults[fault, 1] == DROP:
                line[:] = 0
            elif state[W_COPIES] == 0:
                copy[:] = flit
                state[W_COPIES] = 2
        state[W_ORDINAL] += 1
    if state[W_COPIES] == 1:
        line[:] = copy
    if state[W_COPIES] > 0:
        state[W_COPIES] -= 1
    if clock >= state[W_DEAD_FROM]:
        line[:] = 0


@njit(error_model="numpy")
def _log(events, count, what, rank, clock, value, third):
    if count < len(events):
        events[count, 0], events[count, 1], events[count, 2] = what, rank, clock
        events[count, 3], events[count, 4] = value, third
    return count + 1


@njit(error_model="numpy")
def _host(chip, ports, ends, rank, clock, common, events, count):
    """What the host sees and does in this clock; returns (begins, number of events)."""
    peers, bit, idle = 0, 1, True
    for peer in range(len(ends)):
        if peer == rank:
            continue
        done = ports[peer, e.SEND_STATE] == e.IDLE and ports[peer, e.RECEIVE_STATE] == e.IDLE
        peers += bit * done
        idle = idle and done
        bit *= 2
    idle = idle and chip[e.LOCAL_LEFT] == 0 and chip[e.RESULT_LEFT] == 0
    begins = (
        chip[e.NUMBER] < len(common)
        and clock >= common[min(chip[e.NUMBER], len(common) - 1), e.D_READY]
        and not chip[e.BUSY]
        and chip[e.ERROR] == 0
        and e.all_up(ends, rank)
    )
    if begins:
        count = _log(events, count, EVENT_START, rank, clock, chip[e.NUMBER], 0)
    if peers != chip[e.PEERS]:
        count = _log(events, count, EVENT_PEERS, rank, clock, peers, 0)
        chip[e.PEERS] = peers
    finishes = chip[e.FINISHED] != 0
    if chip[e.BUSY] and idle and chip[e.ERROR] == 0:
        count = _log(events, count, EVENT_COMPLETE, rank, clock, chip[e.COMPLETED], 0)
        chip[e.COMPLETED] += 1
        chip[e.BUSY] = 0
    if chip[e.ERROR] != 0 and not finishes:
        count = _log(events, count, EVENT_ERROR, rank, clock, chip[e.ERROR], chip[e.ERROR_LINK])
    chip[e.FINISHED] = finishes or chip[e.ERROR] != 0 or chip[e.COMPLETED] == len(common)
    return begins, count


@njit(error_model="numpy")
def _chip_clock(
    clock, rank, chip, ports, ends, lines, states, copies, replays, kinds, heads, faults,
    fault_begin, counters, common, source_bytes, destination_bytes, stall, p, events, count,
):  # fmt: skip
    """One clock of one chip. What other chips see of it goes through `lines`."""
    chips = len(ends)
    channel = e.channel_of(chip, p)
    span = lines.shape[2]
    begins, count = _host(chip, ports, ends, rank, clock, common, events, count)
    local_ready = e.write_ready(rank, e.LOCAL_PORT, clock, stall)
    advance = not chip[e.OFFERED] or local_ready
    taken = advance and chip[e.LOCAL_HELD] and e.adds_up(chip[e.OPERATION])
    for peer in range(chips):
        if peer == rank:
            continue
        taken = (
            taken
            and e.receive_data(ports[peer], ends[peer], channel, kinds[peer, rank])
            and e.receive_summed(chip, ports[peer])
        )

    flit = np.zeros(k.FLIT_FIELDS, np.int64)
    written = chip[e.WRITTEN]
    abort = chip[e.ERROR] != 0
    first_error, first_link, link = 0, 0, 0
    for peer in range(chips):
        if peer == rank:
            continue
        port, end = ports[peer], ends[peer]
        choice = k.choose(end, e.send_offers(port), channel, p)
        is_head = port[e.SEND_STATE] == e.HEAD
        if choice == k.NEW and is_head:
            head = e.head_of(chip, port, rank)
            place = end[k.SENT + channel] % heads.shape[3]
            for field in range(6):
                heads[rank, peer, channel, place, field] = head[field]
        kind = HEAD_KIND if is_head else DATA_KIND
        k.emit(end, choice, kind, channel, replays[rank, peer], kinds[rank, peer], flit, p)
        wire = rank * chips + peer
        _put_on_wire(
            flit,
            states[rank, peer],
            faults[fault_begin[wire] : fault_begin[wire + 1]],
            clock + 2,
            lines[rank, peer, clock % span],
            copies[rank, peer],
        )

        error = e.receive_error(
            chip, port, end, channel, kinds[peer, rank], heads[peer, rank], peer
        )
        code = 1 if end[k.STATE] == k.DOWN else error
        if code != 0 and first_error == 0:
            first_error, first_link = code, link
        data = e.receive_data(port, end, channel, kinds[peer, rank])
        if e.receive_summed(chip, port):
            data_goes = taken
        else:
            data_goes = data and e.write_ready(rank, link, clock, stall)
        e.step_send(chip, port, choice, written)
        freed = e.step_receive(chip, port, end, channel, error, data_goes)
        arrival = clock - p[k.P_LATENCY] - 3
        flit[:] = 0
        if arrival >= 0:
            flit[:] = lines[peer, rank, arrival % span]
        k.step(end, choice, channel, flit, freed, abort, counters[link], p)
        link += 1
    e.step_local(chip, taken, local_ready)
    if chip[e.ERROR] == 0:
        chip[e.ERROR], chip[e.ERROR_LINK] = first_error, first_link
    if begins:
        e.begin(
            chip,
            ports,
            common[chip[e.NUMBER]],
            source_bytes[chip[e.NUMBER]],
            destination_bytes[chip[e.NUMBER]],
            rank,
        )
    return count


def _compile(fingerprint):
    """The loop, compiled; `fingerprint` makes numba's cache notice changes in other files."""

    @njit(error_model="numpy", cache=True)
    def run_clocks(
        p, counts, common, source_bytes, destination_bytes, stalls, faults, fault_begin, dead_from,
        quiesce, limit, counters, events,
    ):  # fmt: skip
        """Run until every chip has finished and `quiesce` clocks more, or until clock `limit`.

        Parameters
        ----------
        counts : int64[chips]
            Descriptors of each rank; `common`, `source_bytes` and `destination_bytes` are indexed
            by rank, descriptor (and peer).
        faults : int64[faults, 2]
            Ordinal and kind; those of wire w lie from `fault_begin[w]` to `fault_begin[w + 1]`.
        counters : int64[chips, chips - 1, counters]
            Receives the event counters.
        events : int64[capacity, 5]
            Receives what, rank, clock and two values.

        Returns
        -------
        (last clock or -1, number of events, which may be larger than the capacity)
        """
        _ = fingerprint
        chips = len(counts)
        # A flit is read latency + 3 clocks after it was written, and may not be overwritten before.
        span = p[k.P_LATENCY] + 4
        lines = np.zeros((chips, chips, span, k.FLIT_FIELDS), np.int64)
        copies = np.zeros((chips, chips, k.FLIT_FIELDS), np.int64)
        states = np.zeros((chips, chips, 4), np.int64)
        states[:, :, W_DEAD_FROM] = dead_from
        channels = p[k.P_CHANNELS]
        # Credit keeps unread flits within the receive buffer, the window those that may be replayed
        # within the replay buffer: older ones are forgotten.
        unread = p[k.P_RECEIVE]
        replays = np.zeros((chips, chips, p[k.P_REPLAY], 2), np.int8)
        kinds = np.zeros((chips, chips, channels, unread), np.int8)
        heads = np.zeros((chips, chips, channels, unread, 6), np.int64)
        chip = np.zeros((chips, e.CHIP_FIELDS), np.int64)
        chip[:, e.PEERS] = (1 << (chips - 1)) - 1
        ports = np.zeros((chips, chips, e.PORT_FIELDS), np.int64)
        ends = np.zeros((chips, chips, k.END_FIELDS), np.int64)
        count = 0
        waited = 0
        clock = 0
        while True:
            finished = True
            for rank in range(chips):
                finished = finished and chip[rank, e.FINISHED] != 0
            if (finished and waited == quiesce) or clock == limit:
                return (-1 if clock == limit else clock), count
            waited += finished
            for rank in range(chips):
                number = counts[rank]
                count = _chip_clock(
                    clock, rank, chip[rank], ports[rank], ends[rank], lines, states, copies,
                    replays, kinds, heads, faults, fault_begin, counters[rank],
                    common[rank, :number], source_bytes[rank, :number],
                    destination_bytes[rank, :number], stalls[rank], p, events, count,
                )  # fmt: skip
            clock += 1

    return run_clocks


run_clocks = _compile(sources_fingerprint("collective", "lib", "runs", "spec"))
