"""Integer placements: refused where a row, column, chip or byte has no place, and their loads."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recspeed.models.performance import presets
from recspeed.models.performance.chip_load import place, placement_loads
from recspeed.models.spec.placement import Memory, Placement, Sharding, Tier
from recspeed.models.spec.placement_from_strategy import placement_from_strategy
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.models.spec.toml import SpecificationError, load, parse
from recspeed.models.spec.workload import TableGroup, Workload

TEXT = """
chips = 2
memory.hbm = { clusters = 6, cluster_bytes = 6400 }
memory.ddr = { clusters = 1 }

[[tables]]
rows = 100
columns = 32
row_bytes = 64
kind = "row-wise"
shards = [
    { chip = 0, cluster = 5, rows = 60, columns = 32 },
    { chip = 1, first_row = 60, rows = 40, columns = 32 },
]

[[tables]]
rows = 1000
columns = 32
row_bytes = 64
kind = "column-wise"
tier = "ddr"
shards = [
    { chip = 1, first_column = 8, rows = 1000, columns = 24 },
    { chip = 0, rows = 1000, columns = 8 },
]

[[tables]]
rows = 10
columns = 32
row_bytes = 64
kind = "replicated"
shards = [
    { chip = 0, rows = 10, columns = 32 },
    { chip = 1, rows = 10, columns = 32 },
]
"""


def workload(tables: list[TableGroup]) -> Workload:
    return Workload(
        name="own", title="own", batch=64, dense_features=4, bottom_mlp=(8,), top_mlp=(4, 1),
        interaction="concat", tables=tuple(tables),
    )  # fmt: skip


def test_a_file_is_read_and_its_bytes_are_counted(tmp_path) -> None:
    path = tmp_path / "placement.toml"
    path.write_text(TEXT)
    placement = load(Placement, path)
    assert placement.chip_bytes() == [60 * 64 + 16_000 + 640, 40 * 64 + 48_000 + 640]
    assert placement.cluster_bytes(Tier.HBM) == {(0, 5): 3840, (1, 0): 3200, (0, 0): 640}
    again = json.loads(placement.model_dump_json())
    assert parse(Placement, again, "again") == placement


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("first_row = 60", "first_row = 61", "tables.0: row 60 is in no shard"),
        ("first_row = 60", "first_row = 59", "tables.0: row 59 is in two shards"),
        ("rows = 40", "rows = 41", "row 100 is outside the table; expected 0 to 99"),
        ("rows = 40", "rows = 39", "row 99 is in no shard"),
        ("first_column = 8", "first_column = 9", "tables.1: column 8 is in no shard"),
        ("first_column = 8", "first_column = 7", "column 7 is in two shards"),
        ("chip = 1, first_row", "chip = 2, first_row", "table 0: chip 2; expected 0 to 1"),
        ("cluster = 5", "cluster = 6", "table 0: hbm cluster 6; expected 0 to 5"),
        ("cluster_bytes = 6400", "cluster_bytes = 3839", "hbm cluster 5 of chip 0 holds 3840"),
        ("memory.ddr = { clusters = 1 }", "", "table 1 lies in ddr, which no chip has"),
        ("chip = 1, rows = 10,", "chip = 0, rows = 10,", "table 2 is replicated on chips [0, 0]"),
        (
            "chip = 1, rows = 10,",
            "chip = 1, rows = 9,",
            "shard 1 of a replicated table holds rows 0 to 8; expected 0 to 9",
        ),
        ('kind = "row-wise"', 'kind = "table-wise"', "a table-wise table has 1 shard (got 2)"),
        ('kind = "row-wise"', 'kind = "diagonal"', "tables.0.kind"),
        ("chips = 2", "chips = 2\nchannels = 3", "channels: Extra inputs are not permitted"),
    ],
)
def test_what_has_no_place_or_two_is_refused(tmp_path, old: str, new: str, reason: str) -> None:
    assert TEXT.count(old) == 1
    path = tmp_path / "placement.toml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(SpecificationError) as error:
        load(Placement, path)
    assert reason in str(error.value)


def test_a_chip_holds_exactly_its_bytes(tmp_path) -> None:
    path = tmp_path / "placement.toml"
    path.write_text(TEXT.replace("cluster_bytes = 6400", "cluster_bytes = 3840"))
    assert load(Placement, path).memory[Tier.HBM].cluster_bytes == 3840


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


@settings(max_examples=60, deadline=None)
@given(groups, st.integers(1, 9), st.sampled_from(["table-wise", "column-wise/2", "column-wise/4"]))
def test_whole_tables_and_columns_load_chips_as_the_performance_model_says(
    tables, chips: int, text: str
) -> None:
    own, strategy = workload(tables), parse_placement(text)
    placement = placement_from_strategy(own, strategy, chips)
    expected = place(own, strategy, chips).chips
    for found, wanted in zip(placement_loads(own, placement), expected, strict=True):
        for name in ("accesses", "bags"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name))
        for name in ("table_bytes", "index_bytes", "pooled_bytes"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name))


@settings(max_examples=60, deadline=None)
@given(groups, st.integers(1, 9), st.sampled_from(["row-wise", "fully-sharded"]))
def test_rows_load_chips_as_the_performance_model_says_within_a_row(
    tables, chips: int, text: str
) -> None:
    own, strategy = workload(tables), parse_placement(text)
    placement = placement_from_strategy(own, strategy, chips)
    expected = place(own, strategy, chips).chips[0]
    row = sum(group.count * group.row_bytes for group in tables)
    lookups = sum(group.count * own.batch * group.lookups / group.rows for group in tables)
    for found in placement_loads(own, placement):
        assert abs(found.table_bytes - expected.table_bytes) <= row
        assert abs(found.lookups - expected.lookups) <= lookups * (1 + 1e-9)
    assert sum(placement.chip_bytes()) == sum(g.count * g.rows * g.row_bytes for g in tables)


def test_the_papers_tables_on_sixteen_chips() -> None:
    small = presets.workload("rm2-small")
    strategy = parse_placement("unsharded")
    with pytest.raises(SpecificationError, match='tables of "fill" rows; a placement needs'):
        placement_from_strategy(small, strategy, 16)
    placement = placement_from_strategy(small, strategy, 16, fill_rows=1000)
    held = sorted(size // (1000 * 64) for size in placement.chip_bytes())
    assert held == [2] * 8 + [3] * 8
    mixed = parse_placement("row-wise:10,table-wise:20,column-wise/2:10")
    placement = placement_from_strategy(small, mixed, 16, fill_rows=1000)
    kinds = [table.kind for table in placement.tables]
    assert (
        kinds == [Sharding.ROW_WISE] * 10 + [Sharding.TABLE_WISE] * 20 + [Sharding.COLUMN_WISE] * 10
    )


def test_hot_tables_lie_in_hbm_until_it_is_full() -> None:
    tables = [TableGroup(count=3, rows=100, dimension=32, lookups=n) for n in (1, 30, 2)]
    memory = {Tier.HBM: Memory(clusters=2, cluster_bytes=6400), Tier.DDR: Memory()}
    placement = placement_from_strategy(
        workload(tables), parse_placement("table-wise"), 2, memory=memory
    )
    tiers = [table.tier for table in placement.tables]
    assert tiers == [Tier.DDR] * 3 + [Tier.HBM] * 3 + [Tier.HBM] + [Tier.DDR] * 2
    assert set(placement.cluster_bytes(Tier.HBM).values()) == {6400}
    assert len(placement.cluster_bytes(Tier.HBM)) == 4
    full = {Tier.HBM: Memory(cluster_bytes=6399)}
    with pytest.raises(SpecificationError, match="6400 bytes does not fit: hbm of 2 chips"):
        placement_from_strategy(workload(tables), parse_placement("table-wise"), 2, memory=full)


def test_a_placement_of_other_tables_is_refused() -> None:
    tables = [TableGroup(count=2, rows=100, dimension=32, lookups=1)]
    placement = placement_from_strategy(workload(tables), parse_placement("table-wise"), 2)
    with pytest.raises(SpecificationError, match="placement of 2 tables, but own has 1"):
        placement_loads(workload([tables[0].changed(count=1)]), placement)
    with pytest.raises(SpecificationError, match="table 0 is placed as 100 rows of 32 values"):
        placement_loads(workload([tables[0].changed(rows=99)]), placement)
