"""`recspeed characterize`: the CSV, the plot, the report, and points that are kept."""

import csv
import dataclasses
import re
import struct

import pytest
from support.command_line import CommandLine

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.scripts.measurements import throughput as characterization
from recspeed.scripts.measurements.cluster_workload import full_table_rows, uniform_run
from recspeed.scripts.measurements.fidelities import run_channel
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.attribution import limiter, shares

COLUMNS = (
    "memory,embedding_bytes,dtype,engine,lookups,cycles,clock_ghz,gb_per_s_channel,"
    "gb_per_s_chip,fraction_of_bound,fraction_of_pin,limiter"
)
LOOKUPS = 4000


@pytest.fixture
def recspeed(capsys):
    return CommandLine(capsys)


def read(folder) -> list[dict[str, str]]:
    with (folder / "throughput.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_engine_side_by_side(recspeed, tmp_path):
    options = ["--bytes", "64,256", "--engine", "rtl,golden,bound", "--seed", "6"]
    run = ("characterize", "--memory", "hbm2-2000", *options, "--lookups", LOOKUPS)
    finished = recspeed(*run, "--out", tmp_path / "out")
    assert finished.code == 0, finished.err
    assert "6 points, 0 of them kept from an earlier run" in finished.out
    text = (tmp_path / "out" / "throughput.csv").read_text()
    assert text.splitlines()[0] == COLUMNS
    rows = read(tmp_path / "out")
    assert [(row["embedding_bytes"], row["engine"]) for row in rows] == [
        (size, fidelity) for size in ("64", "256") for fidelity in ("rtl", "golden", "bound")
    ]
    for rtl, golden in ((rows[0], rows[1]), (rows[3], rows[4])):
        assert {**rtl, "engine": ""} == {**golden, "engine": ""}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "RTL and golden model agree at every point" in page


def test_figures_follow_from_cycles(recspeed, tmp_path):
    options = ["--bytes", "32:96:32", "--engine", "golden,bound", "--outstanding", "48"]
    memories = ("hbm2-2000", "hbm2e-3000")
    run = ("characterize", "--memory", ",".join(memories), *options, "--lookups", LOOKUPS)
    assert recspeed(*run, "--out", tmp_path).code == 0
    rows = read(tmp_path)
    assert len(rows) == 12
    for row in rows:
        preset = memory_preset(row["memory"])
        size, cycles = int(row["embedding_bytes"]), int(row["cycles"])
        bound = visit_bound(preset, size)
        assert row["dtype"] == "fp16"
        assert int(row["lookups"]) == LOOKUPS
        assert float(row["clock_ghz"]) == preset.clock_ghz
        rate = float(row["gb_per_s_channel"])
        assert rate == pytest.approx(LOOKUPS * size * preset.clock_ghz / cycles, rel=1e-4)
        # 6 stacks of 16 pseudo channels.
        assert float(row["gb_per_s_chip"]) == pytest.approx(96 * rate, rel=1e-4)
        assert float(row["fraction_of_pin"]) == pytest.approx(rate / preset.pin_gb_per_s, abs=1e-4)
        least = float(bound.clocks) * LOOKUPS
        assert float(row["fraction_of_bound"]) == pytest.approx(least / cycles, abs=1e-4)
        if row["engine"] == "bound":
            assert row["limiter"] == bound.limiter
        else:
            settings = ClusterSettings(outstanding=48)
            result = run_channel(Fidelity.GOLDEN, uniform_run(preset, size, LOOKUPS, settings, 0))
            assert cycles == result.cycles
            assert row["limiter"] == limiter(result.counters, preset)


def test_plot_is_16_to_9_and_the_page_stands_alone(recspeed, tmp_path):
    options = ["--bytes", "32,64", "--engine", "golden,bound"]
    run = ("characterize", "--memory", "hbm2-2000,hbm2e-3000", *options, "--lookups", 2000)
    assert recspeed(*run, "--out", tmp_path).code == 0
    image = (tmp_path / "throughput.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    assert width >= 1900
    assert abs(width / height - 16 / 9) < 0.01
    page = (tmp_path / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "http" not in page
    for row in read(tmp_path):
        if row["engine"] == "golden":
            assert f"<td>{float(row['gb_per_s_channel']):.2f}</td>" in page
            assert f">{row['limiter']}</td>" in page
    for words in ("How to read it", "Where the clocks go", "64", "all-bank", "seed"):
        assert words in page


def test_bound_alone_and_a_single_size(recspeed, tmp_path):
    run = ("characterize", "--memory", "hbm2-2000", "--bytes", 4, "--engine", "bound")
    assert recspeed(*run, "--out", tmp_path).code == 0
    assert [row["limiter"] for row in read(tmp_path)] == ["tRRD_S"]
    page = (tmp_path / "report.html").read_text()
    assert "Where the clocks go" not in page


def test_finished_points_are_kept_and_used_again(recspeed, tmp_path, monkeypatch):
    options = ["--bytes", "32,64", "--engine", "golden"]
    run = ("characterize", "--memory", "hbm2-2000", *options, "--lookups", 800, "--out", tmp_path)
    assert recspeed(*run).code == 0
    first = {name: (tmp_path / name).read_bytes() for name in ("throughput.csv", "throughput.png")}
    measured: list[int] = []
    original = characterization.measure

    def counting(point):
        measured.append(point.size)
        return original(point)

    monkeypatch.setattr(characterization, "measure", counting)
    finished = recspeed(*run)
    assert finished.code == 0
    assert "2 points, 2 of them kept from an earlier run" in finished.out
    assert measured == []
    assert {name: (tmp_path / name).read_bytes() for name in first} == first
    # Whatever an outcome depends on makes it another point.
    for change in (
        ("--seed", 1),
        ("--outstanding", 63),
        ("--lookups", 801),
        ("--memory", "hbm2e-3000"),
    ):
        measured.clear()
        assert recspeed(*run, *change).code == 0
        assert measured == [32, 64], change
    measured.clear()
    monkeypatch.setattr(characterization, "fidelity_version", lambda fidelity: "another")
    assert recspeed(*run).code == 0
    assert measured == [32, 64]


def test_damaged_point_is_measured_again(recspeed, tmp_path):
    options = ["--bytes", "32,64", "--engine", "golden", "--lookups", "800"]
    run = ("characterize", "--memory", "hbm2-2000", *options, "--out", tmp_path)
    assert recspeed(*run).code == 0
    before = read(tmp_path)
    points = sorted((tmp_path / "points").iterdir())
    points[0].write_text('{"outcome": {"cycles": 1')
    points[1].write_text("{}")
    finished = recspeed(*run)
    assert finished.code == 0
    assert "2 points, 0 of them kept" in finished.out
    assert read(tmp_path) == before


@pytest.mark.parametrize("what", ["digest", "cycles", "counter"])
def test_disagreement_of_rtl_and_golden_fails_the_run(what, recspeed, tmp_path, monkeypatch):
    def pretend(point):
        # The golden model stands in for the RTL, with one fault.
        outcome = original(dataclasses.replace(point, fidelity=Fidelity.GOLDEN))
        if point.fidelity is Fidelity.RTL and point.size == 64:
            if what == "digest":
                return dataclasses.replace(outcome, digest="0" * 64)
            name = "CYCLES" if what == "cycles" else "ACTIVATES"
            counters = outcome.counters | {name: outcome.counters[name] + 1}
            return dataclasses.replace(outcome, counters=counters)
        return outcome

    original = characterization.measure
    monkeypatch.setattr(characterization, "measure", pretend)
    options = ["--bytes", "32,64", "--engine", "rtl,golden", "--lookups", "800"]
    run = ("characterize", "--memory", "hbm2-2000", *options, "--out", tmp_path)
    message = recspeed.refused(*run, code=1)
    named = {"digest": "results", "cycles": "CYCLES", "counter": "ACTIVATES"}[what]
    assert message.startswith(f"hbm2-2000, 64 B: RTL and golden model differ in {named} (cycles ")
    assert "RTL and golden model disagree" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--bytes 64:32:32", "--bytes 64:32:32: expected integers from 1 up"),
        ("--bytes 32:64:0", "--bytes 32:64:0: expected integers from 1 up"),
        ("--bytes ,", "--bytes ,: expected integers from 1 up"),
        ("--engine verilog", "--engine verilog: 'verilog' is no engine; expected some of rtl,"),
        ("--engine rtl,rtl", "--engine rtl,rtl: 'rtl' is named twice; expected some of rtl,"),
        ("--memory hbm2-2000,hbm2-2000", "--memory hbm2-2000,hbm2-2000: a preset is named twice"),
    ],
)
def test_lists_are_refused(options, message, recspeed, tmp_path):
    run = ("characterize", "--memory", "hbm2-2000", "--out", tmp_path / "out")
    assert recspeed.refused(*run, *options.split()).startswith(message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("memory", ["hbm2-2000", "hbm2e-3000"])
@pytest.mark.parametrize("size", [4, 32, 36, 64, 96, 160, 256, 544, 1024])
def test_random_run_reaches_over_more_than_half_of_the_channel(memory, size):
    preset = memory_preset(memory)
    rows = full_table_rows(preset, size)
    bursts = -(-size // 32)
    assert 2 * rows * bursts * 32 > preset.capacity.pseudo_channel_mib << 20
    run = uniform_run(preset, size, 2001, ClusterSettings(), 0)
    assert run.tables[0].rows == rows
    assert run.indices.max() > 0.99 * rows
    assert run.bag_lengths.tolist() == [80] * 25 + [1]


def counters(**given: int) -> dict[Counter, int]:
    made = dict.fromkeys(Counter, 0) | {Counter[name]: value for name, value in given.items()}
    made[Counter.CYCLES] = made[Counter.DATA] + sum(made[cause] for cause in IDLE_CAUSES)
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Under 5 % idle besides refresh, and just over.
        ({"DATA": 860, "IDLE_REFRESH": 91, "IDLE_BANK_BUSY": 49}, "data bus"),
        ({"DATA": 859, "IDLE_REFRESH": 91, "IDLE_BANK_BUSY": 50}, "bank busy"),
        # hbm2-2000 permits an activate every 4 clocks outside of refresh: 225 in 900.
        ({"DATA": 500, "IDLE_REFRESH": 100, "IDLE_TCCD_L": 400, "ACTIVATES": 214}, "tFAW"),
        ({"DATA": 500, "IDLE_REFRESH": 100, "IDLE_TCCD_L": 400, "ACTIVATES": 213}, "tCCD_L"),
        ({"DATA": 500, "IDLE_REFRESH": 300, "IDLE_NO_REQUEST": 200}, "no request"),
        ({"DATA": 100, "IDLE_OUTSTANDING": 500, "IDLE_BACK_PRESSURE": 499}, "outstanding"),
    ],
)
def test_limiter(given, expected):
    assert limiter(counters(**given), memory_preset("hbm2-2000")) == expected


def test_shares_of_all_clocks_add_up():
    parts = shares(counters(DATA=860, IDLE_REFRESH=91, IDLE_BANK_BUSY=49))
    assert sum(parts.values()) == pytest.approx(1)
    assert parts[Counter.DATA] == pytest.approx(0.86)


@pytest.mark.parametrize("name", ["bag", "beat", "lanes", "transfer_cycle"])
def test_digest_sees_every_bit_and_clock(name):
    run = uniform_run(memory_preset("hbm2-2000"), 64, 200, ClusterSettings(), 0)
    result = run_channel(Fidelity.GOLDEN, run)
    before = characterization.result_digest(result)
    array = getattr(result, name).copy()
    array.flat[-1] ^= 1
    changed = dataclasses.replace(result, **{name: array})
    assert characterization.result_digest(changed) != before
    assert characterization.result_digest(dataclasses.replace(result)) == before
