"""Tables, engine sizes and run settings: limits, and what is said when they are passed."""

import numpy as np
import pytest
from pydantic import ValidationError

from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings, slot_layout
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import (
    COUNTER_BASE,
    IDLE_CAUSES,
    TABLE_BASE,
    TABLE_STRIDE,
    Counter,
    Register,
    TableRegister,
)
from recspeed.models.spec.table import Policy, Table, place_tables
from recspeed.models.spec.toml import SpecificationError, parse

PRESET = memory_preset("hbm2-2000")


@pytest.mark.parametrize("size", [0, 2, 3, 6, 1026, 1028, -4])
def test_a_size_that_fits_no_burst(size):
    with pytest.raises(SpecificationError) as caught:
        place_tables(PRESET, [(10, 64), (10, size)])
    assert str(caught.value) == (
        f"table 1: an embedding of {size} B fits no burst: expected a multiple of 4 B "
        "from 4 to 1024 B"
    )


@pytest.mark.parametrize("rows", [0, -1])
def test_a_table_without_rows(rows):
    with pytest.raises(SpecificationError) as caught:
        place_tables(PRESET, [(rows, 64)])
    assert str(caught.value) == f"table 0: {rows} rows; expected at least 1"


def test_a_table_that_just_fits_and_one_row_more():
    rows = 16 * 16384 * 32
    (table,) = place_tables(PRESET, [(rows, 32)])
    assert (table.base_row, table.row_span) == (0, 16384)
    with pytest.raises(SpecificationError) as caught:
        place_tables(PRESET, [(rows + 1, 32)])
    assert str(caught.value) == (
        f"table 0: {rows + 1} rows of 32 B do not fit hbm2-2000: they need DRAM rows 0 to 16384 "
        "of each bank, and there are 16384"
    )


def test_tables_lie_one_behind_another():
    first, second, third = place_tables(
        PRESET, [(16 * 32 + 1, 32), (5, 1000), (16 * 10, 96)], Policy.DROP
    )
    assert (first.base_row, first.row_span) == (0, 2)
    assert (second.base_row, second.row_span) == (2, 1)
    # Ten vectors of 3 bursts in a row of 32 bursts: the last two bursts stay empty.
    assert (third.base_row, third.row_span) == (3, 1)
    assert {table.policy for table in (first, second, third)} == {Policy.DROP}
    with pytest.raises(
        SpecificationError, match=r"^table 1: 1 rows of 32 B do not fit hbm2-2000: "
    ):
        place_tables(PRESET, [(16 * 16384, 1024), (1, 32)])


@pytest.mark.parametrize(
    ("size", "elements", "beats", "bursts"),
    [
        (4, 2, 1, 1),
        (16, 8, 1, 1),
        (20, 10, 2, 1),
        (32, 16, 2, 1),
        (36, 18, 3, 2),
        (1024, 512, 64, 32),
    ],
)
def test_derived_sizes_of_a_table(size, elements, beats, bursts):
    (table,) = place_tables(PRESET, [(1, size)])
    assert (table.elements, table.beats, table.bursts(PRESET)) == (elements, beats, bursts)


@pytest.mark.parametrize(
    ("model", "values", "message"),
    [
        (ClusterParameters, {"queue_depth": 12}, "queue_depth must be a power of two (got 12)"),
        (ClusterParameters, {"bag_slots": 3}, "bag_slots must be a power of two (got 3)"),
        (
            ClusterParameters,
            {"accumulator_words": 96},
            "accumulator_words must be a power of two (got 96)",
        ),
        (
            ClusterParameters,
            {"queue_depth": 1},
            "queue_depth: Input should be greater than or equal to 2 (got 1)",
        ),
        (ClusterParameters, {"lanes": 16}, "lanes: Input should be 8 (got 16)"),
        (
            ClusterParameters,
            {"lans": 8},
            "lans: Extra inputs are not permitted (got 8)",
        ),
        (
            ClusterSettings,
            {"outstanding": 0},
            "outstanding: Input should be greater than or equal to 1 (got 0)",
        ),
        (
            ClusterSettings,
            {"outstanding": 257},
            "outstanding: Input should be less than or equal to 256 (got 257)",
        ),
        (
            ClusterSettings,
            {"refresh_group": 9},
            "refresh_group: Input should be less than or equal to 8 (got 9)",
        ),
        (
            ClusterSettings,
            {"output": "fp8"},
            "output: Input should be 'fp16' or 'fp32' (got 'fp8')",
        ),
        (ClusterSettings, {"seed": 1}, "seed: Extra inputs are not permitted (got 1)"),
        (
            Table,
            {"rows": 1, "bytes": 6, "base_row": 0, "row_span": 1},
            "an embedding of 6 B is not a multiple of 4 B",
        ),
        (
            Table,
            {"rows": 1, "bytes": 8, "base_row": 0, "row_span": 1, "policy": 3},
            "policy: Input should be 0, 1 or 2 (got 3)",
        ),
    ],
)
def test_refused_values(model, values, message):
    with pytest.raises(SpecificationError) as caught:
        parse(model, values, "here")
    assert str(caught.value) == f"here: {message}"


@pytest.mark.parametrize("model", [ClusterParameters(), ClusterSettings()])
def test_specifications_are_frozen(model):
    name = next(iter(type(model).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(model, name, 8)


def test_slots_for_a_set_of_tables():
    """Accumulator words are shared out by the largest vector, rounded up to a power of two."""
    sizes = ClusterParameters()
    assert slot_layout(sizes, PRESET, place_tables(PRESET, [(1, 32)])) == (128, 1)
    assert slot_layout(sizes, PRESET, place_tables(PRESET, [(1, 32), (1, 96)])) == (64, 3)
    assert slot_layout(sizes, PRESET, place_tables(PRESET, [(1, 1024)])) == (8, 6)
    small = ClusterParameters(accumulator_words=64, bag_slots=4)
    assert slot_layout(small, PRESET, place_tables(PRESET, [(1, 1024)])) == (1, 6)
    assert slot_layout(small, PRESET, place_tables(PRESET, [(1, 4)])) == (4, 1)


def test_register_map_does_not_overlap():
    last_table = ClusterParameters.model_fields["tables"].default - 1
    tables = [
        TABLE_BASE + TABLE_STRIDE * table + register
        for table in range(last_table + 1)
        for register in TableRegister
    ]
    addresses = [*Register, *tables, *(COUNTER_BASE + counter for counter in Counter)]
    assert len(set(map(int, addresses))) == len(addresses)
    assert max(addresses) < 1 << 12
    assert len(IDLE_CAUSES) == 9


def test_a_run_whose_parts_disagree():
    tables = place_tables(PRESET, [(10, 64)])
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match=r"^bag_tables and bag_lengths differ in length$"):
        ClusterRun(PRESET, tables, one, two, two)
    with pytest.raises(ValueError, match=r"^bag_lengths do not sum to the number of indices$"):
        ClusterRun(PRESET, tables, one, one, two)
