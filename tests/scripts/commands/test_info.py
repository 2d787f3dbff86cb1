"""`recspeed info`: what follows from a preset, and which presets are no device."""

import pytest
from support.command_line import CommandLine

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.spec.memory import memory_preset, memory_preset_names

PER_BANK = [name for name in memory_preset_names() if memory_preset(name).per_bank_refresh]


@pytest.fixture
def recspeed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    return CommandLine(capsys)


def cells(text: str) -> list[list[str]]:
    """The cells of every row of every table."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in text.splitlines()
        if line.startswith("│")
    ]


def test_calibrated_presets_are_marked_in_the_list(recspeed):
    finished = recspeed("info")
    assert finished.code == 0
    names = [row[0] for row in cells(finished.out)]
    for name in memory_preset_names():
        assert (name + ("*" if name.endswith("-paper") else "")) in names
    assert "* calibrated: visits at a rate that a publication implies" in finished.out


@pytest.mark.parametrize("name", memory_preset_names())
def test_every_preset_says_whether_it_is_a_device(name, recspeed):
    finished = recspeed("info", "--memory", name, "--sources")
    assert finished.code == 0, finished.err
    (kind,) = [row[1] for row in cells(finished.out) if row[0] == "timings"]
    assert kind == ("calibrated" if name.endswith("-paper") else "a device's")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # GB/s of six stacks, twelve chips of two channels, and six channels.
        ("hbm2e-3000", ["2304 GB/s", "a processor with 6 stacks, 96 pseudo channels"]),
        ("hbm3-6400", ["4915.2 GB/s", "a processor with 6 stacks, 192 pseudo channels"]),
        ("gddr6-16000", ["768 GB/s", "a processor with 12 chips, 24 channels"]),
        ("ddr4-3200", ["153.6 GB/s", "a processor with 6 channels, 6 channels"]),
    ],
)
def test_pin_rate_of_a_processor(name, expected, recspeed):
    rows = cells(recspeed("info", "--memory", name).out)
    assert [row[1:] for row in rows if row[0] == "pin rate"][1] == expected


@pytest.mark.parametrize("name", PER_BANK)
def test_the_bound_of_per_bank_refresh(name, recspeed):
    preset = memory_preset(name)
    text = recspeed("info", "--memory", name).out
    rows = cells(text[text.index("JEDEC bound by kind of refresh") : text.index("Timings")])
    assert [row[0] for row in rows] == [str(size) for size in range(32, 257, 32)]
    for row in rows:
        size = int(row[0])
        off, every, each = (
            visit_bound(preset, size, **how).fraction_of_pin
            for how in ({"refresh": False}, {}, {"per_bank": True})
        )
        assert row[1:4] == [f"{part:.1%}" for part in (off, every, each)]
        assert row[4] == f"{1 - each / off:.1%}"
        assert row[5] == visit_bound(preset, size, per_bank=True).limiter
    t, interval = preset.clocks, preset.clocks.tREFI // preset.banks
    said = " ".join(text.split())
    assert f"tRREFD of {t.tRREFD} of every {interval} clocks, {t.tRREFD / interval:.1%}" in said
    assert f"tRFCpb of {t.tRFCpb} of every {t.tREFI} to each bank" in said


def test_no_bound_of_per_bank_refresh_without_it(recspeed):
    for name in set(memory_preset_names()) - set(PER_BANK):
        text = recspeed("info", "--memory", name).out
        assert "by kind of refresh" not in text
        assert ["per-bank refresh", "none"] in [row[:2] for row in cells(text)]
