"""The stream law checker: what is offered stays until it is taken, and breaches are counted."""

import numpy as np
import pytest
from support.amaranth_bench import run_bench

from recspeed.models.spec.register_map import Counter
from recspeed.tb.checkers.stream_law import StreamLaw
from recspeed.tb.simulator.plan import RunOutcome
from recspeed.tb.simulator.simulation import ChannelError, check_outcome

WIDTH = 12


def violations(clocks: list[tuple[int, int, int, int]]) -> int:
    """Violations counted after clocks of `(enable, valid, ready, payload)`."""
    law = StreamLaw(WIDTH)
    counted = []

    async def bench(ctx):
        for enable, valid, ready, payload in clocks:
            ctx.set(law.enable, enable)
            ctx.set(law.valid, valid)
            ctx.set(law.ready, ready)
            ctx.set(law.payload, payload)
            await ctx.tick()
        counted.append(ctx.get(law.violations))

    run_bench(law, bench)
    return counted[0]


@pytest.mark.parametrize(
    ("clocks", "expected"),
    [
        pytest.param([(1, 1, 0, 5), (1, 1, 0, 5), (1, 1, 1, 5), (1, 0, 0, 0)], 0, id="held"),
        pytest.param([(1, 1, 1, 5), (1, 1, 1, 6), (1, 1, 1, 6)], 0, id="back to back"),
        pytest.param([(1, 0, 1, 5), (1, 0, 0, 6), (1, 1, 1, 7)], 0, id="idle payload changes"),
        pytest.param([(1, 1, 0, 5), (1, 0, 0, 5), (1, 0, 0, 5)], 1, id="withdrawn"),
        pytest.param([(1, 1, 0, 5), (1, 0, 1, 5)], 1, id="withdrawn as ready comes"),
        pytest.param([(1, 1, 0, 5), (1, 1, 0, 4), (1, 1, 1, 4)], 1, id="changed"),
        pytest.param([(1, 1, 0, 5), (1, 1, 1, 4)], 1, id="changed in the clock of the transfer"),
        pytest.param([(1, 1, 0, p) for p in range(10)], 9, id="changes nine times"),
        pytest.param([(1, 1, 0, 5), (1, 0, 0, 5), (1, 1, 0, 5), (1, 0, 0, 5)], 2, id="twice"),
        pytest.param([(0, 1, 0, 5), (0, 0, 0, 5), (0, 1, 0, 4)], 0, id="not enabled"),
        pytest.param([(0, 1, 0, 5), (1, 0, 0, 5)], 0, id="forgotten while not enabled"),
    ],
)
def test_violations(clocks, expected):
    assert violations(clocks) == expected


@pytest.mark.parametrize("bit", range(WIDTH))
def test_every_payload_bit_counts(bit):
    assert (
        violations([(1, 1, 0, 0x5A5), (1, 1, 0, 0x5A5 ^ 1 << bit), (1, 1, 1, 0x5A5 ^ 1 << bit)])
        == 1
    )


@pytest.mark.parametrize("seed", range(5))
def test_random_streams(seed):
    """A lawful stream counts nothing; the same with faults counts each of them."""
    rng = np.random.default_rng(seed)
    clocks, faults = [], 0
    valid, payload, pending = 0, 0, False
    for _ in range(600):
        if pending and rng.random() < 0.1:
            faults += 1
            if rng.random() < 0.5:
                valid = 0
            else:
                payload ^= 1 << int(rng.integers(WIDTH))
        elif not pending:
            valid, payload = int(rng.random() < 0.6), int(rng.integers(1 << WIDTH))
        ready = int(rng.random() < 0.4)
        clocks.append((1, valid, ready, payload))
        pending = bool(valid and not ready)
    assert faults > 5
    assert violations(clocks) == faults, f"seed {seed}"


def test_the_count_saturates():
    assert violations([(1, 1, 0, clock % 2) for clock in range((1 << 16) + 10)]) == (1 << 16) - 1


def test_a_run_with_violations_is_refused():
    outcome = RunOutcome([dict.fromkeys(Counter, 0)], law_violations=3, timed_out=False)
    with pytest.raises(ChannelError, match=r"^3 violations of the stream law$"):
        check_outcome(outcome, 100)
