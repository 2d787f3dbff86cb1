"""Golden model of a switch: every chip has one port of all its bandwidth to one switch.

Time is counted in slots: the time of one flit on a port. A chip sends one flit per slot, in turn to
each chip that it still has flits for, beginning with the rank after its own; with `same_first`
always to the lowest rank, as careless software does. A flit sent in slot t is ready at its output
port of the switch in slot t + `hop` + `through`. Each output port sends one flit per slot, the
oldest first (of the same slot, the lowest rank's), and the others wait in its queue, which has room
for all. `hop` slots later a flit is at its goal. Reductions are done at the goal; a flit of a
reduced slice can be sent on `forward` slots after the last flit that it needs.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.spec.collective import Operation

Flits = NDArray[np.int64]


def switch_slots(
    operation: Operation,
    flits: Flits,
    result_flits: Flits,
    hop: int,
    through: int,
    forward: int,
    *,
    same_first: bool = False,
) -> int:
    """Slots of a collective over the switch, from the start to the last arrival.

    Parameters
    ----------
    flits : int64[chips, chips]
        Of the message from the first to the second rank; the diagonal counts for own slices.
    result_flits : int64[chips]
        Of every rank's reduced slice, which an all-reduce sends on to every chip.
    """
    chips = len(flits)
    first = flits.copy()
    np.fill_diagonal(first, 0)
    results = result_flits if operation == Operation.ALL_REDUCE else np.zeros(chips, np.int64)
    total = int(first.sum() + results.sum() * (chips - 1))
    if total == 0:
        return 0
    ratio = np.array(
        [-(-int(flits[0, chip]) // max(1, int(results[chip]))) for chip in range(chips)], np.int64
    )
    return int(_run(first, results, ratio, hop, through, forward, same_first, total))


def _compile(fingerprint):
    """The slot loop, compiled; see `sources_fingerprint`."""

    @njit(error_model="numpy", cache=True)
    def run(first, results, ratio, hop, through, forward, same_first, total):
        """Slots until the last of `total` flits has arrived."""
        _ = fingerprint
        chips = len(first)
        left = first.copy()
        left_results = np.zeros((chips, chips), np.int64)
        for chip in range(chips):
            for target in range(chips):
                left_results[chip, target] = 0 if target == chip else results[chip]
        received = np.zeros((chips, chips), np.int64)
        ready = np.zeros(chips, np.int64)
        turn = np.arange(1, chips + 1) % chips
        to_switch = np.zeros((chips, hop + through + 1, 2), np.int64)
        to_chip = np.zeros((chips, hop + forward + 1), np.int64)
        most = 0
        for target in range(chips):
            most = max(most, first[:, target].sum() + results.sum())
        queue = np.zeros((chips, most, 2), np.int64)
        begin = np.zeros(chips, np.int64)
        end = np.zeros(chips, np.int64)
        done, slot, last = 0, 0, 0
        while done < total:
            # What has arrived at the chips: flits of results become ready.
            for chip in range(chips):
                source = to_chip[chip, (slot + 1) % to_chip.shape[1]]
                if source > 0:
                    received[chip, source - 1] += 1
                if results[chip] > ready[chip]:
                    need = min(ratio[chip] * (ready[chip] + 1), first[(chip + 1) % chips, chip])
                    all_here = True
                    for peer in range(chips):
                        all_here = all_here and (peer == chip or received[chip, peer] >= need)
                    ready[chip] += all_here
            # What is at the switch goes to its output queue, and one flit of each queue out.
            for chip in range(chips):
                flit = to_switch[chip, (slot + 1) % to_switch.shape[1]]
                if flit[0] > 0:
                    target = flit[0] - 1
                    queue[target, end[target], 0] = chip
                    queue[target, end[target], 1] = flit[1]
                    end[target] += 1
            for chip in range(chips):
                place = slot % to_chip.shape[1]
                to_chip[chip, place] = 0
                if begin[chip] < end[chip]:
                    if queue[chip, begin[chip], 1] == 0:
                        to_chip[chip, place] = queue[chip, begin[chip], 0] + 1
                    begin[chip] += 1
                    done += 1
                    last = slot
            # What the chips send.
            for chip in range(chips):
                out = to_switch[chip, slot % to_switch.shape[1]]
                out[0] = 0
                busy = left[chip].sum() > 0
                start = 0 if same_first else turn[chip]
                for offset in range(chips):
                    target = (start + offset) % chips
                    if busy and left[chip, target] > 0:
                        left[chip, target] -= 1
                        out[0], out[1] = target + 1, 0
                        break
                    unsent = left_results[chip, target]
                    if not busy and unsent > 0 and results[chip] - unsent < ready[chip]:
                        left_results[chip, target] -= 1
                        out[0], out[1] = target + 1, 1
                        break
                if out[0] > 0:
                    turn[chip] = out[0] % chips
            slot += 1
        return last + hop + 1

    return run


_run = _compile(sources_fingerprint("topologies", "collective", "spec"))
