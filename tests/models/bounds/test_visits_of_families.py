"""The JEDEC bound beyond HBM2 reads: every term, ranks, writes, both kinds of refresh, refusals."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from recspeed.models.bounds.visits import row_cycle, visit_bound
from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.dram import REQUESTS, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names
from recspeed.models.spec.register_map import Counter

SIZES = (32, 64, 96, 128, 192, 256)
PRESETS = {name: memory_preset(name) for name in memory_preset_names()}
REFRESHED = {
    "hbm2-2000": Fraction(350, 3900),
    "hbm3-6400": Fraction(560, 6240),
    "ddr4-3200-x8-1r": Fraction(560, 12480),
    "ddr4-3200-x16": Fraction(560, 12480),
    "gddr6-14000": Fraction(211, 3333),
}


def changed(name: str, organization: dict | None = None, **clocks: int) -> MemoryPreset:
    """A preset with other timings in clocks and, where given, another organization."""
    values = PRESETS[name].model_dump()
    values["organization"] |= organization or {}
    org = values["organization"]
    banks = org["ranks"] * org["stack_ids"] * org["bank_groups"] * org["banks_per_group"]
    values["capacity"]["pseudo_channel_mib"] = (org["rows"] * org["row_bytes"] * banks) >> 20
    for timing, value in clocks.items():
        values["timing"][timing] = {"clocks": value, "source": "made up for a test"}
    return MemoryPreset.model_validate(values)


@pytest.mark.parametrize(
    ("name", "clocks"),
    [
        # max(bursts * burst, tRRD_S, tFAW / 4), by hand from the published sets
        ("hbm2-2000", (4, 4, 6, 8, 12, 16)),
        ("hbm3-6400", (6, 6, 6, 8, 12, 16)),
        ("ddr4-3200-x8-1r", (8.5, 8.5, 8.5, 8.5, 12, 16)),
        ("ddr4-3200-x16", (12, 12, 12, 12, 12, 16)),
        ("gddr6-14000", (8, 8, 8, 8, 12, 16)),
    ],
)
def test_one_rank_by_hand(name, clocks):
    for size, bare in zip(SIZES, clocks, strict=True):
        assert visit_bound(PRESETS[name], size, refresh=False).clocks == Fraction(bare)
        bound = visit_bound(PRESETS[name], size)
        assert bound.clocks == Fraction(bare) / (1 - REFRESHED[name])
        assert bound.fraction_of_pin == pytest.approx(size / 16 / float(bound.clocks))


@pytest.mark.parametrize(
    ("name", "fractions"),
    [
        ("hbm2-2000", (0.455, 0.910, 0.910, 0.910, 0.910, 0.910)),
        ("hbm3-6400", (0.303, 0.607, 0.910, 0.910, 0.910, 0.910)),
        ("ddr4-3200-x8-1r", (0.225, 0.449, 0.674, 0.899, 0.955, 0.955)),
        ("ddr4-3200-x16", (0.159, 0.318, 0.478, 0.637, 0.955, 0.955)),
        ("ddr4-3200", (0.449, 0.899, 0.750, 1.0, 1.0, 1.0)),
        ("gddr6-14000", (0.234, 0.468, 0.703, 0.937, 0.937, 0.937)),
        # 8 clocks per 64 B and 20 per 256 B, as the paper's tables imply
        ("hbm2e-3000-paper", (0.333, 0.5, 0.6, 0.666, 0.75, 0.8)),
    ],
)
def test_fractions_of_the_pin_rate(name, fractions):
    found = [visit_bound(PRESETS[name], size).fraction_of_pin for size in SIZES]
    assert found == pytest.approx(fractions, abs=6e-4)


def test_two_ranks_halve_what_belongs_to_a_rank_and_share_the_buses():
    """34 / 4 / 2 = 4.25 clocks of tFAW, less what refresh takes; the data bus loses none."""
    one, two = PRESETS["ddr4-3200-x8-1r"], PRESETS["ddr4-3200"]
    part = 1 - Fraction(560, 12480)
    for size in SIZES:
        single = visit_bound(one, size)
        double = visit_bound(two, size)
        for term in ("tRRD_S", "tFAW", "banks", "tCCD_L", "tRRD_L"):
            assert double.terms[term] * 2 == single.terms[term]
            assert double.refreshed_terms[term] == double.terms[term] / part
        assert double.terms["data bus"] == single.terms["data bus"]
        assert double.refreshed_terms["data bus"] == double.terms["data bus"]
        assert single.refreshed_terms["data bus"] == single.terms["data bus"] / part
        bursts = -(-size // 64)
        assert double.terms["command bus"] == bursts + 1
        assert double.refreshed_terms["command bus"] == (bursts + 1) / (1 - Fraction(2, 12480))
    assert visit_bound(two, 64).limiters == ("tFAW",)
    assert visit_bound(two, 64).clocks == Fraction(17, 4) / part
    assert visit_bound(two, 96).limiters == ("data bus",)
    # Bursts of two ranks may follow each other by burst + tRTRS = 6, below a tCCD_S of 7.
    wide = changed("ddr4-3200", tCCD_S=7)
    assert visit_bound(wide, 128).terms["data bus"] == 12
    assert visit_bound(changed("ddr4-3200-x8-1r", tCCD_S=7), 128).terms["data bus"] == 14


@pytest.mark.parametrize(
    ("preset", "size", "limiter", "clocks"),
    [
        # a lone bank group column rate: 2 groups, tCCD_L 11 per burst
        (changed("ddr4-3200-x16", tCCD_L=11), 256, "tCCD_L", Fraction(4 * 11, 2)),
        (changed("ddr4-3200-x16", tRRD_L=60), 64, "tRRD_L", Fraction(60, 2)),
        (changed("hbm2-2000", tRRD_S=2, tFAW=4, tRRD_L=2), 32, "banks", Fraction(47, 16)),
        (changed("hbm2-2000", tRRD_S=2, tFAW=14, tRRD_L=3), 32, "tFAW", Fraction(14, 4)),
        (changed("gddr6-14000", tRRD_S=1, tFAW=4, tRRD_L=1, tRC=80), 32, "banks", Fraction(80, 16)),
        (changed("hbm2e-3000", tRC=214, tRAS=200, tRRD_S=2, tRRD_L=2, tFAW=4), 32, "banks", None),
        (PRESETS["hbm2e-3000-paper"], 64, "data bus", Fraction(8)),
        (PRESETS["hbm2e-3000-paper"], 256, "data bus", Fraction(20)),
    ],
)
def test_the_term_that_binds(preset, size, limiter, clocks):
    bound = visit_bound(preset, size, refresh=False)
    assert bound.limiter == limiter
    assert bound.clocks == (clocks if clocks is not None else Fraction(221, 32))


def test_the_command_bus_binds_where_bursts_are_short():
    """GDDR6 of two-clock bursts: one burst takes two commands, k bursts k + 1."""
    preset = changed("gddr6-14000", tRRD_S=1, tRRD_L=1, tFAW=4, tRAS=27, tRC=28, tRP=1, tWR=1)
    for bursts in range(1, 9):
        terms = visit_bound(preset, 32 * bursts, refresh=False).terms
        assert terms["command bus"] == bursts + 1
        assert terms["data bus"] == 2 * bursts
    assert "row bus" not in terms
    # tRC' of 32 clocks over 16 banks is as much.
    assert visit_bound(preset, 32, refresh=False).limiters == ("data bus", "banks", "command bus")


def test_the_row_bus_that_two_pseudo_channels_share():
    preset = changed("hbm2-2000", tRRD_S=3, tFAW=12)
    alone = visit_bound(preset, 32, refresh=False)
    assert (alone.clocks, alone.terms["row bus"]) == (3, 2)
    assert "command bus" not in alone.terms
    shared = visit_bound(preset, 32, refresh=False, pseudo_channels=2)
    assert (shared.clocks, shared.limiter) == (4, "row bus")
    # Of the published sets none loses to it with all-bank refresh: tRRD_S is 4 at least.
    for name, one in PRESETS.items():
        if one.organization.command_bus == "separate":
            for size in SIZES:
                both = visit_bound(one, size, pseudo_channels=2)
                assert both.clocks == visit_bound(one, size).clocks, name


def test_row_cycle_of_reads_and_writes_by_hand():
    preset = PRESETS["hbm2-2000"]
    # read: 14 + (k - 1) 4 + 5 + 14, write: 10 + (k - 1) 4 + 8 + 2 + 16 + 14; never below 47
    assert [row_cycle(preset, k, write=False) for k in (1, 4, 5, 8)] == [47, 47, 49, 61]
    assert [row_cycle(preset, k, write=True) for k in (1, 2, 8)] == [50, 54, 78]
    ddr4 = PRESETS["ddr4-3200-x16"]
    assert [row_cycle(ddr4, k, write=False) for k in (1, 4, 5)] == [74, 80, 88]
    assert [row_cycle(ddr4, k, write=True) for k in (1, 3)] == [88, 104]


def test_mixed_reads_and_writes_average_the_row_cycle():
    preset = PRESETS["ddr4-3200-x16"]
    for share in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)):
        bound = visit_bound(preset, 192, refresh=False, write_share=share)
        assert bound.terms["banks"] == ((1 - share) * 74 + share * 104) / 8
        assert bound.clocks == max(12, bound.terms["banks"])
    assert visit_bound(preset, 192, write_share=1).limiter == "banks"
    assert visit_bound(preset, 192, write_share=0.5).limiters == (
        "data bus",
        "tFAW",
        "tCCD_L",
    )
    for name, one in PRESETS.items():
        for size in SIZES:
            reads, half, writes = (
                visit_bound(one, size, write_share=share).clocks for share in (0, 0.5, 1)
            )
            assert reads <= half <= writes, (name, size)


@pytest.mark.parametrize("name", [n for n, one in PRESETS.items() if one.per_bank_refresh])
def test_per_bank_refresh_takes_row_slots_and_bank_time_but_no_data_clocks(name):
    preset = PRESETS[name]
    t = preset.clocks
    interval = t.tREFI // preset.banks
    for size in SIZES:
        bare = visit_bound(preset, size, refresh=False)
        bound = visit_bound(preset, size, per_bank=True)
        assert bound.terms == bare.terms == bare.refreshed_terms
        ratio = {
            "tRRD_S": 1 - Fraction(t.tRREFD, interval),
            "banks": 1 - Fraction(t.tRFCpb, t.tREFI),
            "row bus": 1 - Fraction(1, interval),
            "command bus": 1 - Fraction(1, interval),
        }
        assert bound.refreshed_terms == {
            term: value / ratio.get(term, 1) for term, value in bare.terms.items()
        }
        assert bound.clocks == max(bound.refreshed_terms.values())
        assert bare.clocks <= bound.clocks
    assert visit_bound(preset, 256, per_bank=True).fraction_of_pin == 1


def test_per_bank_refresh_of_hbm2_2000():
    found = [visit_bound(PRESETS["hbm2-2000"], size, per_bank=True) for size in SIZES]
    assert [round(bound.fraction_of_pin, 3) for bound in found] == [0.484, 0.967, 1, 1, 1, 1]
    assert found[0].clocks == 4 / (1 - Fraction(8, 243))
    assert found[1].limiters == ("tRRD_S",)


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        # tRREFD over tREFI / banks, by hand from the published sets
        ("hbm2-2000", Fraction(8, 3900 // 16)),
        ("hbm2e-2400", Fraction(10, 4680 // 32)),
        ("hbm2e-3000", Fraction(12, 5850 // 32)),
        ("gddr6-14000", Fraction(15, 3333 // 16)),
        ("gddr6-16000", Fraction(18, 3810 // 16)),
    ],
)
def test_where_row_slots_bind_per_bank_refresh_costs_its_share_of_them(name, lost):
    """On HBM2E at 32 and 64 B and on GDDR6 up to 128 B more than a twentieth, by the standard."""
    preset = PRESETS[name]
    for size in (32, 64, 96, 128):
        off = visit_bound(preset, size, refresh=False)
        bound = visit_bound(preset, size, per_bank=True)
        if off.terms["tRRD_S"] == off.clocks > off.terms["data bus"]:
            assert bound.limiter == "tRRD_S"
            assert off.clocks / bound.clocks == 1 - lost
    assert (lost > Fraction(1, 20)) is (name != "hbm2-2000")
    assert visit_bound(preset, 32, per_bank=True).limiter == "tRRD_S"


def test_where_the_window_binds_per_bank_refresh_hides_in_it():
    """HBM3: four ACTs in 24 clocks leave eight beyond their 16, which is tRREFD."""
    preset = PRESETS["hbm3-6400"]
    off, bound = (
        visit_bound(preset, 32, **how) for how in ({"refresh": False}, {"per_bank": True})
    )
    assert (off.limiter, bound.limiter) == ("tFAW", "tFAW")
    assert off.clocks == bound.clocks == 6


@pytest.mark.parametrize("name", [n for n, one in PRESETS.items() if one.per_bank_refresh])
def test_golden_never_beats_the_bound_of_per_bank_refresh(name):
    """In the order of the banks, which is nearest to it; owed refreshes may end the run early."""
    preset = PRESETS[name]
    t, visits = preset.clocks, 6000
    for bursts in (1, 2, 3, 4, 8):
        reads = np.zeros(visits, dtype=REQUESTS)
        reads["bank"] = np.arange(visits) % preset.banks
        reads["row"] = np.arange(visits) % preset.organization.rows
        reads["bursts"] = bursts
        settings = FrontEndSettings(per_bank=True, outstanding=256)
        run = DramRun(preset, reads, np.zeros(0, dtype=REQUESTS), settings)
        result = simulate_dram(run, record_beats=False)
        bound = visits * visit_bound(preset, bursts * preset.burst_bytes, per_bank=True).clocks
        owed = 4 * t.tRREFD
        assert result.cycles + owed >= bound, bursts
        least = visits * visit_bound(preset, bursts * preset.burst_bytes, refresh=False).clocks
        refreshes = result.counters[Counter.REFRESHES]
        assert refreshes >= result.cycles // preset.per_bank_interval - 4
        assert result.cycles >= least


def test_larger_vectors_never_take_fewer_clocks():
    for preset in PRESETS.values():
        clocks = [visit_bound(preset, size).clocks for size in range(1, 1025, 31)]
        assert all(shorter <= longer for shorter, longer in pairwise(clocks))


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("ddr4-3200", {"per_bank": True}, "ddr4-3200 has no per-bank refresh"),
        ("ddr4-3200", {"write_share": 1.5}, "a write share of 1.5; expected 0 to 1"),
        ("ddr4-3200", {"write_share": -0.1}, "a write share of -0.1; expected 0 to 1"),
        (
            "gddr6-14000",
            {"pseudo_channels": 2},
            "gddr6-14000: 2 pseudo channels on a row bus; expected 1",
        ),
        (
            "hbm2-2000",
            {"pseudo_channels": 3},
            "hbm2-2000: 3 pseudo channels on a row bus; expected 1 or 2",
        ),
    ],
)
def test_refused(name, arguments, text):
    with pytest.raises(ValueError, match=text) as caught:
        visit_bound(PRESETS[name], 64, **arguments)
    assert str(caught.value) == text


def test_refresh_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="tRFC of 12480 clocks leaves nothing of tREFI"):
        visit_bound(changed("ddr4-3200", tRFC=12480), 64)
