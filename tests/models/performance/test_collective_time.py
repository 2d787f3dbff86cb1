"""Collectives: volumes and topologies against brute force over links, latencies, refusals."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recspeed.models.performance.collective_time import collective_time, latency, stretch
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.interconnect import BandwidthCurve, Interconnect, Latencies
from recspeed.models.spec.toml import SpecificationError

EQUAL = Latencies(all_to_all=1, all_gather=1, reduce_scatter=1, all_reduce=1)


def network(topology: str, **more) -> Interconnect:
    return Interconnect(topology=topology, gb_per_s=100.0, link_latency_us=0.25, **more)  # type: ignore[arg-type]  # pydantic checks it


def busiest_ring_link(chips: int) -> float:
    """Units of V/n over the busiest directed ring link when every pair exchanges one unit.

    Shortest way round; where both ways are equal, half goes each way.
    """
    load: dict[tuple[int, int], float] = {}
    for source, target in itertools.permutations(range(chips), 2):
        ahead = (target - source) % chips
        ways = [+1] if 2 * ahead < chips else [-1] if 2 * ahead > chips else [+1, -1]
        for way in ways:
            at = source
            while at != target:
                step = (at + way) % chips
                load[at, way] = load.get((at, way), 0.0) + 1 / len(ways)
                at = step
    return max(load.values())


@pytest.mark.parametrize("chips", [2, 3, 4, 5, 8, 9, 16])
def test_ring_all_to_all_equals_routing_every_message(chips: int) -> None:
    volume = 1e6
    f = (chips - 1) / chips
    time = collective_time(network("ring"), Operation.ALL_TO_ALL, volume * f, chips)
    link = 100e9 / 2
    assert time.transfer == pytest.approx(busiest_ring_link(chips) * volume / chips / link)


def busiest_mesh_link(rows: int, columns: int) -> float:
    """Units of V/n over the busiest directed mesh link, columns first (XY routing)."""
    load: dict[tuple[tuple[int, int], tuple[int, int]], int] = {}
    places = list(itertools.product(range(rows), range(columns)))
    for (y, x), (ty, tx) in itertools.permutations(places, 2):
        at = (y, x)
        while at != (ty, tx):
            if at[1] != tx:
                step = (at[0], at[1] + (1 if tx > at[1] else -1))
            else:
                step = (at[0] + (1 if ty > at[0] else -1), at[1])
            load[at, step] = load.get((at, step), 0) + 1
            at = step
    return max(load.values())


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 4), (3, 3), (4, 4), (3, 5), (7, 12)])
def test_mesh_all_to_all_equals_routing_every_message(rows: int, columns: int) -> None:
    chips, volume = rows * columns, 1e6
    mesh = network("mesh", mesh_columns=columns)
    time = collective_time(mesh, Operation.ALL_TO_ALL, volume * (chips - 1) / chips, chips)
    link = 100e9 / 4
    ideal = volume * (chips - 1) / chips / 100e9
    expected = max(busiest_mesh_link(rows, columns) * volume / chips / link, ideal)
    assert time.transfer == pytest.approx(expected)


def test_ring_is_as_good_in_all_reduce_and_worse_in_all_to_all() -> None:
    ring, full = network("ring"), network("fully-connected")
    sent = 2 * 1e6 * 7 / 8
    assert collective_time(ring, Operation.ALL_REDUCE, sent, 8).transfer == pytest.approx(
        sent / 100e9
    )
    ratio = stretch(ring, Operation.ALL_TO_ALL, 8) / stretch(full, Operation.ALL_TO_ALL, 8)
    assert ratio == pytest.approx(16 / 7)


def test_a_corner_of_a_mesh_gathers_over_two_of_four_links() -> None:
    mesh = network("mesh", mesh_columns=4)
    for operation in (Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE):
        assert collective_time(mesh, operation, 1e6, 16).transfer == pytest.approx(1e6 / 50e9)


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ("fully-connected", [1, 1, 1, 2]),
        ("switched", [2, 2, 2, 4]),
        ("ring", [4, 7, 7, 14]),
        ("mesh", [4, 4, 4, 8]),
    ],
)
def test_latency_counts_hops(topology: str, expected: list[int]) -> None:
    wires = network(topology)
    found = [latency(wires, operation, 8) for operation in Operation]
    assert found == pytest.approx([0.25e-6 * hops for hops in expected])


def test_a_switch_adds_its_latency_once_for_each_crossing() -> None:
    wires = network("switched", switch_latency_us=0.3)
    assert latency(wires, Operation.ALL_TO_ALL, 8) == pytest.approx(2 * 0.25e-6 + 0.3e-6)
    assert latency(wires, Operation.ALL_REDUCE, 8) == pytest.approx(4 * 0.25e-6 + 2 * 0.3e-6)


def test_one_chip_exchanges_nothing() -> None:
    time = collective_time(network("fully-connected"), Operation.ALL_TO_ALL, 1e6, 1)
    assert (time.seconds, time.sent_bytes) == (0.0, 0.0)


@given(st.floats(1e3, 1e9), st.floats(1e3, 1e9))
def test_a_curve_lies_between_its_points_and_never_rewards_more_bytes(a: float, b: float) -> None:
    curve = BandwidthCurve(sent_bytes=(1e5, 1e6, 1e8), gb_per_s=(150, 140, 90))
    assert 90 <= curve.at(a) <= 150
    if a <= b:
        assert curve.at(a) >= curve.at(b)
    assert curve.at(1e6) == 140
    assert curve.at(1e7) == pytest.approx(115)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"topology": "ring", "latency_us": EQUAL}, "needs gb_per_s above zero"),
        ({"topology": "ring", "gb_per_s": 1.0}, "either latency_us per operation or link_latency"),
        (
            {"topology": "ring", "gb_per_s": 1.0, "latency_us": EQUAL, "link_latency_us": 1.0},
            "either latency_us per operation or link_latency",
        ),
        (
            {"topology": "switched", "gb_per_s": 1, "link_latency_us": 1, "links_per_chip": 0},
            "at least one link",
        ),
        ({"topology": "torus"}, "topology"),
    ],
)
def test_incomplete_interconnects_are_refused(values: dict, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Interconnect(**values)


@pytest.mark.parametrize(
    ("sent", "rate", "reason"),
    [((1, 2), (3,), "at least 2|one length"), ((2, 1), (3, 3), "rise"), ((1, 2), (0, 1), "zero")],
)
def test_bad_curves_are_refused(sent, rate, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        BandwidthCurve(sent_bytes=sent, gb_per_s=rate)


def test_impossible_numbers_of_chips_are_refused() -> None:
    with pytest.raises(SpecificationError, match="16 fully connected chips need 15 links per chip"):
        network("fully-connected", links_per_chip=7).check(16)
    with pytest.raises(SpecificationError, match="2 chips with zero links"):
        Interconnect(topology="none").check(2)
    with pytest.raises(SpecificationError, match="10 chips do not fill a mesh of 4 columns"):
        network("mesh", mesh_columns=4).check(10)
    network("fully-connected", links_per_chip=15).check(16)
