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
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT, read_path_rules
from recspeed.models.spec.toml import SpecificationError

FOLDER = Path(__file__).parents[1] / "models" / "presets" / "memory"


def test_the_presets_are_the_files():
    assert memory_preset_names() == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert {"hbm2-2000", "hbm2e-3000"} <= set(memory_preset_names())


@pytest.mark.parametrize("name", memory_preset_names())
def test_every_preset_loads(name):
    preset = memory_preset(name)
    assert preset.name == name
    assert preset.pin_gb_per_s == preset.organization.data_rate_mtps * 8 / 1000
    assert preset.burst_bytes == 32
    assert preset.burst_clocks == 2
    assert preset.bursts_per_row == 32
    for timing in TimingClocks.model_fields:
        given = getattr(preset.timing, timing)
        assert len(given.source) > 3
        # Not a clock too few, not a clock too many.
        clocks = getattr(preset.clocks, timing)
        if given.ns is not None and given.clocks is None:
            tCK = Fraction(2000, preset.organization.data_rate_mtps)
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
    rules = read_path_rules(memory_preset(name))
    assert len({rule.name for rule in rules}) == len(rules) == 15
    assert all(rule.clocks >= 1 and rule.window >= 1 for rule in rules)
    assert MAXIMUM_REFRESH_DEBT == 8


def edited(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """`hbm2-2000` with pieces of its text replaced, each of which must occur once."""
    text = (FOLDER / "hbm2-2000.toml").read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = tmp_path / "edited.toml"
    path.write_text(text)
    return path


def refusal(path: Path) -> str:
    """The message with which the file is refused: one line that begins with its path."""
    with pytest.raises(SpecificationError) as caught:
        memory_preset(str(path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


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
        [("bank_groups = 4", "bank_groups = 2"), ("mib = 256", "mib = 128")],
        "8 banks per pseudo channel; supported are 16, 32 and 64",
    ),
    (
        [("burst_length = 4", "burst_length = 8")],
        "a burst of 64 B on 64 bits; an HBM2 pseudo channel moves 32 B on 64 bits (burst length 4)",
    ),
    (
        [("bus_bits = 64", "bus_bits = 32"), ("burst_length = 4", "burst_length = 8")],
        "a burst of 32 B on 32 bits; an HBM2 pseudo channel moves 32 B on 64 bits (burst length 4)",
    ),
    (
        [("tCCD_S  = { clocks = 2", "tCCD_S  = { clocks = 1")],
        "tCCD_S of 1 is shorter than the burst of 2 clocks",
    ),
    (
        [("tCCD_S  = { clocks = 2", "tCCD_S  = { clocks = 5")],
        "tCCD_L of 4 clocks is shorter than tCCD_S of 5",
    ),
    (
        [("tCCD_R  = { clocks = 3", "tCCD_R  = { clocks = 1")],
        "tCCD_R of 1 clocks is shorter than tCCD_S of 2",
    ),
    (
        [("tRRD_L  = { clocks = 6", "tRRD_L  = { clocks = 3")],
        "tRRD_L of 3 clocks is shorter than tRRD_S of 4",
    ),
    (
        [("tFAW    = { clocks = 16", "tFAW    = { clocks = 3")],
        "tFAW of 3 clocks is shorter than tRRD_S of 4",
    ),
    (
        [("tRCD    = { clocks = 14", "tRCD    = { clocks = 34")],
        "tRAS of 33 clocks is shorter than tRCD of 34",
    ),
    (
        [("tRFC    = { clocks = 350", "tRFC    = { clocks = 3901")],
        "tREFI of 3900 clocks is shorter than tRFC of 3901",
    ),
    (
        [("tRC     = { clocks = 47", "tRC     = { clocks = 48")],
        "tRC of 48 clocks does not fit tRAS 33 + tRP 14",
    ),
    (
        [("tRC     = { clocks = 47", "tRC     = { clocks = 33")],
        "tRC of 33 clocks does not fit tRAS 33 + tRP 14",
    ),
]


@pytest.mark.parametrize(("changes", "message"), INCONSISTENT, ids=[m for _, m in INCONSISTENT])
def test_inconsistent_presets(tmp_path, changes, message):
    assert refusal(edited(tmp_path, *changes)) == message


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
        ("tCL     = { clocks = 20, ", "tCL     = { "),
        r"timing\.tCL: a timing needs `clocks`, `ns` or both",
    ),
    (
        ("tCL     = { clocks = 20, ", "tCL     = { clocks = 0, "),
        r"timing\.tCL\.clocks: .*\(got 0\)",
    ),
    (
        ("tCL     = { clocks = 20, ", "tCL     = { ns = '-1', "),
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
        ("tRFC    = { clocks = 350", "tRFC    = { clocks = 351"),
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
