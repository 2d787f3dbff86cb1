"""The JEDEC bound: published values, each term, and that the golden model never beats it."""

from fractions import Fraction

import numpy as np
import pytest
from support.cluster_runs import preset_with, uniform_run

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter

PRESETS = ["hbm2-2000", "hbm2e-3000"]


@pytest.mark.parametrize(
    ("size", "expected"), [(32, 0.455), (64, 0.910), (96, 0.910), (128, 0.910), (256, 0.910)]
)
def test_published_fractions_of_hbm2_2000(size, expected):
    assert round(visit_bound(memory_preset("hbm2-2000"), size).fraction_of_pin, 3) == expected


def test_terms_that_bind_in_hbm2_2000():
    preset = memory_preset("hbm2-2000")
    assert visit_bound(preset, 32).limiters == ("tRRD_S", "tFAW")
    assert visit_bound(preset, 64).limiters == ("data bus", "tRRD_S", "tFAW")
    assert visit_bound(preset, 96).limiters == ("data bus",)
    assert visit_bound(preset, 96).limiter == "data bus"


@pytest.mark.parametrize(
    ("timings", "size", "limiter", "clocks"),
    [
        ({"tRRD_S": 5, "tFAW": 16}, 32, "tRRD_S", Fraction(5)),
        ({"tRRD_S": 3, "tFAW": 19}, 32, "tFAW", Fraction(19, 4)),
        ({"tRC": 131, "tRAS": 120}, 64, "banks", Fraction(134, 16)),  # tRAS + tRP, above tRC
        ({"tRTP": 120}, 64, "banks", Fraction(14 + 4 + 120 + 14, 16)),
        ({"tCCD_S": 3}, 96, "data bus", Fraction(9)),
    ],
)
def test_each_term(timings, size, limiter, clocks):
    preset = preset_with("terms", **timings)
    bound = visit_bound(preset, size, refresh=False)
    assert (bound.limiter, bound.clocks) == (limiter, clocks)
    assert visit_bound(preset, size).clocks == clocks / (1 - Fraction(350, 3900))


def test_padding_does_not_count():
    preset = memory_preset("hbm2-2000")
    whole, padded = visit_bound(preset, 96), visit_bound(preset, 68)
    assert padded.clocks == whole.clocks
    assert padded.fraction_of_pin == pytest.approx(whole.fraction_of_pin * 68 / 96)
    assert whole.gb_per_s == pytest.approx(16 * whole.fraction_of_pin)


def test_refused():
    preset = memory_preset("hbm2-2000")
    with pytest.raises(ValueError, match="a vector of 0 B; expected 1 to 1024 B"):
        visit_bound(preset, 0)
    with pytest.raises(ValueError, match="a vector of 1025 B; expected 1 to 1024 B"):
        visit_bound(preset, 1025)
    with pytest.raises(ValueError, match="tRFC of 3900 clocks leaves nothing of tREFI"):
        visit_bound(preset_with("all-refresh", tRFC=3900), 64)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("rotating", [False, True], ids=["random", "rotating"])
def test_golden_never_beats_the_bound(name, rotating):
    """Rotating over the banks is the order in which visits are nearest to the bound."""
    preset = memory_preset(name)
    visits = 10_000
    indices = np.arange(visits) if rotating else None
    for size in range(32, 1025, 32):
        for group in (0, 8):
            run = uniform_run(
                preset, size, visits, outstanding=256, refresh_group=group, indices=indices
            )
            result = simulate_cluster(run, record_commands=False)
            bare = visits * visit_bound(preset, size, refresh=False).clocks
            refreshes = result.counters[Counter.REFRESHES]
            assert result.cycles >= bare + refreshes * preset.clocks.tRFC, (size, group)
            if group:
                # The run may end just before a group that would have caught up one interval.
                bound = visits * visit_bound(preset, size).clocks
                assert result.cycles + preset.clocks.tRFC >= bound, (size, group)
            elif rotating:
                assert bare / result.cycles > 0.99, f"{size} B: the bound is not tight"
