"""Ring and switch: the golden models against slow ones of another make, formulas and bounds."""

import heapq
from collections import defaultdict, deque

import numpy as np
import pytest

from recspeed.models.runs.collective import collective
from recspeed.models.spec.collective import CollectiveParameters, Operation
from recspeed.models.spec.link import lines_of
from recspeed.models.topologies.comparison import Topology, bound_nanoseconds, golden_nanoseconds
from recspeed.models.topologies.ring import ring_slots, ring_step_slots
from recspeed.models.topologies.switch import switch_slots

SEED = 3
OTHERS = (Topology.RING, Topology.RING_STEPS, Topology.SWITCH)


def random_flits(rng, operation, chips):
    """Flits per pair as the operation allows, and of the results."""
    flits = rng.integers(0, 9, (chips, chips))
    results = np.zeros(chips, np.int64)
    if operation == Operation.ALL_GATHER:
        flits = np.tile(flits[:, :1], (1, chips))
    if operation.reduces:
        results = flits[0].copy()
        flits = np.tile(results * int(rng.choice((1, 2, 4))), (chips, 1))
    return flits.astype(np.int64), results


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


def slow_switch_slots(operation, flits, results, hop, through, forward, same_first):
    """Events in a heap: (slot, stage, chip); stage 0 at the goal, 1 at the switch, 2 send."""
    chips = len(flits)
    left = [{t: int(flits[s, t]) for t in range(chips) if t != s} for s in range(chips)]
    again = [dict.fromkeys(left[s], int(results[s])) for s in range(chips)]
    if operation != Operation.ALL_REDUCE:
        again = [dict.fromkeys(left[s], 0) for s in range(chips)]
    turn = [(chip + 1) % chips for chip in range(chips)]
    received = defaultdict(list)  # slots of arrival, per pair
    at_switch = defaultdict(list)
    queues = [deque() for _ in range(chips)]
    total = sum(sum(one.values()) for one in (*left, *again))
    slot, end, done = 0, 0, 0
    while done < total:
        for source, target, partial in sorted(at_switch.pop(slot, [])):
            queues[target].append((source, partial))
        for target, queue in enumerate(queues):
            if queue:
                source, partial = queue.popleft()
                done, end = done + 1, slot + hop + 1
                if partial:
                    received[source, target].append(slot + hop + forward)
        for chip in range(chips):
            order = sorted(
                left[chip], key=lambda t, c=chip: t if same_first else (t - turn[c]) % chips
            )
            partial = any(left[chip].values())
            chosen = None
            for target in order:
                if partial and left[chip][target]:
                    chosen = target
                elif not partial and again[chip][target]:
                    number = int(results[chip]) - again[chip][target]
                    ratio = int(flits[0, chip]) // int(results[chip])
                    need = min(ratio * (number + 1), int(flits[0, chip]))
                    if all(
                        sum(when <= slot for when in received[peer, chip]) >= need
                        for peer in left[chip]
                    ):
                        chosen = target
                if chosen is not None:
                    break
            if chosen is not None:
                (left if partial else again)[chip][chosen] -= 1
                turn[chip] = (chosen + 1) % chips
                at_switch[slot + hop + through].append((chip, chosen, partial))
        slot += 1
    return end


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 3, 5])
@pytest.mark.parametrize("same_first", [False, True])
def test_switch_against_a_slow_one(operation, chips, same_first):
    rng = np.random.default_rng((SEED, chips, int(operation)))
    for _ in range(10):
        flits, results = random_flits(rng, operation, chips)
        times = [int(rng.integers(1, 9)) for _ in range(3)]
        slow = slow_switch_slots(operation, flits, results, *times, same_first)
        fast = switch_slots(operation, flits, results, *times, same_first=same_first)
        assert fast == slow, f"seed {SEED}"


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


def test_contention_at_a_port_of_the_switch():
    """All to rank 0: its port serves one after the other; in turn, nothing ever waits."""
    chips, flits = 4, np.full((4, 4), 10, np.int64)
    none = np.zeros(chips, np.int64)
    in_turn = switch_slots(Operation.ALL_TO_ALL, flits, none, 5, 3, 1)
    assert in_turn == 2 * 5 + 3 + 30
    careless = switch_slots(Operation.ALL_TO_ALL, flits, none, 5, 3, 1, same_first=True)
    # Ranks 1 to 3 spend 10 slots on rank 0, whose port needs 30; the last port begins 20 late.
    assert careless > in_turn + 10
    incast = np.zeros((4, 4), np.int64)
    incast[1:, 0] = 10
    assert switch_slots(Operation.ALL_TO_ALL, incast, none, 5, 3, 1) == 2 * 5 + 3 + 30


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 3, 4, 8, 15, 16])
def test_no_model_beats_its_bound_and_large_messages_reach_it(operation, chips):
    parameters = CollectiveParameters(chips=chips)
    for size in (1, 64, 1000, 4096, 65536, 1 << 20):
        held = size * (1 if operation == Operation.ALL_GATHER else chips)
        held += held % 2
        item = collective(operation, held, chips)
        least = int(item.lengths.min())
        for topology in OTHERS:
            time = golden_nanoseconds(topology, item, parameters)
            bound = bound_nanoseconds(topology, operation, least, parameters)
            assert time >= bound
            if lines_of(size) == 1 << 14 and topology != Topology.RING_STEPS:
                assert time <= 1.01 * bound


def test_nothing_takes_no_time():
    parameters = CollectiveParameters(chips=5)
    for operation in Operation:
        for topology in OTHERS:
            assert golden_nanoseconds(topology, collective(operation, 0, 5), parameters) == 0


def test_direct_links_have_a_model_of_their_own():
    item = collective(Operation.ALL_TO_ALL, 640, 4)
    with pytest.raises(ValueError, match="model of their own"):
        golden_nanoseconds(Topology.DIRECT, item, CollectiveParameters(chips=4))
