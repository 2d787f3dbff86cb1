"""Links of the golden model: what errors cost, and credit."""

import dataclasses

import numpy as np
import pytest
from support.collective_clocks import clocks_of

from recspeed.models.collective.simulation import golden_outcome
from recspeed.models.runs.collective import (
    COUNTERS,
    CollectiveRun,
    Fault,
    FaultKind,
    Stall,
    collective,
    lay_out,
    start_clock,
)
from recspeed.models.spec.collective import CollectiveParameters, Operation

SEED = 5


def random_errors(parameters, flits, rate, seed):
    rng = np.random.default_rng(seed)
    return [
        Fault(source, target, int(ordinal), FaultKind.CORRUPT)
        for source in range(parameters.chips)
        for target in range(parameters.chips)
        if source != target
        for ordinal in np.flatnonzero(rng.random(flits) < rate)
    ]


def test_a_million_flits_at_one_error_in_a_thousand():
    """Nothing lost, duplicated or reordered: the golden receiver accepts numbers in order only,
    and each collective completes exactly when all of its flits are there."""
    parameters = CollectiveParameters(chips=4)
    size = 64 * 21_000 * 4
    faults = random_errors(parameters, 250_000, 1e-3, SEED)
    *_, outcome = clocks_of(Operation.ALL_GATHER, size, parameters, faults)
    counters = outcome.counters.sum(axis=(0, 1))
    sent = counters[COUNTERS.index("flits_sent")]
    assert sent == 12 * (4 * 21_000 + 1) > 1_000_000
    assert counters[COUNTERS.index("crc_errors")] > 1000
    assert counters[COUNTERS.index("flits_replayed")] > 0


@pytest.mark.slow
@pytest.mark.parametrize("chips", [4, 6, 8, 16])
def test_throughput_at_one_error_in_ten_thousand(chips):
    parameters = CollectiveParameters(chips=chips)
    size = 64 * 30_000
    faults = random_errors(parameters, 60_000, 1e-4, SEED)
    clean, *_ = clocks_of(Operation.ALL_GATHER, size, parameters)
    hit, *_ = clocks_of(Operation.ALL_GATHER, size, parameters, faults)
    assert clean / hit >= 0.9


@pytest.mark.parametrize("chips", [2, 4, 16])
def test_an_error_costs_one_round_trip(chips):
    """Never more than the flits that were on their way, and no fewer but for reports among them."""
    parameters = CollectiveParameters(chips=chips)
    link = parameters.link
    size = 64 * (500 + 2 * link.replay_clocks)
    clean, *_ = clocks_of(Operation.ALL_GATHER, size, parameters)
    reports = link.replay_clocks // link.report_interval + 2
    for ordinal in range(400, 405):
        fault = Fault(0, 1, ordinal, FaultKind.CORRUPT)
        hit, _, outcome = clocks_of(Operation.ALL_GATHER, size, parameters, [fault])
        assert link.replay_clocks - reports <= hit - clean <= link.replay_clocks
        replayed = outcome.counters[0, 0, COUNTERS.index("flits_replayed")]
        assert link.replay_clocks - reports <= replayed <= link.replay_clocks
        assert outcome.counters[..., COUNTERS.index("naks_sent")].sum() == 1
        assert outcome.counters[..., COUNTERS.index("timeouts")].sum() == 0


def test_two_chips_come_within_a_hundredth_of_what_go_back_n_can_reach():
    """A round trip is 1,774 flits there, so one error in 10,000 flits leaves 84.9 %."""
    parameters = CollectiveParameters(chips=2)
    share = parameters.link.go_back_n_share(1e-4)
    assert share == pytest.approx(0.8493, abs=1e-4)
    size = 64 * 600_000
    faults = random_errors(parameters, 900_000, 1e-4, SEED)
    clean, *_ = clocks_of(Operation.ALL_GATHER, size, parameters)
    hit, *_ = clocks_of(Operation.ALL_GATHER, size, parameters, faults)
    assert share - 0.01 <= clean / hit <= share + 0.01


@pytest.mark.parametrize(("channels", "flits"), [(1, 1 + 256), (2, 2 * 201)])
def test_a_stalled_collective_does_not_use_up_the_credit_of_the_next(channels, flits):
    """Rank 1 stands still in the first of two collectives of 201 flits per peer.

    Rank 0 completes it and begins the next. On one channel the two share 256 flits of credit and
    the one that the first HEAD gives back, on two channels each has as many.
    """
    link = CollectiveParameters(chips=4, virtual_channels=channels).link.model_copy(
        update={"latency": 50, "replay_depth": 512, "receive_depth": 256}
    )
    begin = start_clock(link)
    ready = np.full(2, begin)
    items = [
        collective(Operation.ALL_TO_ALL, 2 * 64 * 200, 2, ready_from=ready, sequence=number)
        for number in range(2)
    ]
    stall = Stall(0, begin, begin + 2000)
    run = CollectiveRun(link, lay_out(items).descriptors, stalls={1: stall}, limit=begin + 1900)
    waiting = golden_outcome(run)
    assert [len(done) for done in waiting.completions] == [1, 0]
    assert waiting.counters[0, 0, COUNTERS.index("flits_sent")] == flits
    done = golden_outcome(dataclasses.replace(run, limit=1 << 20))
    assert [len(done) for done in done.completions] == [2, 2]
