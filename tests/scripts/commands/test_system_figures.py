"""`recspeed characterize --figure`: bandwidth and capacity of memory systems, and every preset."""

import csv
import dataclasses
import re
import struct

import pytest
from support.command_line import CommandLine

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.scripts.measurements import throughput as characterization
from recspeed.scripts.measurements.cluster_workload import uniform_run
from recspeed.scripts.measurements.fidelities import run_channel
from recspeed.scripts.measurements.memory_systems import chip_channels, chip_system, paper_systems
from recspeed.scripts.options import Fidelity

BANDWIDTH_COLUMNS = (
    "system,memory,channels,embedding_bytes,engine,lookups,cycles,gb_per_s_channel,"
    "gb_per_s_system,fraction_of_bound,fraction_of_pin,limiter"
)
CAPACITIES = """\
system,memory,channels,capacity_gib,paper_gb,paper_source
"HBM2E-2400, 4 stacks",hbm2e-2400,64,64,64,Table XIV: 96 GB in 6 stacks
"GDDR6-16000, 12 chips",gddr6-16000,24,12,12,Table VIII: 11 chips hold 11 GB
"DDR4-3200 dual rank, 6 channels",ddr4-3200,6,96,1536,Table I: up to 256 GB per DIMM
"""
LOOKUPS = 3000


@pytest.fixture
def recspeed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    return CommandLine(capsys)


def read(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_figure_6_is_the_channel_times_the_channels_of_the_system(recspeed, tmp_path):
    run = ("characterize", "--figure", 6, "--bytes", "32,160", "--engine", "golden,bound")
    finished = recspeed(*run, "--lookups", LOOKUPS, "--seed", 3, "--out", tmp_path)
    assert finished.code == 0, finished.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "figure-06.csv",
        "figure-06.png",
        "points",
        "report.html",
    ]
    path = tmp_path / "figure-06.csv"
    assert f"{path}, figure-06.png, report.html" in finished.out
    assert path.read_text().splitlines()[0] == BANDWIDTH_COLUMNS
    rows = read(path)
    expected = [
        (memory, channels, size, fidelity)
        # Four stacks of 16 pseudo channels, twelve chips of two channels, six channels.
        for memory, channels in (("hbm2e-2400", 64), ("gddr6-16000", 24), ("ddr4-3200", 6))
        for size in (32, 160)
        for fidelity in ("golden", "bound")
    ]
    found = [
        (row["memory"], int(row["channels"]), int(row["embedding_bytes"]), row["engine"])
        for row in rows
    ]
    assert found == expected
    for row in rows:
        preset, size = memory_preset(row["memory"]), int(row["embedding_bytes"])
        bound = visit_bound(preset, size)
        if row["engine"] == "golden":
            run = uniform_run(preset, size, LOOKUPS, ClusterSettings(), 3)
            assert int(row["cycles"]) == run_channel(Fidelity.GOLDEN, run).cycles
        else:
            assert int(row["cycles"]) == -int(-bound.clocks * LOOKUPS // 1)
            assert float(row["fraction_of_bound"]) == 1
        exact = float(bound.clocks) * LOOKUPS if row["engine"] == "bound" else int(row["cycles"])
        rate = LOOKUPS * size * preset.clock_ghz / exact
        assert float(row["gb_per_s_channel"]) == pytest.approx(rate, abs=1e-4)
        assert float(row["gb_per_s_system"]) == pytest.approx(
            int(row["channels"]) * rate, abs=0.005
        )
        assert float(row["fraction_of_pin"]) == pytest.approx(rate / preset.pin_gb_per_s, abs=1e-4)


def test_figure_7_is_what_the_presets_hold_beside_the_papers_parts(recspeed, tmp_path):
    finished = recspeed("characterize", "--figure", "7", "--out", tmp_path)
    assert finished.code == 0, finished.err
    assert (tmp_path / "figure-07.csv").read_text() == CAPACITIES
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "figure-07.csv",
        "figure-07.png",
        "report.html",
    ]
    for system in paper_systems():
        preset = system.preset
        assert system.capacity_gib == system.channels * preset.capacity.pseudo_channel_mib / 1024


def test_figures_and_memories_share_a_page_and_their_points(recspeed, tmp_path, monkeypatch):
    measured = []
    original = characterization.measure

    def counting(point):
        measured.append(point.preset.name)
        return original(point)

    monkeypatch.setattr(characterization, "measure", counting)
    run = ("characterize", "--memory", "gddr6-16000,hbm3-6400", "--figure", "7,6")
    run += ("--bytes", "64", "--engine", "golden,bound", "--lookups", 800, "--out", tmp_path)
    finished = recspeed(*run)
    assert finished.code == 0, finished.err
    # The GDDR6 point is in the plot and in the figure, and was measured once.
    assert sorted(measured) == ["ddr4-3200", "gddr6-16000", "hbm2e-2400", "hbm3-6400"]
    assert "8 points, 0 of them kept" in finished.out
    assert {row["memory"] for row in read(tmp_path / "throughput.csv")} == {
        "gddr6-16000",
        "hbm3-6400",
    }
    page = (tmp_path / "report.html").read_text()
    for words in ("How to read it", "Fig. 6: random embedding", "Fig. 7: capacity of memory"):
        assert words in page
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(sources) == 4
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    for row in read(tmp_path / "figure-06.csv"):
        assert f"<td>{float(row['gb_per_s_system']):.1f}</td>" in page
    for name in ("figure-06.png", "figure-07.png"):
        width, height = struct.unpack(">II", (tmp_path / name).read_bytes()[16:24])
        assert width >= 1900
        assert height >= 600
    assert recspeed(*run).out.count("4 of them kept from an earlier run") == 1
    assert len(measured) == 4


def test_disagreement_in_a_figure_fails_the_run(recspeed, tmp_path, monkeypatch):
    def pretend(point):
        # The golden model stands in for the RTL, with one fault.
        outcome = original(dataclasses.replace(point, fidelity=Fidelity.GOLDEN))
        if point.fidelity is Fidelity.RTL and point.preset.name == "ddr4-3200":
            return dataclasses.replace(outcome, digest="0" * 64)
        return outcome

    original = characterization.measure
    monkeypatch.setattr(characterization, "measure", pretend)
    run = ("--figure", "6", "--bytes", "64", "--engine", "rtl,golden", "--lookups", 800)
    message = recspeed.refused("characterize", *run, "--out", tmp_path, code=1)
    assert message.startswith("ddr4-3200, 64 B: RTL and golden model differ in results (cycles ")
    assert "RTL and golden model disagree" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "characterize: --memory or --figure is missing, what to measure"),
        ("--figure 5", "--figure 5: no figure 5; expected 6, 7 or 6,7"),
        ("--figure 6,8", "--figure 6,8: no figure 8; expected 6, 7 or 6,7"),
        ("--figure 6,6", "--figure 6,6: a figure is named twice; expected 6, 7 or 6,7"),
        (
            "--figure six",
            "--figure six: expected integers from 1 up as A,B,C or FIRST:LAST:STEP",
        ),
        (
            "--figure 6 --bytes 34",
            "table 0: an embedding of 34 B fits no burst: expected a multiple of 4 B "
            "from 4 to 1024 B",
        ),
    ],
)
def test_what_is_no_figure_is_refused(options, message, recspeed, tmp_path):
    out = tmp_path / "out"
    assert recspeed.refused("characterize", "--out", out, *options.split()) == message
    assert not out.exists()


@pytest.mark.parametrize("memory", memory_preset_names())
def test_every_preset_is_characterized(memory, recspeed, tmp_path):
    run = ("characterize", "--memory", memory, "--bytes", "32,96,256", "--lookups", LOOKUPS)
    finished = recspeed(*run, "--engine", "golden,bound", "--out", tmp_path)
    assert finished.code == 0, finished.err
    preset = memory_preset(memory)
    rows = read(tmp_path / "throughput.csv")
    assert len(rows) == 6
    parts = {"hbm2": 6, "hbm3": 6, "gddr6": 12, "ddr4": 6}[preset.family]
    channels = parts * preset.organization.pseudo_channels_per_stack
    assert chip_channels(preset) == channels
    for row in rows:
        rate = float(row["gb_per_s_channel"])
        assert float(row["gb_per_s_chip"]) == pytest.approx(channels * rate, rel=1e-3)
        if row["engine"] == "golden":
            run = uniform_run(preset, int(row["embedding_bytes"]), LOOKUPS, ClusterSettings(), 0)
            assert int(row["cycles"]) == run_channel(Fidelity.GOLDEN, run).cycles
            # The run may end just before a group that would have caught up one interval.
            ahead = preset.clocks.tRFC / int(row["cycles"])
            assert 0.8 < float(row["fraction_of_bound"]) <= 1 + ahead
    word = "pseudo channel" if memory.startswith("hbm") else "channel"
    page = (tmp_path / "report.html").read_text()
    assert f"pin rate {preset.pin_gb_per_s:g} GB/s per {word}</h3>" in page
    assert f"{chip_system(preset).parts_text}<br>({channels} channels)" in page


def test_rtl_of_a_family_with_ranks_and_one_command_bus(recspeed, tmp_path):
    run = ("characterize", "--memory", "ddr4-3200", "--bytes", "96,256", "--lookups", 1000)
    finished = recspeed(*run, "--engine", "rtl,golden", "--out", tmp_path)
    assert finished.code == 0, finished.err
    rows = read(tmp_path / "throughput.csv")
    for rtl, golden in (rows[:2], rows[2:]):
        assert rtl["engine"] == "rtl"
        assert {**rtl, "engine": ""} == {**golden, "engine": ""}
