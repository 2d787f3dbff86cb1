"""The golden model: figures that the block must reach, and laws of every run."""

import numpy as np
import pytest
from support.collective_clocks import clocks_of

from recspeed.models.collective.simulation import golden_outcome, golden_output
from recspeed.models.runs.collective import (
    collective,
    start_clock,
)
from recspeed.models.spec.collective import CollectiveParameters, EngineError, Operation
from recspeed.models.spec.link import LinkParameters
from recspeed.tb.collective.mixes import SPECIAL_MIXES, random_mix

SEED = 5


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
