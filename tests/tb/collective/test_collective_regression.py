"""RTL against golden model, bit for bit and clock for clock, in whole systems under cocotb."""

import dataclasses

import numpy as np
import pytest

from recspeed.models.collective.simulation import golden_outcome, golden_output
from recspeed.models.runs.collective import CollectiveRun, collective, lay_out, start_clock
from recspeed.models.spec.collective import CollectiveParameters, Operation
from recspeed.tb.collective.compare import compare_data, compare_outcomes, judge
from recspeed.tb.collective.mixes import make_mix
from recspeed.tb.collective.simulation import simulate_collectives
from recspeed.tb.regression.batch import run_batch
from recspeed.tb.regression.case import random_cases, special_cases
from recspeed.tb.regression.collective_cases import short_build, tiny_build

RANDOM = 15
"""Random mixes on each of the two systems; the seed is in the name of what fails."""


def failures(cases):
    verdicts = run_batch(cases)
    assert len(verdicts) == len(cases)
    assert all(verdict.cycles > 0 for verdict in verdicts)
    return [f"{verdict.name}: {verdict.faults[:3]}" for verdict in verdicts if not verdict.passed]


def test_two_chips_with_tiny_buffers():
    build = tiny_build(2)
    assert failures(special_cases(build) + random_cases(build, RANDOM, 100)) == []


def test_three_chips_with_tiny_buffers():
    build = tiny_build(3)
    assert failures(special_cases(build) + random_cases(build, RANDOM, 200)) == []


def test_three_chips_with_tiny_buffers_and_two_virtual_channels():
    build = tiny_build(3, channels=2)
    assert failures(special_cases(build) + random_cases(build, RANDOM, 400)) == []


@pytest.fixture(scope="module")
def result():
    """A mix with errors and stalls on two chips, and what the RTL makes of it."""
    link = tiny_build(2).design.link
    ready = np.full(2, start_clock(link))
    items = [collective(op, 4000, 2, ready_from=ready, sequence=int(op)) for op in Operation]
    mix = make_mix(link, items, np.random.default_rng(9))
    [(outcome, images)] = simulate_collectives([(mix.run, mix.images)])
    assert judge(mix, outcome, images) == []
    return mix, outcome, images


def test_any_flipped_bit_of_any_output_is_found(result):
    mix, outcome, images = result
    outputs = mix.layout.extract(images)
    rng = np.random.default_rng(1)
    for number, ranks in enumerate(outputs):
        for rank, output in enumerate(ranks):
            for place in {0, len(output) - 1, *rng.integers(0, len(output), 5).tolist()}:
                output[place] ^= 1 << int(rng.integers(8))
                faults = compare_data(mix, outcome, outputs)
                assert len(faults) == 1
                assert f"collective {number} (" in faults[0]
                assert f"rank {rank}: output differs, first at byte {place}" in faults[0]
                output[:] = golden_output(mix.collectives[number], mix.inputs[number])[rank]


def test_any_shifted_clock_or_count_is_found(result):
    mix, outcome, _ = result
    golden = golden_outcome(mix.run)
    for name in ("starts", "completions"):
        changed = dataclasses.replace(outcome, **{name: [list(v) for v in getattr(outcome, name)]})
        getattr(changed, name)[1][2] += 1
        assert f"{name} of rank 1" in compare_outcomes(changed, golden)[0]
    changed = dataclasses.replace(outcome, peers=[[], outcome.peers[1]])
    assert "peers of rank 0" in compare_outcomes(changed, golden)[0]
    changed = dataclasses.replace(outcome, errors=[(7, 1, 0), None])
    assert "errors of rank 0: RTL (7, 1, 0), golden None" in compare_outcomes(changed, golden)
    changed = dataclasses.replace(outcome, counters=outcome.counters.copy())
    changed.counters[1, 0, 2] += 1
    assert "controls_sent of rank 1, link 0" in compare_outcomes(changed, golden)[0]
    changed = dataclasses.replace(outcome, end=outcome.end + 1)
    assert "last clock" in compare_outcomes(changed, golden)[0]


def test_beating_the_bound_is_found(result):
    mix, outcome, images = result
    completions = [list(clocks) for clocks in outcome.completions]
    for rank in range(2):
        completions[rank][0] = outcome.starts[rank][0] + 5
    faults = compare_data(
        mix, dataclasses.replace(outcome, completions=completions), mix.layout.extract(images)
    )
    assert len(faults) == 1
    assert "5 clocks beat the bound" in faults[0]


def test_a_run_that_does_not_end_is_found():
    link = tiny_build(2).design.link
    item = collective(Operation.ALL_TO_ALL, 4000, 2, ready_from=np.array([0, 1 << 40]))
    mix = make_mix(link, [item], np.random.default_rng(2))
    mix = dataclasses.replace(mix, run=dataclasses.replace(mix.run, limit=3000))
    [(outcome, images)] = simulate_collectives([(mix.run, mix.images)])
    assert outcome.end == -1
    assert "the run did not end within 3000 clocks" in judge(mix, outcome, images)


def test_a_write_to_the_wrong_place_is_found():
    """Two blocks in the same lines: the harness sees the second write."""
    link = tiny_build(2).design.link
    ready = np.full(2, start_clock(link))
    item = collective(Operation.ALL_TO_ALL, 256, 2, ready_from=ready)
    mix = make_mix(link, [item], np.random.default_rng(3))
    descriptors = [list(items) for items in mix.run.descriptors]
    own = descriptors[0][0].result
    descriptors[0][0] = dataclasses.replace(descriptors[0][0], destination=(own, own))
    run = dataclasses.replace(mix.run, descriptors=descriptors)
    [(outcome, _)] = simulate_collectives([(run, mix.images)])
    assert f"chip 0 writes line {own} a second time" in outcome.violations[0]


@pytest.mark.regression
def test_sixteen_chips_with_16_kilobytes_per_peer():
    """All four operations at the preset; three minutes of building. `make test` has seven chips."""
    parameters = CollectiveParameters(chips=16)
    ready = np.full(16, start_clock(parameters.link))
    mixes = []
    for operation in Operation:
        size = 16384 * (1 if operation == Operation.ALL_GATHER else 16)
        item = collective(operation, size, 16, ready_from=ready, sequence=3)
        mixes.append(make_mix(parameters.link, [item], np.random.default_rng(4)))
    results = simulate_collectives([(mix.run, mix.images) for mix in mixes])
    for mix, (outcome, images) in zip(mixes, results, strict=True):
        assert judge(mix, outcome, images) == []


def test_seven_chips_at_full_rate():
    build = short_build(7)
    assert failures(random_cases(build, 4, 300)) == []


def test_layout_keeps_blocks_apart():
    items = [collective(op, 1000, 3) for op in Operation]
    layout = lay_out(items)
    for rank in range(3):
        lines = []
        for blocks in (*layout.inputs, *layout.outputs):
            for line, length in blocks[rank]:
                lines += range(line, line + -(-length // 64))
        assert sorted(lines) == list(range(layout.lines[rank]))
    assert CollectiveRun(CollectiveParameters(chips=3).link, layout.descriptors).chips == 3
