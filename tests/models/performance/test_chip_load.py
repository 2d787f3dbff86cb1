"""Placement: what every chip reads, holds and sends, conserved and counted by hand."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recspeed.models.performance import presets
from recspeed.models.performance.chip_load import partial_sum_bytes, place
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.spec.collective import WireFormat
from recspeed.models.spec.placement_strategy import STRATEGIES, parse_placement
from recspeed.models.spec.workload import TableGroup, Workload

SMALL = presets.workload("rm2-small")


def own(tables: list[TableGroup], batch: int = 64) -> Workload:
    return Workload(
        name="own",
        title="own",
        batch=batch,
        dense_features=4,
        bottom_mlp=(8,),
        top_mlp=(4, 1),
        interaction="concat",
        tables=tuple(tables),
    )


groups = st.lists(
    st.builds(
        TableGroup,
        count=st.integers(1, 5),
        rows=st.integers(1, 1000),
        dimension=st.sampled_from([8, 16, 64]),
        lookups=st.floats(0.5, 100),
        dtype=st.sampled_from(["fp16", "int8"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60)
@given(groups, st.integers(1, 9), st.sampled_from([*STRATEGIES, "column-wise/2"]))
def test_lookups_and_tables_are_conserved(tables, chips: int, strategy: str) -> None:
    workload = own(tables)
    if strategy == "column-wise":
        strategy = "column-wise/4"
    load = place(workload, parse_placement(strategy), chips)
    parts = int(strategy.partition("/")[2] or 1)
    lookups = sum(chip.lookups for chip in load.chips)
    assert len(load.chips) == chips
    assert lookups == pytest.approx(workload.batch * workload.lookups_per_sample * parts)
    held = sum(chip.table_bytes for chip in load.chips)
    assert held == pytest.approx(sum(g.count * g.rows * g.row_bytes for g in tables))
    indices = sum(chip.index_bytes for chip in load.chips)
    assert indices == pytest.approx(lookups * workload.index_bytes)
    assert 0 < load.balance <= 1 + 1e-12
    if strategy in ("unsharded", "fully-sharded", "row-wise"):
        assert load.balance == pytest.approx(1)


def test_forty_tables_on_sixteen_chips_are_two_or_three_each() -> None:
    load = place(SMALL, parse_placement("table-wise"), 16)
    tables = sorted(chip.lookups / (200 * 80) for chip in load.chips)
    assert tables == [2.0] * 8 + [3.0] * 8
    assert load.balance == pytest.approx(2.5 / 3)
    assert load.pooled_exchange == 3 * 200 * 64


def test_volumes_of_the_papers_two_extremes() -> None:
    whole = place(SMALL, parse_placement("unsharded"), 16)
    assert whole.pooled_exchange == 200 * 40 * 64 / 16
    assert whole.sharded_exchange == 0
    assert whole.index_bytes == 200 * 3200 * 4 / 16
    spread = place(SMALL, parse_placement("fully-sharded"), 16)
    assert spread.pooled_exchange == 0
    assert spread.sharded_exchange == 80 * whole.pooled_exchange
    assert spread.sharded_gradient == whole.pooled_exchange
    assert spread.unpooled


@pytest.mark.parametrize(("wire", "width"), [("fp16", 2), ("fp32", 4), ("exact", 6)])
def test_partial_sums_are_sent_by_every_chip_that_holds_a_row(wire: str, width: int) -> None:
    load = place(SMALL, parse_placement("fully-sharded", wire), 16)
    touched = 1 - (15 / 16) ** 80
    assert load.sharded_exchange == pytest.approx(200 * 40 * 32 * width * touched)
    assert not load.unpooled


@pytest.mark.parametrize(("bag", "width"), [(1, 6), (128, 6), (129, 7), (32768, 7), (32769, 8)])
def test_exact_sums_have_room_for_the_largest_bag(bag: int, width: int) -> None:
    # 41 bits for one value, log2 of the bag above it, in whole bytes.
    assert partial_sum_bytes(1, WireFormat.EXACT, bag) == width


def test_column_parts_shorten_rows_and_multiply_indices() -> None:
    load = place(SMALL, parse_placement("column-wise/4"), 16)
    assert set().union(*(chip.accesses for chip in load.chips)) == {16}
    assert sum(chip.index_bytes for chip in load.chips) == 4 * 200 * 3200 * 4


def test_mixtures_take_tables_in_order() -> None:
    tables = [
        TableGroup(count=2, rows=100, dimension=64, lookups=10),
        TableGroup(count=3, rows=100, dimension=8, lookups=1),
    ]
    load = place(own(tables), parse_placement("row-wise:2,table-wise:3"), 4)
    row_wise_lookups = 64 * 10 * 2 / 4
    lookups = sorted(chip.lookups for chip in load.chips)
    assert lookups == pytest.approx([row_wise_lookups] + [row_wise_lookups + 64] * 3)
    assert load.pooled_exchange == 64 * 16
    assert load.sharded_exchange == pytest.approx(64 * 2 * 64 * 4 * (1 - 0.75**10))


def test_a_full_chip_is_passed_over() -> None:
    tables = [
        TableGroup(count=1, rows=1000, dimension=8, lookups=1),
        TableGroup(count=1, rows=1000, dimension=8, lookups=2),
        TableGroup(count=1, rows=10, dimension=8, lookups=3),
    ]
    load = place(own(tables), parse_placement("table-wise"), 2, capacity=16_200)
    assert max(chip.table_bytes for chip in load.chips) <= 16_200


def test_more_chips_never_read_more_each() -> None:
    for strategy in ("table-wise", "unsharded", "row-wise"):
        busiest = [
            max(c.read_bytes for c in place(SMALL, parse_placement(strategy), n).chips)
            for n in (1, 2, 4, 8, 16, 32)
        ]
        assert all(b <= a for a, b in pairwise(busiest)), strategy


@pytest.mark.parametrize(
    ("text", "wire", "reason"),
    [
        ("diagonal", "unpooled", "placement 'diagonal' does not exist; there are unsharded"),
        ("row-wise:x", "unpooled", "number of tables must be a whole number"),
        ("row-wise:0", "unpooled", "number of tables must be a whole number"),
        ("row-wise/2", "unpooled", "only column-wise takes /parts"),
        ("row-wise,table-wise:3", "unpooled", "only the last rule"),
        ("unsharded", "fp8", "wire format 'fp8' does not exist"),
        ("", "unpooled", "does not exist"),
    ],
)
def test_placements_that_cannot_be_read(text: str, wire: str, reason: str) -> None:
    with pytest.raises(SpecificationError, match=reason):
        parse_placement(text, wire)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("row-wise:41", "places more tables than the 40"),
        ("row-wise:10,table-wise:20", "leaves 10 of the 40 tables"),
        ("column-wise/5", "dimension 32 is not a multiple of 5"),
    ],
)
def test_placements_that_do_not_match_the_tables(text: str, reason: str) -> None:
    with pytest.raises(SpecificationError, match=reason):
        place(SMALL, parse_placement(text), 16)
