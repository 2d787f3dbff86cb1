"""Golden models of a ring: two neighbours per chip, each over half of the chip's bandwidth.

Time is counted in slots: the time of one flit on a ring link. A flit put on a link in slot t is at
the neighbour in slot t + `hop`, wholly so one slot later, and can go on from slot
t + `hop` + `forward`. Two ways to use the same links:

- *cut-through*, every flit for itself and the shorter way round: flits that pass through go before
  a chip's own, so they never wait and a chip needs no buffer for them; of its own flits a chip
  sends those with the longest way first. What goes half way round (n even) is split: the first half
  of its flits goes up, the other down. An all-gather drops a copy at every chip it passes; in a
  reduce-scatter partial sums start at the far end, and every chip adds its own on the way; the
  all-gather of an all-reduce takes each flit of a slice as soon as it is reduced.
- *steps*, as collective libraries use a ring: two rings in opposite directions carry half of every
  slice each, n - 1 steps (all-reduce: twice as many), and a step passes on what the step before has
  brought, when it is there as a whole. An all-to-all passes on everything that has not arrived yet.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recspeed.models.lib.compilation import sources_fingerprint
from recspeed.models.spec.collective import Operation

Flits = NDArray[np.int64]

PARTIAL, PLAIN = range(2)
"""Flits that are summed up at their goal, and all others."""

(S_KIND, S_OWNER, S_FIRST, S_COUNT, S_HOPS) = range(5)
UP, DOWN = range(2)
STEP = (1, -1)


def _parts(flits: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """First flit and number of the part that goes up where there is a choice, and of the other."""
    half = (flits + 1) // 2
    return (0, half), (half, flits - half)


def _reaches(chips: int, direction: int) -> tuple[int, int]:
    """How far the first and the second part of a block travel in a direction to reach all chips."""
    far, near = chips // 2, (chips - 1) // 2
    return (far, near) if direction == UP else (near, far)


def _segments(operation: Operation, flits: Flits, chip: int, direction: int) -> list[list[int]]:
    """What a chip sends in a direction from the start: kind, owner, first flit, number, hops."""
    chips = len(flits)
    found = []
    if operation == Operation.ALL_TO_ALL:
        for hops in range(chips // 2, 0, -1):
            target = (chip + STEP[direction] * hops) % chips
            first, count = 0, int(flits[chip, target])
            if 2 * hops == chips:
                first, count = _parts(count)[direction]
            found.append([PLAIN, target, first, count, hops])
    else:
        for part, hops in enumerate(_reaches(chips, direction)):
            kind, owner = PLAIN, chip
            if operation.reduces:
                kind, owner = PARTIAL, (chip + STEP[direction] * hops) % chips
            first, count = _parts(int(flits[chip, owner]))[part]
            found.append([kind, owner, first, count, hops])
    ordered = sorted(found, key=lambda segment: -segment[S_HOPS])
    return [segment for segment in ordered if segment[S_HOPS] and segment[S_COUNT]]


def ring_slots(
    operation: Operation, flits: Flits, result_flits: Flits, hop: int, forward: int
) -> int:
    """Slots of a collective on the ring, cut-through, from the start to the last arrival.

    Parameters
    ----------
    flits : int64[chips, chips]
        Of the message from the first to the second rank; the diagonal counts for own slices.
    result_flits : int64[chips]
        Of every rank's reduced slice.
    """
    chips = len(flits)
    segments = np.zeros((2, chips, chips + 2, 5), np.int64)
    for direction in (UP, DOWN):
        for chip in range(chips):
            for number, segment in enumerate(_segments(operation, flits, chip, direction)):
                segments[direction, chip, number] = segment
    gathers = operation == Operation.ALL_REDUCE
    total = int((segments[..., S_COUNT] * segments[..., S_HOPS]).sum())
    longest = int(result_flits.max()) if gathers else 0
    pending = np.zeros((chips, longest), np.int64)
    # Partial flits that make up one flit of the result.
    ratio = 1
    if gathers:
        ratio = max(
            1, *(-(-int(flits[0, c]) // max(1, int(result_flits[c]))) for c in range(chips))
        )
        for chip in range(chips):
            for direction in (UP, DOWN):
                owned = int(flits[0, chip])
                for (first, count), hops in zip(
                    _parts(owned), _reaches(chips, direction), strict=True
                ):
                    if hops:
                        places = np.arange(first, first + count) // ratio
                        np.add.at(pending[chip], places, 1)
        total += int(result_flits.sum()) * (chips - 1)
    reaches = np.array([_reaches(chips, direction) for direction in (UP, DOWN)], np.int64)
    if total == 0:
        return 0
    own = result_flits if gathers else np.zeros(chips, np.int64)
    return int(_run(segments, pending, ratio, own, reaches, hop, forward, total))


def _compile(fingerprint):
    """The slot loop, compiled; see `sources_fingerprint`."""

    @njit(error_model="numpy", cache=True)
    def run(segments, pending, ratio, result_flits, reaches, hop, forward, total):
        """Slots until the last of `total` transfers over a link has arrived."""
        _ = fingerprint
        chips = segments.shape[1]
        span = hop + forward + 1
        # Per direction, chip and slot: links that the flit still has to go after this one, plus 1;
        # kind, owner and number.
        line = np.zeros((2, chips, span, 4), np.int64)
        current = np.zeros((2, chips), np.int64)
        used = np.zeros((2, chips), np.int64)
        queue = np.zeros((chips, pending.shape[1]), np.int64)
        queued = np.zeros(chips, np.int64)
        fetched = np.zeros((2, chips), np.int64)
        done, slot, last = 0, 0, 0
        while done < total:
            place = slot % span
            oldest = (slot + 1) % span
            for direction in range(2):
                for chip in range(chips):
                    before = (chip - 1 + 2 * direction) % chips
                    flit = line[direction, before, oldest]
                    if flit[0] == 1 and flit[1] == PARTIAL and pending.shape[1] > 0:
                        result = flit[3] // ratio
                        pending[chip, result] -= 1
                        if pending[chip, result] == 0:
                            queue[chip, queued[chip]] = result
                            queued[chip] += 1
            for direction in range(2):
                for chip in range(chips):
                    before = (chip - 1 + 2 * direction) % chips
                    through = line[direction, before, oldest]
                    out = line[direction, chip, place]
                    out[0] = 0
                    if through[0] > 1:
                        out[:] = through
                        out[0] -= 1
                    elif segments[direction, chip, current[direction, chip], S_COUNT] != 0:
                        segment = segments[direction, chip, current[direction, chip]]
                        out[0], out[1], out[2] = segment[S_HOPS], segment[S_KIND], segment[S_OWNER]
                        out[3] = segment[S_FIRST] + used[direction, chip]
                        used[direction, chip] += 1
                        if used[direction, chip] == segment[S_COUNT]:
                            used[direction, chip] = 0
                            current[direction, chip] += 1
                    else:
                        while out[0] == 0 and fetched[direction, chip] < queued[chip]:
                            number = queue[chip, fetched[direction, chip]]
                            fetched[direction, chip] += 1
                            second = number >= (result_flits[chip] + 1) // 2
                            out[0] = reaches[direction, 1 if second else 0]
                            out[1], out[2], out[3] = PLAIN, chip, number
                    if out[0] != 0:
                        done += 1
                        last = slot
            slot += 1
        return last + hop + 1

    return run


_run = _compile(sources_fingerprint("topologies", "collective", "spec"))


def ring_step_slots(
    operation: Operation, flits: Flits, result_flits: Flits, hop: int, forward: int
) -> int:
    """Slots of a collective on the ring in steps; parameters as of `ring_slots`."""
    chips = len(flits)
    latest = 0
    for direction in (UP, DOWN):
        turn = STEP[direction]

        def length(flit_count: int, direction: int = direction) -> int:
            return _parts(flit_count)[direction][1]

        def sent(chip: int, step: int, turn: int = turn) -> int:
            """Flits that a chip sends in a step."""
            if operation == Operation.ALL_TO_ALL:
                origin = (chip - turn * step) % chips
                targets = [(origin + turn * hops) % chips for hops in range(step + 1, chips)]
                return sum(length(int(flits[origin, target])) for target in targets)
            if operation == Operation.ALL_GATHER:
                origin = (chip - turn * step) % chips
                return length(int(flits[origin, origin]))
            if step < chips - 1:
                return length(int(flits[0, (chip - turn * (step + 1)) % chips]))
            return length(int(result_flits[(chip - turn * (step - chips + 1)) % chips]))

        steps = (chips - 1) * (2 if operation == Operation.ALL_REDUCE else 1)
        free = [0] * chips  # the link
        there = [0] * chips  # what the next step passes on
        for step in range(steps):
            ends = []
            for chip in range(chips):
                ends.append(max(free[chip], there[chip]) + sent(chip, step))
                if sent(chip, step):
                    latest = max(latest, ends[chip] + hop)
            free = ends
            there = [ends[(chip - turn) % chips] + hop + forward for chip in range(chips)]
    return latest
