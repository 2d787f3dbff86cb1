"""Where vectors lie: the combinational block against `divmod`, in Amaranth's own simulator."""

import numpy as np
import pytest
from support.amaranth_bench import run_bench

from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.models.spec.table import Table, place_tables
from recspeed.rtl.pooling.vector_placement import AddressMap


def check_address_map(preset, table: Table, vectors) -> set[tuple[int, int, int]]:
    """The place of each vector against `divmod`; returns the places."""
    mapping = AddressMap(preset)
    places = set()

    async def bench(ctx):
        ctx.set(mapping.base_row, table.base_row)
        ctx.set(mapping.row_span, table.row_span)
        ctx.set(mapping.bursts, table.bursts(preset))
        for vector in vectors:
            ctx.set(mapping.vector, int(vector))
            number, bank = divmod(int(vector), preset.banks)
            place, row = divmod(number, table.row_span)
            expected = (bank, table.base_row + row, place * table.bursts(preset))
            found = (ctx.get(mapping.bank), ctx.get(mapping.row), ctx.get(mapping.column))
            assert found == expected, vector
            assert found[2] + table.bursts(preset) <= preset.bursts_per_row
            places.add(found)

    run_bench(mapping, bench, clocked=False)
    return places


@pytest.mark.parametrize("name", memory_preset_names())
def test_every_vector_of_small_tables(name):
    preset = memory_preset(name)
    shapes = [(1, 64), (17, 32), (1500, 32), (700, 96), (129, 1024), (1024, 512), (333, 1000)]
    taken = set()
    for table in place_tables(preset, shapes):
        places = check_address_map(preset, table, range(table.rows))
        assert len(places) == table.rows
        assert not places & taken
        taken |= places


@pytest.mark.parametrize("size", [32, 64, 160, 352, 1024])
@pytest.mark.parametrize("name", memory_preset_names())
def test_random_vectors_of_a_table_that_fills_the_channel(name, size):
    preset = memory_preset(name)
    per_row = preset.bursts_per_row // -(-size // preset.burst_bytes)
    rows = preset.banks * preset.organization.rows * per_row
    (table,) = place_tables(preset, [(rows, size)])
    rng = np.random.default_rng(size)
    vectors = [0, rows - 1, rows - preset.banks, *rng.integers(0, rows, 1500)]
    places = check_address_map(preset, table, vectors)
    last = (preset.banks - 1, preset.organization.rows - 1, (per_row - 1) * table.bursts(preset))
    assert last in places
    if size == 32:
        assert last[2] == preset.bursts_per_row - 1
