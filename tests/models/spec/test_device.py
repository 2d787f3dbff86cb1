"""The memories of the performance model are the presets, by name or at another data rate."""

from fractions import Fraction

import pytest

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.performance import figures
from recspeed.models.performance.access import (
    CALIBRATED,
    access_time,
    burst_bytes,
    jedec_access_time,
    pin_gb_per_s,
)
from recspeed.models.spec.device import (
    DERIVED,
    at_data_rate,
    device,
    device_names,
)
from recspeed.models.spec.memory import Timings, memory_preset, memory_preset_names
from recspeed.scripts.measurements.memory_systems import paper_systems


@pytest.mark.parametrize("name", memory_preset_names())
def test_the_name_of_a_preset_is_that_preset_and_its_bound(name: str) -> None:
    preset = memory_preset(name)
    assert device(name).preset == device(f"{name}-golden").preset == preset
    assert device(name).split == 1
    assert (pin_gb_per_s(name), burst_bytes(name)) == (preset.pin_gb_per_s, preset.burst_bytes)
    for size in (32, 64, 100, 256, preset.organization.row_bytes):
        nanoseconds = float(visit_bound(preset, size).clocks) / preset.clock_ghz
        assert jedec_access_time(name, size) == pytest.approx(nanoseconds * 1e-9, rel=1e-12)
        if name not in CALIBRATED:
            assert access_time(name, size) == jedec_access_time(name, size)


def test_only_what_has_no_preset_is_derived() -> None:
    assert not set(DERIVED) & set(memory_preset_names())
    assert set(CALIBRATED) <= set(memory_preset_names())
    assert device_names() == sorted([*memory_preset_names(), *DERIVED])


def test_a_file_of_the_users_own_is_a_device(tmp_path) -> None:
    preset = memory_preset("gddr6-16000")
    text = (
        'name = "own"\nfamily = "gddr6"\ndescription = "own"\n'
        "[organization]\ndata_rate_mtps = 16000\nbus_bits = 16\nburst_length = 16\n"
        'command_bus = "shared"\nactivate_clocks = 1\n'
        "bank_groups = 4\nbanks_per_group = 4\nrows = 16384\n"
        'row_bytes = 2048\npseudo_channels_per_stack = 2\nsource = "made up"\n'
        '[capacity]\npseudo_channel_mib = 512\nsource = "made up"\n[timing]\n'
    )
    for key in Timings.model_fields:
        if clocks := getattr(preset.clocks, key):
            text += f'{key} = {{ clocks = {clocks}, source = "made up" }}\n'
    path = tmp_path / "own.toml"
    path.write_text(text)
    for suffix in ("", "-golden"):
        own, shipped = f"{path}{suffix}", f"gddr6-16000{suffix}"
        assert access_time(own, 64) == pytest.approx(access_time(shipped, 64))


def test_ddr4_2400_by_hand() -> None:
    # From 1600 to 1200 MHz: three quarters of the clocks, rounded up; tCCD and tRTRS as they are.
    expected = {
        "tCL": 17, "tCWL": 12, "tRCD": 17, "tRCD_WR": 17, "tRP": 17, "tRAS": 39, "tRC": 56,
        "tRTP": 9, "tWR": 18, "tWTR_S": 3, "tWTR_L": 9, "tCCD_S": 4, "tCCD_L": 8, "tCCD_R": 0,
        "tRTRS": 2, "tRRD_S": 3, "tRRD_L": 6, "tFAW": 26, "tREFI": 9360, "tRFC": 420, "tRFCpb": 0,
        "tRREFD": 0, "visit_gap": 0,
    }  # fmt: skip
    preset = device("ddr4-2400").preset
    assert preset.clocks.model_dump() == expected
    assert (preset.name, preset.clock_mhz) == ("ddr4-2400", 1200)
    assert preset.organization.ranks == 2
    assert device("ddr4-2400-32bit").preset.clocks.model_dump() == expected | {"tRTRS": 0}
    # Two ranks: four ACTs in half of tFAW, or one burst of 4 clocks, which refresh does not slow.
    assert access_time("ddr4-2400", 64) == pytest.approx(4 / 1.2e9)
    assert access_time("ddr4-2400", 128) == pytest.approx(8 / 1.2e9)


def test_a_channel_of_32_bits_by_hand() -> None:
    name, refresh = "ddr4-2400-32bit", 1 - 420 / 9360
    assert (pin_gb_per_s(name), burst_bytes(name)) == (pytest.approx(9.6), 32)
    # A burst moves 32 B: one ACT per tFAW / 4 up to there, then 4 clocks per burst.
    assert access_time(name, 32) == pytest.approx(26 / 4 / refresh / 1.2e9)
    assert access_time(name, 64) == pytest.approx(8 / refresh / 1.2e9)
    assert access_time(name, 65) == pytest.approx(12 / refresh / 1.2e9)
    assert access_time(name, 256) == pytest.approx(32 / refresh / 1.2e9)
    # A row of four chips holds 4 KB.
    assert access_time(name, 4097) == pytest.approx((512 + 6.5) / refresh / 1.2e9)


def test_nanoseconds_of_a_preset_hold_at_another_rate() -> None:
    base, derived = memory_preset("hbm2-2300"), device("hbm2-2430").preset
    assert derived.timing == base.timing
    assert derived.organization.data_rate_mtps == 2430
    kept = derived.organization.model_copy(update={"data_rate_mtps": 2300})
    assert kept == base.organization
    assert derived.clocks.tRC == -(-47 * 1215 // 1000)
    assert pin_gb_per_s("hbm2-2430") == pytest.approx(19.44)


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("ddr4-3200", 1600),
        ("ddr4-3200", 1866),
        ("ddr4-3200-x16", 2666),
        ("ddr4-3200-x8-1r", 2933),
        ("gddr6-14000", 12000),
        ("gddr6-14000", 16000),
        ("hbm2-2000", 1600),
        ("hbm2-2000", 2400),
        ("hbm2e-3000", 3600),
        ("hbm3-6400", 5600),
    ],
)
def test_another_data_rate_rounds_nanoseconds_up_by_less_than_a_clock(name: str, rate: int) -> None:
    base = memory_preset(name)
    changed = at_data_rate(base, "other", rate)
    assert changed.clock_mhz / base.clock_mhz == Fraction(rate, base.organization.data_rate_mtps)
    for key in Timings.model_fields:
        clocks, before = getattr(changed.clocks, key), getattr(base.timing, key)
        if before is None:
            assert clocks == 0
        elif key in ("tCCD_S", "tCCD_L", "tCCD_R", "tRTRS"):
            assert clocks == getattr(base.clocks, key)
        else:
            exact = before.unrounded(base.clock_mhz) * changed.clock_mhz / base.clock_mhz
            assert exact <= clocks < exact + 1, key
    assert at_data_rate(base, name, base.organization.data_rate_mtps).clocks == base.clocks


def test_gddr6_16000_is_the_14000_set_at_its_rate() -> None:
    derived = at_data_rate(memory_preset("gddr6-14000"), "derived", 16000)
    assert derived.clocks == memory_preset("gddr6-16000").clocks


def test_calibrated_presets_hold_their_rates_in_whole_clocks() -> None:
    assert pin_gb_per_s("hbm2e-3000-paper") == pin_gb_per_s("hbm2e-3000") == 24
    assert pin_gb_per_s("hbm2-2300-paper") == pytest.approx(18.4)
    for name, points in CALIBRATED.items():
        assert memory_preset(name).calibrated
        for size, nanoseconds in points:
            assert access_time(name, size) == pytest.approx(nanoseconds * 1e-9)
            assert jedec_access_time(name, size) == pytest.approx(nanoseconds * 1e-9, rel=0.06)


def test_the_systems_of_figure_6_are_those_that_are_characterized() -> None:
    systems = [(system.title, system.preset.name, system.channels) for system in paper_systems()]
    assert list(figures.RANDOM_ACCESS) == systems
    for system in paper_systems():
        rates = figures.random_access_gb_per_s(system.preset.name, system.channels)
        bounds = [
            system.channels * visit_bound(system.preset, size).gb_per_s
            for size in figures.EMBEDDING_BYTES
        ]
        assert rates == pytest.approx(bounds, rel=1e-12)
