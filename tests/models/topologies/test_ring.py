"""Rings: the golden models against a slow one of another make, and formulas."""

import heapq
from collections import defaultdict, deque

import numpy as np
import pytest
from support.topology_flits import random_flits

from recspeed.models.spec.collective import Operation
from recspeed.models.topologies.ring import ring_slots, ring_step_slots

SEED = 3


class SlowRing:
    """A ring in which flits are objects that are told where to go, one event after the other."""

    def __init__(self, chips, hop, forward):
        self.chips, self.hop, self.forward = chips, hop, forward
        self.own = defaultdict(deque)
        self.arrived = 0

    def run(self):
        """Move everything; the last arrival. A flit: [hops left, what to call at its goal]."""
        through = []
        order = 0
        slot = 0
        while through or any(self.own.values()):
            now = {}
            landed = []
            while through and through[0][0] == slot:
                _, _, (chip, turn), flit = heapq.heappop(through)
                if flit[0] == 0:
                    landed.append((turn, chip, flit))
                else:
                    now[chip, turn] = flit
            for _, chip, flit in sorted(landed, key=lambda one: (-one[0], one[1])):
                if flit[1] is not None:
                    flit[1](chip)
            for turn in (1, -1):
                for chip in range(self.chips):
                    flit = now.get((chip, turn))
                    if flit is None and self.own[chip, turn]:
                        flit = self.own[chip, turn].popleft()
                    if flit is None:
                        continue
                    after = ((chip + turn) % self.chips, turn)
                    order += 1
                    self.arrived = max(self.arrived, slot + self.hop + 1)
                    moved = (slot + self.hop + self.forward, order, after, [flit[0] - 1, flit[1]])
                    heapq.heappush(through, moved)
            slot += 1
        return self.arrived


def slow_ring_slots(operation, flits, results, hop, forward):
    chips = len(flits)
    ring = SlowRing(chips, hop, forward)

    def reach(turn, number, total):
        first = number < (total + 1) // 2
        return chips // 2 if first == (turn == 1) else (chips - 1) // 2

    waiting = {}

    def gather(owner, number):
        for turn in (1, -1):
            hops = reach(turn, number, results[owner])
            if hops:
                ring.own[owner, turn].append([hops, None])

    def landed(owner, number):
        def call(chip):
            assert chip == owner
            waiting[owner, number] -= 1
            if waiting[owner, number] == 0:
                gather(owner, number)

        return call

    for source in range(chips):
        for turn in (1, -1):
            wanted = []
            for target in range(chips):
                if operation == Operation.ALL_TO_ALL and target != source:
                    way = (turn * (target - source)) % chips
                    count = int(flits[source, target])
                    for number in range(count):
                        half = (number < (count + 1) // 2) == (turn == 1)
                        if 2 * way < chips or (2 * way == chips and half):
                            wanted.append((way, None))
                if operation.reduces:
                    count = int(flits[source, target])
                    for number in range(count):
                        way = reach(turn, number, count)
                        if way and (source + turn * way - target) % chips == 0:
                            call = None
                            if operation == Operation.ALL_REDUCE:
                                ratio = count // int(results[target])
                                key = (target, number // ratio)
                                waiting[key] = waiting.get(key, 0) + 1
                                call = landed(*key)
                            wanted.append((way, call))
            if operation == Operation.ALL_GATHER:
                count = int(flits[source, source])
                wanted += [(reach(turn, number, count), None) for number in range(count)]
            wanted = [one for one in wanted if one[0]]
            for way, call in sorted(wanted, key=lambda one: -one[0]):
                ring.own[source, turn].append([way, call])
    return ring.run()


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 3, 4, 5, 8])
def test_ring_against_a_slow_one(operation, chips):
    rng = np.random.default_rng((SEED, chips, int(operation)))
    for _ in range(15):
        flits, results = random_flits(rng, operation, chips)
        hop, forward = int(rng.integers(1, 12)), int(rng.integers(1, 5))
        slow = slow_ring_slots(operation, flits, results, hop, forward)
        assert ring_slots(operation, flits, results, hop, forward) == slow, f"seed {SEED}"


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 3, 4, 7, 16])
def test_steps_of_equal_slices_take_what_the_formula_says(operation, chips):
    """n - 1 steps of half a slice, a hop and a forwarding each; the ring of the larger half."""
    flits = np.full((chips, chips), 101, np.int64)
    results = flits[0].copy()
    hop, forward = 30, 4
    clocks = ring_step_slots(operation, flits, results, hop, forward)
    if operation == Operation.ALL_TO_ALL:
        blocks, steps = chips * (chips - 1) // 2, chips - 1
    else:
        steps = (chips - 1) * (2 if operation == Operation.ALL_REDUCE else 1)
        blocks = steps
    assert clocks == 51 * blocks + steps * hop + (steps - 1) * forward


def test_steps_wait_for_the_longest_slice():
    flits = np.zeros((3, 3), np.int64)
    flits[0] = 10  # one block, of rank 0: two steps with it, one after the other
    clocks = ring_step_slots(Operation.ALL_GATHER, flits, flits[0], 7, 2)
    assert clocks == 2 * (5 + 7) + 2
