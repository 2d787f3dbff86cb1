"""The mixes that RTL and golden model are compared on notice every constant that is off by one.

Too slow is as wrong as too early: a link whose timer, depth or limit differs by one clock or flit
in either direction must show in some clock or counter of the mixes of the two small systems.
"""

import pytest

from recspeed.models.collective import system_record
from recspeed.models.collective.link_record import link_parameters
from recspeed.models.collective.simulation import golden_outcome
from recspeed.tb.collective.compare import compare_outcomes
from recspeed.tb.regression.case import random_cases, special_cases
from recspeed.tb.regression.collective_cases import tiny_build

NAMES = (
    "latency",
    "replay_depth",
    "receive_depth",
    "report_interval",
    "status_interval",
    "retry_timeout",
    "retry_limit",
    "nak_hold",
    "start_interval",
    "silence_limit",
)


@pytest.fixture(scope="module")
def runs():
    """Those of tests/tb/collective/test_collective_regression.py, with what they give."""
    cases = []
    for chips, first in ((2, 100), (3, 200)):
        build = tiny_build(chips)
        cases += special_cases(build) + random_cases(build, 15, first)
    mixes = [case.make() for case in cases]
    return [(mix.run, golden_outcome(mix.run)) for mix in mixes]


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("name", NAMES)
def test_a_constant_that_is_off_by_one_is_noticed(runs, name, change, monkeypatch):
    def changed(link):
        values = link_parameters(link)
        values[name] += change
        return values

    monkeypatch.setattr(system_record, "link_parameters", changed)
    assert any(compare_outcomes(golden_outcome(run), right) for run, right in runs)
