"""The front-end with writes in Amaranth's own simulator, against the golden model, to the clock."""

import pytest
from support.amaranth_front_end import simulate_front_end_in_amaranth
from support.dram_runs import random_dram_run
from support.front_end_runs import RUNS, run_and_golden, small_ddr4, small_gddr6, small_hbm

from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.dram import DramResult, DramRun
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare_dram

DEVICES = {"HBM": small_hbm, "DDR4": small_ddr4, "GDDR6": small_gddr6}


def check(run: DramRun, golden: DramResult) -> None:
    """The RTL gives the golden result, bit by bit and clock by clock, and keeps every rule."""
    outcome = simulate_front_end_in_amaranth(run, limit=golden.cycles + 200)
    assert outcome.done
    assert [str(difference) for difference in compare_dram(outcome.result, golden)] == []
    assert outcome.data_faults == []
    settings = run.settings
    report = jedec.check(
        run.preset,
        outcome.result.commands,
        refresh=settings.refresh_group > 0,
        per_bank=settings.per_bank,
    )
    assert report.legal, report.violations


@pytest.mark.parametrize("name", list(RUNS))
def test_short_runs_that_meet_every_mechanism(name):
    check(*run_and_golden(name))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("device", list(DEVICES))
def test_random_settings_and_patterns(device, seed):
    """A few hundred requests; turnarounds, limits, row hits and kinds of refresh by the seed."""
    print(f"seed {seed}")
    run = random_dram_run(seed, 200, preset=DEVICES[device]())
    check(run, simulate_dram(run))


def test_the_limit_of_clocks_ends_a_run():
    run, golden = run_and_golden("GDDR6")
    outcome = simulate_front_end_in_amaranth(run, limit=200)
    assert not outcome.done
    before = golden.commands[golden.commands["cycle"] < 200]
    assert outcome.result.commands.tolist() == before.tolist()
