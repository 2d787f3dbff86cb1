"""Memory presets: those that ship load, and what does not fit together is refused with a reason."""

import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from recspeed.models.spec.memory import (
    MemoryPreset,
    Timing,
    TimingClocks,
    memory_preset,
    memory_preset_names,
)
from recspeed.models.spec.timing import (
    MAXIMUM_REFRESH_DEBT,
    bus_rules,
    read_path_rules,
    timing_rules,
)
from recspeed.models.spec.toml import SpecificationError

FOLDER = Path(__file__).parents[3] / "models" / "presets" / "memory"
FAMILIES = {
    # Transfers per pin and command clock, bytes and command clocks of a burst.
    "hbm2": (2, 32, 2),
    "hbm3": (4, 32, 2),
    "ddr4": (2, 64, 4),
    "gddr6": (8, 32, 2),
}
OPTIONAL = {"tCCD_R", "tRTRS", "tRFCpb", "tRREFD", "visit_gap"}


def test_the_presets_are_the_files():
    assert memory_preset_names() == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert {"hbm2-2000", "hbm2e-3000"} <= set(memory_preset_names())


@pytest.mark.parametrize("name", memory_preset_names())
def test_every_preset_loads(name):
    preset = memory_preset(name)
    org = preset.organization
    per_clock, burst_bytes, burst_clocks = FAMILIES[preset.family]
    assert preset.name == name
    assert preset.pin_gb_per_s == org.data_rate_mtps * org.bus_bits / 8000
    assert preset.clock_mhz == Fraction(org.data_rate_mtps, per_clock)
    assert preset.burst_bytes == burst_bytes
    assert preset.burst_clocks == burst_clocks == org.burst_length // per_clock
    assert preset.bursts_per_row == org.row_bytes // burst_bytes
    assert preset.banks == org.ranks * org.stack_ids * org.bank_groups * org.banks_per_group
    tCK = Fraction(1000 * per_clock, org.data_rate_mtps)
    for timing in TimingClocks.model_fields:
        given = getattr(preset.timing, timing)
        clocks = getattr(preset.clocks, timing)
        if given is None:
            assert timing in OPTIONAL
            assert clocks == 0
            continue
        assert len(given.source) > 3
        # Not a clock too few, not a clock too many.
        if given.ns is not None and given.clocks is None:
            assert (clocks - 1) * tCK < Fraction(given.ns) <= clocks * tCK
        else:
            assert clocks == given.clocks


def test_known_values():
    """JEDEC and vendor values, in clocks."""
    hbm2 = memory_preset("hbm2-2000").clocks
    assert (hbm2.tRC, hbm2.tFAW, hbm2.tRRD_S, hbm2.tREFI, hbm2.tRFC) == (47, 16, 4, 3900, 350)
    hbm2e = memory_preset("hbm2e-3000")
    assert (hbm2e.clocks.tRC, hbm2e.clocks.tREFI, hbm2e.banks) == (71, 5850, 32)
    assert hbm2e.clock_mhz == 1500
    assert hbm2e.clock_ghz == 1.5
    ddr4 = memory_preset("ddr4-3200")
    assert (ddr4.clocks.tRC, ddr4.clocks.tFAW, ddr4.clocks.tRTRS, ddr4.clocks.tRFC) == (
        74,
        34,
        2,
        560,
    )
    assert (ddr4.banks, ddr4.banks_per_rank, ddr4.bursts_per_row) == (32, 16, 128)
    assert not ddr4.per_bank_refresh
    gddr6 = memory_preset("gddr6-14000")
    assert (gddr6.clock_mhz, gddr6.clocks.tREFI, gddr6.clocks.tRFCpb) == (1750, 3333, 106)
    assert gddr6.bursts_per_row == 64
    hbm3 = memory_preset("hbm3-6400")
    assert (hbm3.clock_mhz, hbm3.clocks.tRCD, hbm3.bursts_per_row) == (1600, 31, 32)


@pytest.mark.parametrize(
    ("clocks", "ns", "mhz", "expected"),
    [
        (4, None, 1000, 4),
        (None, "14", 1500, 21),
        (None, "33", 1500, 50),
        (None, "47", 1500, 71),
        (None, "5", 1600, 8),
        (4, "2.5", 1600, 4),
        (4, "2.51", 1600, 5),
        (None, "0.1", 1000, 1),
    ],
)
def test_a_timing_in_clocks(clocks, ns, mhz, expected):
    timing = Timing(clocks=clocks, ns=Decimal(ns) if ns else None, source="made up")
    assert timing.in_clocks(Fraction(mhz)) == expected


@pytest.mark.parametrize("name", memory_preset_names())
def test_rules_name_each_other_once(name):
    preset = memory_preset(name)
    rules = read_path_rules(preset)
    # One rule fewer without stack IDs' own column spacing.
    assert len({rule.name for rule in rules}) == len(rules) == (15 if preset.clocks.tCCD_R else 14)
    every = timing_rules(preset)
    expected = len(rules) + 8
    expected += 4 if preset.organization.ranks > 1 else 0
    expected += 12 if preset.clocks.tRFCpb else 0
    assert len({rule.name for rule in every}) == len(every) == expected
    assert set(rules) <= set(every)
    buses = bus_rules(preset)
    # An ACT's own clocks, and everything else, on each bus that carries an ACT.
    assert len(buses) == (2 if preset.organization.command_bus == "shared" else 3)
    assert all(rule.clocks >= 1 and rule.window >= 1 for rule in every + buses)
    assert all(len(rule.source) > 3 for rule in every + buses)
    assert MAXIMUM_REFRESH_DEBT == 8


def edited(tmp_path: Path, *changes: tuple[str, str], preset: str = "hbm2-2000") -> Path:
    """A preset with pieces of its text replaced, each of which must occur once."""
    text = (FOLDER / f"{preset}.toml").read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = tmp_path / "edited.toml"
    path.write_text(text)
    memory_preset.cache_clear()  # It would remember another text of this path.
    return path


def line_of(preset: str, key: str) -> str:
    """The whole line that gives `key` in a preset's file, line end included."""
    (found,) = re.findall(rf"^{key} = .*\n", (FOLDER / f"{preset}.toml").read_text(), re.MULTILINE)
    return found


def in_clocks(preset: str, key: str, clocks: int) -> tuple[str, str]:
    """The change that gives a timing of a preset in `clocks`."""
    return line_of(preset, key), f"{key} = {{ clocks = {clocks}, source = 'made up' }}\n"


def refusal(path: Path) -> str:
    """The message with which the file is refused: one line that begins with its path."""
    with pytest.raises(SpecificationError) as caught:
        memory_preset(str(path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


PER_BANK = "tRFCpb and tRREFD go together: per-bank refresh needs both"
INCONSISTENT = [
    (
        [("rows = 16384\n", "rows = 16000\n")],
        "capacity of 256 MiB does not match 16000 rows x 1024 B x 16 banks = 250 MiB",
    ),
    (
        [("pseudo_channel_mib = 256", "pseudo_channel_mib = 512")],
        "capacity of 512 MiB does not match 16384 rows x 1024 B x 16 banks = 256 MiB",
    ),
    (
        [
            ("bank_groups = 4", "bank_groups = 2"),
            ("banks_per_group = 4", "banks_per_group = 2"),
            ("mib = 256", "mib = 64"),
        ],
        "4 banks per channel; supported are 8, 16, 32 and 64",
    ),
    (
        [
            ("bank_groups = 4", "bank_groups = 8"),
            ("banks_per_group = 4", "banks_per_group = 8"),
            ("stack_ids = 1", "stack_ids = 2"),
            ("mib = 256", "mib = 2048"),
        ],
        "128 banks per channel; supported are 8, 16, 32 and 64",
    ),
    (
        [("burst_length = 4", "burst_length = 16")],
        "a burst length of 16 on 64 bits does not fit family hbm2; expected 4 on 64 bits "
        "(JESD235C, pseudo channel mode)",
    ),
    (
        [("bus_bits = 64", "bus_bits = 32")],
        "a burst length of 4 on 32 bits does not fit family hbm2; expected 4 on 64 bits "
        "(JESD235C, pseudo channel mode)",
    ),
    (
        [('command_bus = "separate"', 'command_bus = "shared"')],
        "command_bus 'shared' does not fit family hbm2; expected 'separate'",
    ),
    ([('command_bus = "separate"\n', "")], "organization.command_bus: Field required"),
    ([("activate_clocks = 2\n", "")], "organization.activate_clocks: Field required"),
    (
        [("tCCD_S = { clocks = 2", "tCCD_S = { clocks = 1")],
        "tCCD_S of 1 is shorter than the burst of 2 clocks",
    ),
    (
        [("tCCD_S = { clocks = 2", "tCCD_S = { clocks = 5")],
        "tCCD_L of 4 clocks is shorter than tCCD_S of 5",
    ),
    (
        [("tCCD_R = { clocks = 3", "tCCD_R = { clocks = 1")],
        "tCCD_R of 1 clocks is shorter than tCCD_S of 2",
    ),
    (
        [("tRRD_L = { clocks = 6", "tRRD_L = { clocks = 3")],
        "tRRD_L of 3 clocks is shorter than tRRD_S of 4",
    ),
    (
        [("tFAW = { clocks = 16", "tFAW = { clocks = 3")],
        "tFAW of 3 clocks is shorter than tRRD_S of 4",
    ),
    (
        [("tRCD = { clocks = 14", "tRCD = { clocks = 34")],
        "tRAS of 33 clocks is shorter than tRCD of 34",
    ),
    (
        [("tRFC = { clocks = 350", "tRFC = { clocks = 3901")],
        "tREFI of 3900 clocks is shorter than tRFC of 3901",
    ),
    (
        [("tRC = { clocks = 47", "tRC = { clocks = 49")],
        "tRC of 49 clocks exceeds tRAS 33 + tRP 14 by more than rounding explains",
    ),
    (
        [("tRC = { clocks = 47", "tRC = { clocks = 33")],
        "tRC of 33 clocks is no longer than tRAS of 33: no time to precharge",
    ),
    (
        [("tWTR_L = { clocks = 9", "tWTR_L = { clocks = 3")],
        "tWTR_L of 3 clocks is shorter than tWTR_S of 4",
    ),
    (
        [("tCWL = { clocks = 8", "tCWL = { clocks = 24")],
        "tCWL of 24 is too long for tCL of 20",
    ),
    (
        [("stack_ids = 1", "stack_ids = 2"), ("mib = 256", "mib = 512"), ("tCCD_R =", "#")],
        "tCCD_R is missing: the device has 2 stack IDs",
    ),
    (
        [("stack_ids = 1", "ranks = 2"), ("mib = 256", "mib = 512")],
        "tRTRS is missing: the device has 2 ranks",
    ),
    ([("tRFCpb =", "#")], PER_BANK),
    ([("tRREFD =", "#")], PER_BANK),
    (
        [("tRREFD = { clocks = 8", "tRREFD = { clocks = 243")],
        "tRREFD of 243 clocks leaves none for activates: a per-bank refresh is due every 243 "
        "(tREFI 3900 / 16 banks)",
    ),
    (
        [("tRFCpb = { clocks = 160", "tRFCpb = { clocks = 3900")],
        "tRFCpb of 3900 clocks leaves none of the 3900 of tREFI, in which every bank is refreshed "
        "once",
    ),
]


@pytest.mark.parametrize(("changes", "message"), INCONSISTENT)
def test_inconsistent_presets(tmp_path, changes, message):
    assert refusal(edited(tmp_path, *changes)) == message


BUSES = {
    "hbm2": (64, 4, "JESD235C, pseudo channel mode"),
    "hbm3": (32, 8, "JESD238, pseudo channel"),
    "ddr4": (64, 8, "JESD79-4, a channel without ECC"),
    "gddr6": (16, 16, "JESD250, x16 mode"),
}


@pytest.mark.parametrize("name", memory_preset_names())
def test_bus_and_burst_fit_the_family(name, tmp_path):
    """Every other bus width, every other burst length and every other family is refused."""
    family = memory_preset(name).family
    bits, length, _ = BUSES[family]

    def refused(bad_bits: int, bad_length: int, bad_family: str) -> None:
        path = edited(
            tmp_path,
            (line_of(name, "bus_bits"), f"bus_bits = {bad_bits}\n"),
            (line_of(name, "burst_length"), f"burst_length = {bad_length}\n"),
            (line_of(name, "family"), f'family = "{bad_family}"\n'),
            preset=name,
        )
        wanted_bits, wanted_length, wanted_source = BUSES[bad_family]
        assert refusal(path) == (
            f"a burst length of {bad_length} on {bad_bits} bits does not fit family {bad_family}; "
            f"expected {wanted_length} on {wanted_bits} bits ({wanted_source})"
        )

    for other in {16, 32, 64} - {bits}:
        refused(other, length, family)
    for other in {4, 8, 16} - {length}:
        refused(bits, other, family)
    for other in set(BUSES) - {family}:
        refused(bits, length, other)


def in_nanoseconds(preset: str, key: str, ns: str) -> tuple[str, str]:
    """The change that gives a timing of a preset in nanoseconds."""
    return line_of(preset, key), f"{key} = {{ ns = '{ns}', source = 'made up' }}\n"


def test_the_longest_row_cycle_that_fits_loads(tmp_path):
    """Rounded to the nearest clock each, tRC may be a clock longer than tRAS + tRP."""
    path = edited(tmp_path, in_clocks("hbm2-2000", "tRC", 33 + 14 + 1))
    assert memory_preset(str(path)).clocks.tRC == 48


def test_a_row_cycle_in_nanoseconds_has_no_rounding_to_excuse_it(tmp_path):
    """33 + 14 ns: what is longer than 47 ns is refused, although 47.3 ns are 71 clocks too."""
    name = "hbm2e-3000"
    path = edited(tmp_path, in_nanoseconds(name, "tRC", "47.0"), preset=name)
    assert memory_preset(str(path)).clocks.tRC == 71
    path = edited(tmp_path, in_nanoseconds(name, "tRC", "47.3"), preset=name)
    assert refusal(path) == (
        "tRC of 70.95 clocks exceeds tRAS 49.5 + tRP 21 by more than rounding explains"
    )


@pytest.mark.parametrize(
    ("clocks", "fits"),
    [
        # tRAS 49.5 and tRP 21 clocks, exact in nanoseconds: one rounding, half a clock.
        ({"tRC": 71}, True),
        ({"tRC": 72}, False),
        # Two roundings, a clock: 50 + 21 against 72, and 50 + 21 against 73.
        ({"tRC": 72, "tRAS": 50}, True),
        ({"tRC": 73, "tRAS": 50}, False),
        # Three, one and a half.
        ({"tRC": 72, "tRAS": 50, "tRP": 21}, True),
        ({"tRC": 73, "tRAS": 50, "tRP": 21}, False),
    ],
)
def test_each_value_in_clocks_excuses_half_a_clock(clocks, fits, tmp_path):
    name = "hbm2e-3000"
    path = edited(tmp_path, *(in_clocks(name, key, clocks[key]) for key in clocks), preset=name)
    if fits:
        assert memory_preset(str(path)).clocks.tRC == clocks["tRC"]
    else:
        assert refusal(path) == (
            f"tRC of {clocks['tRC']} clocks exceeds tRAS {clocks.get('tRAS', 49.5)} + tRP 21 "
            "by more than rounding explains"
        )


def test_published_row_cycles_are_within_rounding():
    """Beyond tRAS + tRP in HBM3 alone, where the set is in clocks; short of it in GDDR6."""
    off = {
        name: preset.clocks.tRC - preset.clocks.tRAS - preset.clocks.tRP
        for name in memory_preset_names()
        for preset in [memory_preset(name)]
    }
    assert {name: value for name, value in off.items() if value} == {
        "hbm3-6400": 1,
        "gddr6-14000": -1,
        "gddr6-16000": -1,
    }


@pytest.mark.parametrize(
    "name", [name for name in memory_preset_names() if memory_preset(name).per_bank_refresh]
)
def test_per_bank_refresh_leaves_clocks_for_activates(name, tmp_path):
    preset = memory_preset(name)
    interval = preset.clocks.tREFI // preset.banks
    path = edited(tmp_path, in_clocks(name, "tRREFD", interval - 1), preset=name)
    assert memory_preset(str(path)).clocks.tRREFD == interval - 1
    for bad in (interval, interval + 1):
        path = edited(tmp_path, in_clocks(name, "tRREFD", bad), preset=name)
        assert refusal(path) == (
            f"tRREFD of {bad} clocks leaves none for activates: a per-bank refresh is due every "
            f"{interval} (tREFI {preset.clocks.tREFI} / {preset.banks} banks)"
        )


@pytest.mark.parametrize("name", memory_preset_names())
@pytest.mark.parametrize("key", ["tRRD_S", "tRFC", "tRREFD"])
def test_row_commands_leave_an_act_its_clocks(name, key, tmp_path):
    """Down to `activate_clocks`, and no lower; what a device does not have it need not keep."""
    preset = memory_preset(name)
    if not getattr(preset.clocks, key):
        assert getattr(preset.timing, key) is None
        return
    taken = preset.organization.activate_clocks
    path = edited(tmp_path, in_clocks(name, key, taken), preset=name)
    assert getattr(memory_preset(str(path)).clocks, key) == taken
    if taken > 1:
        path = edited(tmp_path, in_clocks(name, key, taken - 1), preset=name)
        assert refusal(path) == (
            f"{key} of {taken - 1} clocks is shorter than the {taken} for which an ACT takes the "
            "row bus (activate_clocks)"
        )


def test_calibrated_presets_are_those_of_the_paper():
    found = {name for name in memory_preset_names() if memory_preset(name).calibrated}
    assert found == {"hbm2-2300-paper", "hbm2e-3000-paper"}


@pytest.mark.parametrize("name", memory_preset_names())
class TestFaultsOfEveryPreset:
    """The same slips in each of the files that ship."""

    def test_capacity(self, name, tmp_path):
        org, mib = memory_preset(name).organization, memory_preset(name).capacity
        banks, half = memory_preset(name).banks, org.rows // 2
        whole = mib.pseudo_channel_mib
        path = edited(tmp_path, (line_of(name, "rows"), f"rows = {half}\n"), preset=name)
        assert refusal(path) == (
            f"capacity of {whole} MiB does not match "
            f"{half} rows x {org.row_bytes} B x {banks} banks = {whole // 2} MiB"
        )
        line = line_of(name, "pseudo_channel_mib")
        path = edited(tmp_path, (line, f"pseudo_channel_mib = {2 * whole}\n"), preset=name)
        assert refusal(path) == (
            f"capacity of {2 * whole} MiB does not match "
            f"{org.rows} rows x {org.row_bytes} B x {banks} banks = {whole} MiB"
        )

    def test_burst_against_column_spacing(self, name, tmp_path):
        burst = FAMILIES[memory_preset(name).family][2]
        path = edited(tmp_path, in_clocks(name, "tCCD_S", burst - 1), preset=name)
        assert refusal(path) == (
            f"tCCD_S of {burst - 1} is shorter than the burst of {burst} clocks"
        )

    def test_row_cycle(self, name, tmp_path):
        preset = memory_preset(name)
        t = preset.clocks
        path = edited(tmp_path, in_clocks(name, "tRC", t.tRAS), preset=name)
        assert refusal(path) == (
            f"tRC of {t.tRAS} clocks is no longer than tRAS of {t.tRAS}: no time to precharge"
        )
        bad = t.tRAS + t.tRP + 2
        path = edited(tmp_path, in_clocks(name, "tRC", bad), preset=name)
        tRAS, tRP = (
            float(getattr(preset.timing, key).unrounded(preset.clock_mhz))
            for key in ("tRAS", "tRP")
        )
        assert refusal(path) == (
            f"tRC of {bad} clocks exceeds tRAS {tRAS:.4g} + tRP {tRP:.4g} "
            "by more than rounding explains"
        )

    def test_a_missing_value(self, name, tmp_path):
        required = set(TimingClocks.model_fields) - OPTIONAL
        for key in sorted(required):
            path = edited(tmp_path, (line_of(name, key), ""), preset=name)
            assert refusal(path) == f"timing.{key}: Field required"
        for key in ("data_rate_mtps", "bus_bits", "rows", "row_bytes"):
            path = edited(tmp_path, (line_of(name, key), ""), preset=name)
            assert refusal(path) == f"organization.{key}: Field required"

    def test_an_unknown_key(self, name, tmp_path):
        for section in ("organization", "capacity", "timing"):
            change = (f"[{section}]\n", f"[{section}]\ntRDC = 7\n")
            said = refusal(edited(tmp_path, change, preset=name))
            assert said == f"{section}.tRDC: Extra inputs are not permitted (got 7)"


MALFORMED = [
    (("family =", "famly ="), r"family: Field required; and 1 more faults"),
    (("[capacity]", "[capacity]\ncolour = 1"), r"capacity\.colour: Extra inputs .* \(got 1\)"),
    (
        ("[timing]", "[timing]\ntXYZ = { clocks = 1, source = 'none' }"),
        r"timing\.tXYZ: Extra inp.*",
    ),
    (("[timing]", "[surplus]\na = 1\n[timing]"), r"surplus: Extra inputs .*"),
    (("rows = 16384\n", "rows = 0\n"), r"organization\.rows: .*greater than 0 \(got 0\)"),
    (("rows = 16384\n", "rows = 'many'\n"), r"organization\.rows: .*valid integer.*\(got 'many'\)"),
    (("stack_ids = 1", "stack_ids = 3"), r"organization\.stack_ids: .*1, 2 or 4 \(got 3\)"),
    (
        ("tCL = { clocks = 20, ", "tCL = { "),
        r"timing\.tCL: a timing needs `clocks`, `ns` or both",
    ),
    (
        ("tCL = { clocks = 20, ", "tCL = { clocks = 0, "),
        r"timing\.tCL\.clocks: .*\(got 0\)",
    ),
    (
        ("tCL = { clocks = 20, ", "tCL = { ns = '-1', "),
        r"timing\.tCL\.ns: .*greater than 0.*",
    ),
    (
        ('name = "hbm2-2000"', 'name = "HBM 2"'),
        r"name: String should match pattern .*\(got 'HBM 2'\)",
    ),
    (("[capacity]", "[capacity"), r"not valid TOML: .*line \d+.*"),
]


@pytest.mark.parametrize(("change", "message"), MALFORMED, ids=[new for (_, new), _ in MALFORMED])
def test_malformed_presets(tmp_path, change, message):
    said = refusal(edited(tmp_path, change))
    assert re.fullmatch(message, said), said


def test_files_that_cannot_be_read(tmp_path):
    assert refusal(tmp_path / "absent.toml") == "cannot be read: No such file or directory"
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    assert refusal(folder) == "cannot be read: Is a directory"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert refusal(binary) == "cannot be read: not UTF-8 text"


def test_a_user_file_loads(tmp_path):
    path = edited(
        tmp_path,
        ('name = "hbm2-2000"', 'name = "mine"'),
        ("tRFC = { clocks = 350", "tRFC = { clocks = 351"),
    )
    preset = memory_preset(str(path))
    assert (preset.name, preset.clocks.tRFC) == ("mine", 351)


def test_an_unknown_preset():
    with pytest.raises(SpecificationError) as caught:
        memory_preset("hbm9")
    assert str(caught.value) == (
        f"unknown memory preset 'hbm9': expected one of {', '.join(memory_preset_names())}, "
        "or a path that ends in .toml"
    )


def test_a_preset_cannot_be_changed():
    preset = memory_preset("hbm2-2000")
    with pytest.raises(ValueError, match="frozen"):
        preset.name = "other"
    again = MemoryPreset.model_validate(tomllib.loads((FOLDER / "hbm2-2000.toml").read_text()))
    assert again == preset
