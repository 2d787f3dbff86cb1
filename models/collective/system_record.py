"""All registers and inputs of a system of chips, sized by its run."""

from typing import NamedTuple

import numpy as np

from recspeed.models.collective.engine_record import (
    CHIP,
    DESCRIPTOR,
    HEAD_CONTENTS,
    MESSAGE,
    PORT,
    PROGRESS,
    STALL,
)
from recspeed.models.collective.link_record import FLIT, LINK_END, SENT_FLIT, link_parameters
from recspeed.models.collective.wire import FAULT, WIRE
from recspeed.models.runs.collective import CollectiveRun

NEVER = 1 << 62

RUN = np.dtype([(name, "<i8") for name in ("limit", "quiesce", "end", "peer_changes")])
"""`limit`, `quiesce`: when the run is given up, and how long it goes on once all chips have
finished. `end`: its last clock, -1 when it was given up. `peer_changes`: how many there were.
"""

PEER_CHANGE = np.dtype([("rank", "<i8"), ("clock", "<i8"), ("peers", "<i8")])


class SystemRecord(NamedTuple):
    """Arrays of records, by rank of the chip; what belongs to a link or a wire by rank and peer.

    Attributes
    ----------
    run, link : RUN[1], LINK_PARAMETERS[1]
    chips : CHIP[chips]
    stalls : STALL[chips]
    descriptors, progress : DESCRIPTOR, PROGRESS[chips, longest]
    messages : MESSAGE[chips, longest, chips]
    ports : PORT[chips, chips]
    ends : LINK_END[chips, chips]
    replays : SENT_FLIT[chips, chips, replay_depth]
        Replay buffers. The window keeps flits that may be replayed within them.
    kinds, heads : int8, HEAD_CONTENTS[chips, chips, channels, receive_depth]
        What a chip sends to a peer, as it will lie in the peer's receive buffer. Credit keeps
        unread flits within it.
    wires : WIRE[chips, chips]
    flits : FLIT[chips, chips, span]
        Flits on their way, by clock modulo `span`: one is read latency + 3 clocks after it was
        written, and not overwritten before.
    copies : FLIT[chips, chips]
    faults : FAULT[faults]
        Those of a wire side by side, in order.
    peer_log : PEER_CHANGE[capacity]
        Empty where peers are not logged.
    """

    run: np.ndarray
    link: np.ndarray
    chips: np.ndarray
    stalls: np.ndarray
    descriptors: np.ndarray
    progress: np.ndarray
    messages: np.ndarray
    ports: np.ndarray
    ends: np.ndarray
    replays: np.ndarray
    kinds: np.ndarray
    heads: np.ndarray
    wires: np.ndarray
    flits: np.ndarray
    copies: np.ndarray
    faults: np.ndarray
    peer_log: np.ndarray


def system_record(run: CollectiveRun, quiesce: int, *, log_peers: bool) -> SystemRecord:
    """The system of a run in clock 0, when all chips leave reset."""
    link = link_parameters(run.link)
    number = run.chips
    pairs = (number, number)
    longest = max(1, *(len(items) for items in run.descriptors))
    depth = int(link["receive_depth"][0])
    span = int(link["latency"][0]) + 4
    changes = number * longest * (4 * number + 8) + 64 if log_peers else 0
    system = SystemRecord(
        run=np.zeros(1, RUN),
        link=link,
        chips=np.zeros(number, CHIP),
        stalls=np.zeros(number, STALL),
        descriptors=np.zeros((number, longest), DESCRIPTOR),
        progress=np.full((number, longest), -1, PROGRESS),
        messages=np.zeros((number, longest, number), MESSAGE),
        ports=np.zeros(pairs, PORT),
        ends=np.zeros(pairs, LINK_END),
        replays=np.zeros((*pairs, int(link["replay_depth"][0])), SENT_FLIT),
        kinds=np.zeros((*pairs, run.link.virtual_channels, depth), np.int8),
        heads=np.zeros((*pairs, run.link.virtual_channels, depth), HEAD_CONTENTS),
        wires=np.zeros(pairs, WIRE),
        flits=np.zeros((*pairs, span), FLIT),
        copies=np.zeros(pairs, FLIT),
        faults=np.zeros(len(run.faults), FAULT),
        peer_log=np.zeros(changes, PEER_CHANGE),
    )
    system.run[0] = (run.limit, quiesce, -1, 0)
    system.chips["peers"] = (1 << (number - 1)) - 1
    system.chips["error_clock"] = -1
    _set_descriptors(system, run)
    _set_disturbances(system, run)
    return system


def _set_descriptors(system: SystemRecord, run: CollectiveRun) -> None:
    for rank, items in enumerate(run.descriptors):
        system.chips["descriptors"][rank] = len(items)
        for number, item in enumerate(items):
            for name in DESCRIPTOR.names or ():
                system.descriptors[name][rank, number] = getattr(item, name)
            for name in MESSAGE.names or ():
                system.messages[name][rank, number] = getattr(item, name)


def _set_disturbances(system: SystemRecord, run: CollectiveRun) -> None:
    """Stalls of write ports, faults of flits and wires that die."""
    system.stalls["begin"] = system.stalls["end"] = NEVER
    for rank, stall in run.stalls.items():
        system.stalls[rank] = (stall.rate, stall.begin, stall.end)
    system.wires["dead_from"] = NEVER
    for pair, clock in run.dead.items():
        system.wires["dead_from"][pair] = clock
    ordered = sorted(run.faults, key=lambda fault: (fault.source, fault.target, fault.ordinal))
    for place, fault in enumerate(ordered):
        system.faults[place] = (fault.ordinal, int(fault.kind))
    chips = run.chips
    begins = np.searchsorted(
        [fault.source * chips + fault.target for fault in ordered], np.arange(chips * chips + 1)
    )
    system.wires["next_fault"] = begins[:-1].reshape(chips, chips)
    system.wires["end_of_faults"] = begins[1:].reshape(chips, chips)
