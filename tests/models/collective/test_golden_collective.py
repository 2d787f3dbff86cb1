"""The golden model and the bound: figures that the block must reach, and laws of every run."""

import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError

from recspeed.models.bounds.collective import bound_clocks
from recspeed.models.collective.simulation import golden_outcome, golden_output
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
from recspeed.models.spec.collective import CollectiveParameters, EngineError, Operation, WireFormat
from recspeed.models.spec.link import LinkParameters
from recspeed.models.topologies.comparison import Topology, bound_nanoseconds
from recspeed.tb.collective.mixes import SPECIAL_MIXES, random_mix

SEED = 5


def clocks_of(operation, size, parameters, faults=(), skew=0, seed=0):
    """Clocks of a collective, its bound, and its outcome."""
    chips, link = parameters.chips, parameters.link
    rng = np.random.default_rng(seed)
    ready = start_clock(link) + rng.integers(0, skew + 1, chips)
    item = collective(operation, size, chips, ready_from=ready)
    run = CollectiveRun(link, lay_out([item]).descriptors, faults=faults, limit=4_000_000)
    outcome = golden_outcome(run)
    assert outcome.errors == [None] * chips
    clocks = max(done[0] for done in outcome.completions) - min(s[0] for s in outcome.starts)
    return clocks, bound_clocks(item, link), outcome


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("chips", [2, 4, 6, 8, 16])
@pytest.mark.parametrize("kilobytes", [64, 256])
def test_large_messages_reach_98_percent_of_the_bound(operation, chips, kilobytes):
    size = 1024 * kilobytes * (1 if operation == Operation.ALL_GATHER else chips)
    clocks, bound, _ = clocks_of(operation, size, CollectiveParameters(chips=chips))
    assert bound <= clocks <= bound / 0.98


@pytest.mark.parametrize("size", [160_000, 32_000])
def test_messages_of_the_paper_are_within_a_tenth_of_the_bound(size):
    clocks, bound, _ = clocks_of(Operation.ALL_TO_ALL, size, CollectiveParameters(chips=16))
    assert bound <= clocks <= 1.10 * bound


@pytest.mark.parametrize("chips", range(2, 17))
def test_one_flit_takes_the_latency_and_at_most_12_clocks(chips):
    parameters = CollectiveParameters(chips=chips)
    clocks, bound, _ = clocks_of(Operation.ALL_TO_ALL, 64 * chips, parameters)
    assert bound == parameters.latency + 1
    assert clocks <= parameters.latency + 12
    assert clocks / parameters.clock_gigahertz < 250


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


@pytest.mark.parametrize("seed", range(10))
def test_no_mix_loses_or_invents_a_flit(seed):
    link = LinkParameters(latency=9, replay_depth=128, receive_depth=128, report_interval=64)
    mix = random_mix(seed, link, 3)
    outcome = golden_outcome(mix.run)
    assert outcome.end > 0, f"seed {seed}"
    assert outcome.errors == [None] * 3
    heads = sum(2 if c.operation == Operation.ALL_REDUCE else 1 for c in mix.collectives)
    for rank in range(3):
        for link_number, peer in enumerate(p for p in range(3) if p != rank):
            data = 0
            for c in mix.collectives:
                data += -(-int(c.lengths[rank, peer]) // 64)
                if c.operation == Operation.ALL_REDUCE:
                    data += -(-int(c.result_lengths[rank]) // 64)
            assert outcome.counters[rank, link_number, 0] == data + heads


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("no_data", {None}),
        ("one_flit", {None}),
        ("late_rank", {None}),
        ("stalled_receiver", {None}),
        ("every_flit_hit", {None}),
        ("dead_link", {EngineError.LINK_DOWN}),
        ("dead_from_the_start", {EngineError.LINK_DOWN}),
        ("wrong_operation", {EngineError.OPERATION, EngineError.LINK_DOWN}),
        ("wrong_sequence", {EngineError.SEQUENCE_ID, EngineError.LINK_DOWN}),
        ("wrong_length", {EngineError.LENGTH, EngineError.LINK_DOWN}),
        ("wrong_format", {EngineError.FORMAT, EngineError.LINK_DOWN}),
    ],
)
@pytest.mark.parametrize("chips", [2, 3, 5])
@pytest.mark.parametrize("channels", [1, 2])
def test_every_special_mix_ends_as_it_should(name, codes, chips, channels):
    link = LinkParameters(
        latency=7, replay_depth=16, receive_depth=16, report_interval=4, status_interval=32,
        virtual_channels=channels, full_rate=False,
    )  # fmt: skip
    mix = SPECIAL_MIXES[name](link, chips)
    outcome = golden_outcome(mix.run)
    assert outcome.end > 0
    found = {None if error is None else EngineError(error[1]) for error in outcome.errors}
    assert found <= codes | {None}
    assert found & codes
    if None not in codes:
        begin = start_clock(link) if name != "dead_from_the_start" else 0
        # The error of the first chip, then silence on the links that it takes down.
        latest = begin + 2 * link.dead_link_clocks
        for error, done in zip(outcome.errors, outcome.completions, strict=True):
            assert done or error is not None, "a chip neither completed nor named an error"
            assert error is None or error[0] <= latest


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


def test_bound_counts_flits_of_the_busiest_link():
    parameters = CollectiveParameters(chips=4)
    for operation, flits in (
        (Operation.ALL_TO_ALL, 16),
        (Operation.ALL_GATHER, 63),
        (Operation.REDUCE_SCATTER, 16),
        (Operation.ALL_REDUCE, 32),
    ):
        item = collective(operation, 4001 - 1, 4)
        assert bound_clocks(item, parameters.link) == parameters.latency + flits
    item = collective(Operation.ALL_REDUCE, 4000, 4, wire=WireFormat.EXACT)
    assert bound_clocks(item, parameters.link) == parameters.latency + 63 + 16
    assert bound_clocks(collective(Operation.ALL_REDUCE, 0, 4), parameters.link) == 0


def test_outputs_are_what_the_operations_mean():
    rng = np.random.default_rng(SEED)
    values = [rng.integers(0, 256, 10, dtype=np.uint8) for _ in range(3)]
    item = collective(Operation.ALL_TO_ALL, 10, 3)
    first = golden_output(item, values)[0]
    assert np.array_equal(first, np.concatenate([value[:4] for value in values]))
    last = golden_output(item, values)[2]
    assert np.array_equal(last, np.concatenate([value[7:] for value in values]))
    item = collective(Operation.ALL_GATHER, 10, 3)
    assert all(np.array_equal(o, np.concatenate(values)) for o in golden_output(item, values))
    numbers = [np.arange(5, dtype=np.float16) + rank for rank in range(3)]
    raw = [number.view(np.uint8) for number in numbers]
    summed = sum(number.astype(np.float64) for number in numbers).astype(np.float16)
    scattered = golden_output(collective(Operation.REDUCE_SCATTER, 10, 3), raw)
    assert [len(o) for o in scattered] == [4, 4, 2]
    assert np.array_equal(np.concatenate(scattered).view(np.float16), summed)
    reduced = golden_output(collective(Operation.ALL_REDUCE, 10, 3), raw)
    assert all(np.array_equal(o.view(np.float16), summed) for o in reduced)


def test_direct_links_have_the_shortest_bound():
    for chips in (4, 8, 16):
        parameters = CollectiveParameters(chips=chips)
        for operation in Operation:
            for size in (64, 4096, 1 << 20):
                times = {t: bound_nanoseconds(t, operation, size, parameters) for t in Topology}
                assert times[Topology.DIRECT] < times[Topology.SWITCH]
                # Long messages of a ring that is cut through cost their bandwidth alone.
                assert times[Topology.DIRECT] <= times[Topology.RING]
                assert size > 4096 or times[Topology.DIRECT] < times[Topology.RING]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"replay_depth": 100}, "replay_depth must be a power of two (got 100)"),
        ({"receive_depth": 128}, "receive_depth must cover a round trip of 129 clocks"),
        ({"sequence_bits": 8}, "replay_depth must be at most half the sequence numbers, 128"),
        ({"lanes": 3}, "Extra inputs are not permitted"),
    ],
)
def test_link_parameters_are_checked(changes, text):
    values = {"latency": 60, "replay_depth": 256, "receive_depth": 256, **changes}
    with pytest.raises(ValidationError) as error:
        LinkParameters(**values)
    assert text in str(error.value)


def test_depths_from_both_sides():
    """One flit of depth too few is refused, the exact need is accepted."""
    need = {"replay_depth": 256, "receive_depth": 256, "report_interval": 96}
    assert LinkParameters(latency=75, **need).round_trip + 96 == 255
    with pytest.raises(ValidationError, match="at least 257 flits"):
        LinkParameters(latency=76, **need)


def test_presets():
    parameters = CollectiveParameters(chips=16)
    assert parameters.clock_gigahertz == pytest.approx(1000 / 15 / 68)
    assert parameters.latency == 59
    assert parameters.link.replay_depth == 256
    assert parameters.lane_gigabits_per_second == pytest.approx(66.667, abs=0.001)
    with pytest.raises(ValidationError, match="sequence numbers allow 2048"):
        CollectiveParameters(chips=2, latency_nanoseconds=70)
