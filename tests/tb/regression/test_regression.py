"""RTL against golden model and JEDEC checker: every bit, cycle, command and counter."""

import pickle

import pytest

from recspeed.tb.cluster.special_runs import SPECIAL_RUNS
from recspeed.tb.regression.batch import batches, run_batch
from recspeed.tb.regression.blocks import BLOCKS, regression_cases
from recspeed.tb.regression.case import Case, random_cases, special_cases
from recspeed.tb.regression.cluster_cases import channel_builds, channel_cases
from recspeed.tb.regression.dram_cases import front_end_builds, hbm_channel_builds

RANDOM_RUNS = {
    "channel-hbm2-2000": 20,
    "channel-hbm2e-3000": 20,
    "channel-ddr4-3200": 8,
    "channel-small-64-banks": 8,
}
RANDOM_MIXES = 20
FIRST_SEED = 0

CHANNELS = {build.name: build for build in channel_builds()}
FRONT_ENDS = {build.name: build for build in front_end_builds()}
HBM_CHANNELS = {build.name: build for build in hbm_channel_builds()}


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
    assert {build.design.preset.family for build in FRONT_ENDS.values()} == {
        "hbm2",
        "hbm3",
        "ddr4",
        "gddr6",
    }
    assert len(SPECIAL_RUNS) >= 26


def test_every_run_of_the_full_regression_can_be_made():
    """Tables that a seed makes too large for a channel are made smaller, not refused."""
    for case in channel_cases(1000, FIRST_SEED):
        if case.special is None:
            run = case.make()
            assert run.tables[-1].base_row + run.tables[-1].row_span <= run.preset.organization.rows


def test_every_block_has_its_cases_and_no_other():
    assert set(BLOCKS) == {"cluster", "dram_front_end", "hbm_channel", "collective"}
    counts = {"hbm_channel": 2, "collective": 7}
    names = [case.name for case in regression_cases(counts, 5)]
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith("hbm-channel-hbm2-2000.")] == [
        "hbm-channel-hbm2-2000.random_seed_5",
        "hbm-channel-hbm2-2000.random_seed_6",
    ]
    assert {name.split("-")[0] for name in names} == {"hbm", "collective"}
    assert sum(".random_seed_" in name for name in names) == 3 * 2 + 7


def test_a_batch_is_of_one_build_and_of_limited_size():
    cases = channel_cases(21, FIRST_SEED)
    made = batches(cases, 4)
    assert sorted(case.name for batch in made for case in batch) == sorted(c.name for c in cases)
    assert all(len({case.build.name for case in batch}) == 1 for batch in made)
    assert max(map(len, made)) == 4


def test_cases_reach_another_process_as_they_are():
    """Of every block, a random case makes the same input there."""
    cases = regression_cases(dict.fromkeys(BLOCKS, 1), 3)
    received = pickle.loads(pickle.dumps(cases))
    assert received == cases
    assert [case.build.kind for case in received] == [case.build.kind for case in cases]
