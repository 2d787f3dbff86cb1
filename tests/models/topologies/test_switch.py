"""The switch: the golden model against a slow one of another make, and contention."""

from collections import defaultdict, deque

import numpy as np
import pytest
from support.topology_flits import random_flits

from recspeed.models.spec.collective import Operation
from recspeed.models.topologies.switch import switch_slots

SEED = 3


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
