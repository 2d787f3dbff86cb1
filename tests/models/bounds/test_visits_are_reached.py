"""The bound against schedules that use every clock the rules permit: never beaten, and near."""

import pytest
from support.legal_schedule import rotating_visits

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.tb.checkers.jedec import check

NAMES = [name for name in memory_preset_names() if not name.endswith("-paper")]


@pytest.mark.parametrize("write", [False, True], ids=["reads", "writes"])
@pytest.mark.parametrize("name", NAMES)
def test_rotating_visits_reach_the_bound_and_do_not_beat_it(name, write):
    preset = memory_preset(name)
    visits = 8 * preset.banks
    for bursts in (1, 2, 3, 4, 6, 8):
        commands, clocks = rotating_visits(preset, bursts, visits, write=write)
        report = check(preset, commands, refresh=False)
        assert report.violations == [], bursts
        size = bursts * preset.burst_bytes
        bound = visit_bound(preset, size, refresh=False, write_share=int(write))
        assert clocks >= float(bound.clocks) - 1e-9, (bursts, bound.limiter)
        # What is left: switching ranks, and rounding of tFAW and of row cycles over the banks.
        assert clocks <= 1.07 * float(bound.clocks), (bursts, bound.limiter)
