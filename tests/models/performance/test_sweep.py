"""Sweeps: axes, grids, chunks, refusals."""

import pytest

from recspeed.models.performance import presets
from recspeed.models.performance.collective_time import collective_time, latency
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.sweep import (
    CHUNK,
    COLUMNS,
    PARAMETERS,
    Axis,
    Sweep,
    evaluate_chunk,
    parse_axis,
)
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.placement_strategy import parse_placement

SMALL = presets.workload("rm2-small")
EIGHT = presets.system("recspeed-8")


def sweep(*axes: str, **more) -> Sweep:
    return Sweep(
        SMALL, EIGHT, parse_placement("unsharded"), tuple(parse_axis(text) for text in axes), **more
    )


def test_axes() -> None:
    assert parse_axis("latency=0.5:10us").values[:2] == pytest.approx((0.5, 0.5 + 9.5 / 24))
    assert len(parse_axis("latency=0.5:10us").values) == 25
    assert parse_axis("bandwidth=100:1000:10").values == tuple(range(100, 1001, 100))
    assert parse_axis("bandwidth=100:1000GB/s:2").values == (100, 1000)
    assert parse_axis("chips=2:5").values == (2, 3, 4, 5)
    assert parse_axis("latency=1us,2us,5").values == (1, 2, 5)
    assert parse_axis("latency=1e-1:1").values[0] == 0.1
    assert parse_axis("latency=0.5:10us").label == "latency (us)"
    assert parse_axis("chips=2:5").label == "chips"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("latency", "expected NAME=START:STOP"),
        ("latency=", "expected NAME=START:STOP"),
        ("colour=1:2", "no parameter 'colour'; there are latency"),
        ("latency=10:0.5us", "START must be below STOP"),
        ("latency=1:2us:1", "POINTS 2 or more"),
        ("latency=1:2GB/s", "expected latency=START:STOP"),
        ("latency=1:2ms", "expected latency=START:STOP"),
        ("latency=one,2", "'one' is not a number"),
        ("latency=1-1:2", "'1-1' is not a number"),
        ("bandwidth=0:10", "must be above zero"),
        ("latency=-1:10", "must be above zero"),
        ("latency=nan,1", "must be finite"),
        ("bandwidth=1,inf", "must be finite"),
    ],
)
def test_axes_that_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(SpecificationError, match=reason):
        parse_axis(text)


def test_every_point_equals_a_single_evaluation() -> None:
    points = sweep("latency=0.5:10us:7", "bandwidth=100:1000:5", training=True)
    rows = evaluate_chunk(points, 0)
    assert [tuple(row[:2]) for row in rows] == list(points.points(0))
    for microseconds, bandwidth, qps, *_ in rows:
        workload, system = SMALL, EIGHT
        for name, value in (("latency", microseconds), ("bandwidth", bandwidth)):
            workload, system = PARAMETERS[name].apply(workload, system, float(value))
        expected = evaluate(workload, system, parse_placement("unsharded"), training=True)
        assert qps == expected.qps
        assert system.interconnect.gb_per_s == bandwidth


def test_chunks_divide_the_grid() -> None:
    points = sweep("latency=0.5:10us:30", "bandwidth=100:1000:30")
    assert (points.size, points.chunks) == (900, 2)
    assert [len(evaluate_chunk(points, chunk)) for chunk in range(2)] == [CHUNK, 900 - CHUNK]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_changes_the_result(name: str) -> None:
    values = {"dimension": (32, 64), "chips": (4, 8), "latency": (1, 2)}.get(name, (8, 90))
    points = Sweep(SMALL, EIGHT, parse_placement("fully-sharded"), (Axis(name, values),))
    first, second = evaluate_chunk(points, 0)
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert len(first) == 1 + len(COLUMNS)


def test_impossible_points_are_named() -> None:
    points = Sweep(
        presets.workload("mlperf-dlrm"),
        presets.system("dgx-2"),
        parse_placement("unsharded"),
        (parse_axis("chips=1,16"),),
    )
    with pytest.raises(SpecificationError, match="at chips=1: mlperf-dlrm does not fit"):
        evaluate_chunk(points, 0)


def test_sweeps_without_sense_are_refused() -> None:
    alone = Sweep(
        SMALL,
        presets.system("xeon-ddr4"),
        parse_placement("unsharded"),
        (parse_axis("latency=1:2us"),),
    )
    with pytest.raises(SpecificationError, match="xeon-ddr4 has no interconnect"):
        evaluate_chunk(alone, 0)
    with pytest.raises(SpecificationError, match="lookups"):
        evaluate_chunk(sweep("lookups=1,1e300"), 0)
    with pytest.raises(SpecificationError, match="different axes"):
        sweep().check()
    with pytest.raises(SpecificationError, match="different axes, got latency, latency"):
        sweep("latency=1:2us", "latency=2:3us").check()
    with pytest.raises(SpecificationError, match="is above 2,000,000"):
        sweep("latency=1:2us:2000", "bandwidth=1:2:2000").check()


def test_a_swept_bandwidth_replaces_a_measured_curve() -> None:
    _, changed = PARAMETERS["bandwidth"].apply(SMALL, presets.system("dgx-2"), 500.0)
    assert collective_time(
        changed.interconnect, Operation.ALL_TO_ALL, 28.8e6, 16
    ).transfer == pytest.approx(28.8e6 / 500e9)


def test_derived_latency_is_swept_per_link() -> None:
    hls = presets.system("hls-1")
    _, changed = PARAMETERS["latency"].apply(SMALL, hls, 3.0)
    assert changed.interconnect.link_latency_us == 3.0
    assert latency(changed.interconnect, Operation.ALL_TO_ALL, 8) == pytest.approx(6.5e-6)
