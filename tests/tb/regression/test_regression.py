"""RTL against golden model and JEDEC checker: every bit, cycle, command and counter."""

import pytest

from recspeed.tb.cluster.special_runs import SPECIAL_RUNS
from recspeed.tb.regression.cases import (
    Case,
    all_cases,
    builds,
    random_cases,
    run_batch,
    special_cases,
)

RANDOM_RUNS = {
    "channel-hbm2-2000": 20,
    "channel-hbm2e-3000": 20,
    "channel-ddr4-3200": 8,
    "channel-small-64-banks": 8,
}
RANDOM_MIXES = 20
FIRST_SEED = 0

CHANNELS = {build.name: build for build in builds("memory_channel")}
FRONT_ENDS = {build.name: build for build in builds("dram_front_end")}
HBM_CHANNELS = {build.name: build for build in builds("hbm_channel")}


def run_cases(cases: list[Case]) -> None:
    """Run `cases` in one simulation; every one must have a verdict without faults."""
    verdicts = run_batch(cases)
    assert [verdict.name for verdict in verdicts] == [case.name for case in cases]
    faults = [f"{verdict.name}: {fault}" for verdict in verdicts for fault in verdict.faults]
    assert not faults, "\n".join(faults)
    assert sum(verdict.cycles == 0 for verdict in verdicts) <= 1, "only `no_bags` takes no clock"


@pytest.mark.parametrize("name", list(RANDOM_RUNS))
def test_channel_equals_golden_and_is_legal(name):
    """Every special run, then random runs named by their seed."""
    build = CHANNELS[name]
    run_cases([*special_cases(build), *random_cases(build, RANDOM_RUNS[name], FIRST_SEED)])


@pytest.mark.parametrize("name", list(FRONT_ENDS))
def test_front_end_equals_golden_and_is_legal(name):
    """Random mixes of reads and writes, settings and patterns, named by their seed."""
    run_cases(random_cases(FRONT_ENDS[name], RANDOM_MIXES, FIRST_SEED))


def test_hbm_channel_equals_golden_and_is_legal():
    """Pairs of mixes on shared command buses; the other devices' are part of `make regress`."""
    run_cases(random_cases(HBM_CHANNELS["hbm-channel-hbm2-2000"], RANDOM_MIXES, FIRST_SEED))


def test_the_batches_are_as_many_as_promised():
    assert set(RANDOM_RUNS) == set(CHANNELS)
    assert sum(RANDOM_RUNS.values()) >= 40
    assert RANDOM_MIXES >= 20
    assert {build.preset.family for build in FRONT_ENDS.values()} == {
        "hbm2",
        "hbm3",
        "ddr4",
        "gddr6",
    }
    assert len(SPECIAL_RUNS) >= 26


def test_every_run_of_the_full_regression_can_be_made():
    """Tables that a seed makes too large for a channel are made smaller, not refused."""
    for case in all_cases(("memory_channel",), 1000, 0, FIRST_SEED):
        if case.special is None:
            run = case.channel_run()
            assert run.tables[-1].base_row + run.tables[-1].row_span <= run.preset.organization.rows
