"""The golden model against the literal oracle: every command, transfer, counter and result bit."""

import pytest
from golden_oracle import LiteralChannel
from golden_runs import differences, random_run

from recspeed.models.chip.channel import simulate_channel

RANDOM_RUNS = 60


@pytest.mark.parametrize("seed", range(RANDOM_RUNS))
def test_random_runs_equal_the_oracle(seed):
    run = random_run(seed)
    found = differences(simulate_channel(run), LiteralChannel(run).run_to_end())
    assert not found, f"seed {seed}: {found}"
