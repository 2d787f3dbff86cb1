"""The testbench against broken engines: every fault is reported by what is meant for it."""

import dataclasses

import pytest
from support.collective_mutants import MUTANTS, VARIABLE, inject_all, write_sources

from recspeed.models.collective.simulation import golden_outcome
from recspeed.models.spec.link import LinkParameters
from recspeed.tb.collective.compare import judge
from recspeed.tb.collective.control import TOPLEVEL
from recspeed.tb.collective.harness import write_design
from recspeed.tb.collective.mixes import SPECIAL_MIXES, random_mix
from recspeed.tb.collective.simulation import ARGUMENTS, PEERS, simulate_collectives
from recspeed.tb.simulator import toolchain

LINK = LinkParameters(
    latency=7,
    replay_depth=16,
    receive_depth=32,
    report_interval=4,
    status_interval=32,
    virtual_channels=2,
    full_rate=False,
)
CHIPS = 2
SPECIAL = ("one_flit", "stalled_receiver", "every_flit_hit", "wrong_sequence", "wrong_format")
SEEDS = (*range(500, 507), 553, 558)
"""The last two hold exact partial sums of nearly all bits."""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    """The system with all faults in it, of which a run picks one."""
    folder = tmp_path_factory.mktemp("mutants")
    with pytest.MonkeyPatch.context() as monkeypatch:
        inject_all(monkeypatch, MUTANTS)
        design = write_design(folder, LINK, CHIPS)
        sources = [*PEERS, *design.sources, *write_sources(folder / "further")]
        return toolchain.build(
            TOPLEVEL, toolchain.Design(sources, design.layouts), arguments=ARGUMENTS
        )


@pytest.fixture(scope="module")
def mixes():
    """Mixes that end soon after they should have ended."""
    made = [SPECIAL_MIXES[name](LINK, CHIPS) for name in SPECIAL]
    made += [random_mix(seed, LINK, CHIPS, 1 << 11) for seed in SEEDS]
    limited = []
    for mix in made:
        run = dataclasses.replace(mix.run, limit=golden_outcome(mix.run).end + 500)
        limited.append(dataclasses.replace(mix, run=run))
    return limited


def faults_of(number, simulator, mixes, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(number))
    results = simulate_collectives([(mix.run, mix.images) for mix in mixes], simulator=simulator)
    return [
        fault
        for mix, (outcome, images) in zip(mixes, results, strict=True)
        for fault in judge(mix, outcome, images)
    ]


def test_without_a_fault_nothing_is_reported(simulator, mixes, monkeypatch):
    assert faults_of(0, simulator, mixes, monkeypatch) == []


@pytest.mark.parametrize(
    "number", range(1, len(MUTANTS) + 1), ids=[mutant.name.replace(" ", "_") for mutant in MUTANTS]
)
def test_fault_is_reported(number, simulator, mixes, monkeypatch):
    faults = faults_of(number, simulator, mixes, monkeypatch)
    shows = MUTANTS[number - 1].shows
    assert any(shows in fault for fault in faults), faults[:20]
