"""Energy per query: by hand for one case, ordered ranges, all parts counted."""

import pytest

from recspeed.models.performance import presets
from recspeed.models.performance.beyond import energy_rows
from recspeed.models.performance.energy import (
    ACTIVATE_NJ,
    COMPUTE_PJ_PER_MAC,
    LINK_PJ_PER_BIT,
    MEMORY_PJ_PER_BIT,
    energy_per_query,
)
from recspeed.models.performance.model import evaluate
from recspeed.models.spec.placement_strategy import parse_placement


def spent(system: str, workload: str = "rm2-small", placement: str = "unsharded", **more):
    target, model = presets.system(system), presets.workload(workload)
    result = evaluate(model, target, parse_placement(placement), **more)
    return energy_per_query(result, model, target)


def test_recspeed_small_unsharded_by_hand() -> None:
    energy = spent("recspeed-16")
    lookups = 200 * 3200
    bits = lookups * 64 * 8
    memory = bits * MEMORY_PJ_PER_BIT["hbm"].typical * 1e-12
    memory += lookups * ACTIVATE_NJ["hbm"].typical * 1e-9
    assert energy.memory[1] == pytest.approx(memory)
    sent = (200 * 3200 * 4 + 200 * 40 * 64) * 15 / 16
    assert energy.network[1] == pytest.approx(sent * 8 * LINK_PJ_PER_BIT["board"].typical * 1e-12)
    macs = 200 * 566_016
    assert energy.compute[1] == pytest.approx(macs * COMPUTE_PJ_PER_MAC.typical * 1e-12)
    assert energy.total[1] == pytest.approx(memory + energy.network[1] + energy.compute[1])


def test_short_rows_pay_for_whole_bursts() -> None:
    system, base = presets.system("xeon-ddr4"), presets.workload("rm2-small")
    table = base.tables[0].changed(dimension=16)
    half = base.changed(tables=(table,), bottom_mlp=(128, 32, 16))
    where = parse_placement("unsharded")
    short = energy_per_query(evaluate(half, system, where), half, system)
    assert short.memory == pytest.approx(spent("xeon-ddr4").memory)


def test_training_counts_the_update_and_three_passes() -> None:
    one, all_of_it = spent("recspeed-16"), spent("recspeed-16", training=True)
    assert all_of_it.memory[1] == pytest.approx(2 * one.memory[1])
    assert all_of_it.compute[1] == pytest.approx(3 * one.compute[1])
    assert all_of_it.network[1] > one.network[1]


def test_sharding_costs_network_energy_and_a_switch_costs_more() -> None:
    whole, sharded = spent("recspeed-16"), spent("recspeed-16", placement="fully-sharded")
    assert sharded.memory == pytest.approx(whole.memory)
    assert sharded.network[1] > 10 * whole.network[1]
    assert spent("dgx-2").network[1] > whole.network[1]


def test_uneven_placements_read_as_much() -> None:
    assert spent("recspeed-16", placement="table-wise").memory == pytest.approx(
        spent("recspeed-16").memory
    )


def test_ranges_are_ordered_and_sourced() -> None:
    for table in (MEMORY_PJ_PER_BIT, ACTIVATE_NJ, LINK_PJ_PER_BIT, {"": COMPUTE_PJ_PER_MAC}):
        for one in table.values():
            assert 0 < one.low <= one.typical <= one.high
            assert len(one.source) > 10
    for row in energy_rows():
        low, typical, high = row.energy.total
        assert 0 < low < typical < high
        assert row.watts[1] == pytest.approx(typical * row.qps)


def test_every_kind_of_memory_has_a_figure() -> None:
    for name in presets.names("systems"):
        assert spent(name).total[1] > 0
