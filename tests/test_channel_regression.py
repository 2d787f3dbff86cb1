"""RTL against golden model and JEDEC checker: every bit, cycle, command and counter."""

import pytest

from recspeed.tb.regression import builds, random_cases, run_batch, special_cases
from recspeed.tb.special_runs import SPECIAL_RUNS

RANDOM_RUNS = {"hbm2-2000": 20, "hbm2e-3000": 20, "small-64-banks": 8}
FIRST_SEED = 0

BUILDS = {build.name: build for build in builds()}


@pytest.mark.parametrize("name", list(RANDOM_RUNS))
def test_rtl_equals_golden_and_is_legal(name):
    """One simulation per build: every special run, then random runs named by their seed."""
    build = BUILDS[name]
    cases = [
        *special_cases(build),
        *random_cases(build, RANDOM_RUNS[name], FIRST_SEED),
    ]
    verdicts = run_batch(cases)
    assert [verdict.name for verdict in verdicts] == [case.name for case in cases]
    faults = [f"{verdict.name}: {fault}" for verdict in verdicts for fault in verdict.faults]
    assert not faults, "\n".join(faults)
    assert sum(verdict.cycles == 0 for verdict in verdicts) <= 1, "only `no_bags` takes no clock"


def test_the_batches_are_as_many_as_promised():
    assert set(RANDOM_RUNS) == set(BUILDS)
    assert sum(RANDOM_RUNS.values()) >= 40
    assert len(SPECIAL_RUNS) >= 26
