"""`recspeed dram --sweep`: every sweep's CSV against the golden model, and points that are kept."""

import csv
import os
import re
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D
from support.command_line import CommandLine

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.scripts.measurements import dram_points
from recspeed.scripts.measurements import store as kept_points
from recspeed.scripts.measurements.dram_sweeps import SWEEPS, bank_variants, chosen_sweeps
from recspeed.scripts.measurements.dram_workload import random_run
from recspeed.scripts.reports.dram_sweep_plot import legend_columns, panel_columns

PROGRAM = [sys.executable, "-m", "recspeed.scripts.main"]
REQUESTS = 300
COLUMNS = (
    "sweep,memory,engine,bytes,requests,write_share,hit_rate,row_hits,refresh,outstanding,"
    "queue_depth,banks,pseudo_channels,cycles,clock_ghz,gb_per_s_channel,fraction_of_pin,bound_fraction_of_pin,"
    "fraction_of_bound,goal_fraction_of_pin,goal_reached,mixed_part,limiter,clocks_data,"
    "clocks_refresh,clocks_tCCD_L,clocks_turnaround,clocks_bank_busy,clocks_tFAW,clocks_tRRD,"
    "clocks_outstanding,clocks_back_pressure,clocks_no_request"
)
SIZES = [32, 64, 96, 128, 192, 256]
HBM2_GOALS = {
    # As stated for hbm2-2000; where the bound is lower, 98 % of it.
    ("all-bank", 32): 0.443,
    ("all-bank", 64): 0.875,
    ("all-bank", 256): 0.90,
    ("per-bank", 32): 0.47,
    ("per-bank", 64): 0.92,
    ("per-bank", 256): 0.96,
}


@pytest.fixture
def recspeed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    return CommandLine(capsys)


def read(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def device(row: dict[str, str]) -> MemoryPreset:
    """The preset of a line, with as many banks as it says."""
    preset = memory_preset(row["memory"])
    part = {"hbm2": "stack_ids", "hbm3": "stack_ids", "ddr4": "ranks"}.get(
        preset.family, "banks_per_group"
    )
    document = preset.model_dump()
    times = int(row["banks"]) / preset.banks
    document["organization"][part] = int(document["organization"][part] * times)
    document["capacity"]["pseudo_channel_mib"] = int(
        document["capacity"]["pseudo_channel_mib"] * times
    )
    return MemoryPreset.model_validate(document)


def check_line(row: dict[str, str], seed: int) -> None:
    """Run the golden model as the line says, and hold every figure of the line against it."""
    preset, size, requests = device(row), int(row["bytes"]), int(row["requests"])
    writes = float(row["write_share"])
    settings = FrontEndSettings(
        outstanding=int(row["outstanding"]),
        refresh_group=0 if row["refresh"] == "off" else 4,
        per_bank=row["refresh"] == "per-bank",
        row_hits=int(row["row_hits"]),
    )
    pseudo_channels = int(row["pseudo_channels"])
    runs = [
        random_run(
            preset,
            size,
            requests,
            settings=settings,
            writes=writes,
            hit_rate=float(row["hit_rate"]),
            queue_depth=int(row["queue_depth"]),
            seed=seed + number,
        )
        for number in range(pseudo_channels)
    ]
    if pseudo_channels == 1:
        result = simulate_dram(runs[0], record_beats=False)
    else:
        both = simulate_hbm_channel((runs[0], runs[1]), record_beats=False)
        result = max(both, key=lambda one: one.cycles)
    assert int(row["cycles"]) == result.cycles, row
    assert float(row["clock_ghz"]) == preset.clock_ghz
    rate = requests * size * preset.clock_ghz / result.cycles
    assert float(row["gb_per_s_channel"]) == pytest.approx(rate, abs=6e-5)
    part = rate / preset.pin_gb_per_s
    assert float(row["fraction_of_pin"]) == pytest.approx(part, abs=6e-5)
    bound = visit_bound(
        preset,
        size,
        refresh=row["refresh"] != "off",
        per_bank=row["refresh"] == "per-bank",
        write_share=writes,
        pseudo_channels=pseudo_channels,
    )
    if row["bound_fraction_of_pin"]:
        whole = bound.fraction_of_pin
        assert float(row["bound_fraction_of_pin"]) == pytest.approx(whole, abs=6e-5)
        assert float(row["fraction_of_bound"]) == pytest.approx(part / whole, abs=6e-5)
    else:
        assert settings.row_hits
    if row["goal_fraction_of_pin"]:
        reached = part >= float(row["goal_fraction_of_pin"])
        assert row["goal_reached"] == ("yes" if reached else "no")
    else:
        assert row["goal_reached"] == ""
    causes = (Counter.DATA, *IDLE_CAUSES)
    named = {name: float(row[name]) for name in row if name.startswith("clocks_")}
    share = {
        "clocks_data": Counter.DATA,
        "clocks_refresh": Counter.IDLE_REFRESH,
        "clocks_tCCD_L": Counter.IDLE_TCCD_L,
        "clocks_turnaround": Counter.IDLE_TURNAROUND,
        "clocks_bank_busy": Counter.IDLE_BANK_BUSY,
        "clocks_tFAW": Counter.IDLE_TFAW,
        "clocks_tRRD": Counter.IDLE_TRRD,
        "clocks_outstanding": Counter.IDLE_OUTSTANDING,
        "clocks_back_pressure": Counter.IDLE_BACK_PRESSURE,
        "clocks_no_request": Counter.IDLE_NO_REQUEST,
    }
    assert set(named) == set(share)
    assert set(share.values()) == set(causes)
    for name, counter in share.items():
        expected = result.counters.get(counter, 0) / result.cycles
        assert named[name] == pytest.approx(expected, abs=6e-5), name
    mixed = 1.0
    if 0 < writes < 1:
        reads = result.commands["command"] <= CommandCode.RDA
        reads &= result.commands["command"] >= CommandCode.RD
        cycle = result.commands["cycle"]
        others = np.isin(result.commands["command"], (CommandCode.WR, CommandCode.WRA))
        mixed = min(cycle[reads].max(), cycle[others].max()) / result.cycles
    assert float(row["mixed_part"]) == pytest.approx(mixed, abs=6e-4)


def values(rows: list[dict[str, str]], name: str) -> set[str]:
    return {row[name] for row in rows}


VARIED: dict[str, tuple[int, dict[str, set[str]]]] = {
    # Lines of hbm2-2000, and the values that each varied column takes.
    "sizes": (12, {"bytes": {str(n) for n in SIZES}, "refresh": {"all-bank", "per-bank"}}),
    "outstanding": (
        28,
        {
            "outstanding": {"4", "8", "16", "32", "64", "128", "256"},
            "queue_depth": {"2", "4", "8", "16"},
        },
    ),
    "banks": (9, {"banks": {"16", "32", "64"}, "bytes": {"32", "64", "128"}}),
    "writes": (
        27,
        {
            "write_share": {"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8", "1"},
            "bytes": {"64", "128", "256"},
        },
    ),
    "hit-rate": (
        14,
        {"hit_rate": {"0", "0.2", "0.4", "0.6", "0.8", "0.9", "0.95"}, "row_hits": {"0", "16"}},
    ),
    "refresh": (
        18,
        {"refresh": {"all-bank", "per-bank", "off"}, "bytes": {str(n) for n in SIZES}},
    ),
    "pseudo-channels": (
        24,
        {
            "pseudo_channels": {"1", "2"},
            "refresh": {"all-bank", "per-bank"},
            "bytes": {str(n) for n in SIZES},
        },
    ),
}


def test_every_sweep_is_tested():
    assert set(VARIED) == set(SWEEPS)
    assert [sweep.name for sweep in chosen_sweeps("all")] == list(SWEEPS)


@pytest.mark.parametrize("sweep", list(SWEEPS))
def test_every_line_is_what_the_golden_model_says(sweep, recspeed, tmp_path):
    run = ("dram", "--sweep", sweep, "--memory", "hbm2-2000,ddr4-3200", "--seed", 5)
    finished = recspeed(*run, "--requests", REQUESTS, "--out", tmp_path)
    assert finished.code == 0, finished.err
    path = tmp_path / f"{sweep}.csv"
    assert path.read_text().splitlines()[0] == COLUMNS
    rows = read(path)
    assert values(rows, "sweep") == {sweep}
    assert values(rows, "engine") == {"golden"}
    assert values(rows, "requests") == {str(REQUESTS)}
    of_hbm2 = [row for row in rows if row["memory"] == "hbm2-2000"]
    count, varied = VARIED[sweep]
    assert len(of_hbm2) == count
    for name, expected in varied.items():
        assert values(of_hbm2, name) == expected
    settings = [tuple(row[name] for name in COLUMNS.split(",")[:13]) for row in rows]
    assert len(set(settings)) == len(rows)
    for row in rows:
        check_line(row, seed=5)
    assert {row["memory"] for row in rows} == {"hbm2-2000", "ddr4-3200"}
    assert f"{len(rows)} points, 0 of them kept from an earlier run" in finished.out


def test_goals_stand_beside_what_is_reached(recspeed, tmp_path):
    run = ("dram", "--sweep", "sizes", "--memory", "hbm2-2000,hbm2-2300", "--requests", 2000)
    finished = recspeed(*run, "--out", tmp_path)
    assert finished.code == 0, finished.err
    rows = read(tmp_path / "sizes.csv")
    goals = {
        (row["refresh"], int(row["bytes"])): float(row["goal_fraction_of_pin"])
        for row in rows
        if row["memory"] == "hbm2-2000"
    }
    assert {key: goals[key] for key in HBM2_GOALS} == HBM2_GOALS
    assert {row["goal_fraction_of_pin"] for row in rows if row["memory"] == "hbm2-2300"} == {""}
    assert {row["goal_reached"] for row in rows} <= {"yes", "no", ""}
    page = (tmp_path / "report.html").read_text()
    for row in rows:
        # The CSV has four digits: rounded again, the last one of the page may differ.
        part = float(row["fraction_of_pin"])
        shown = {f"{100 * (part + shift):.1f}" for shift in (-5e-5, 0, 5e-5)}
        assert any(f"<td>{text}" in page or f">{text} /" in page for text in shown), row
    missed = sum(row["goal_reached"] == "no" for row in rows)
    assert page.count('class="missed"') == missed


def test_per_bank_refresh_stands_beside_its_bound(recspeed, tmp_path):
    run = ("dram", "--sweep", "refresh", "--memory", "hbm2-2000,gddr6-14000,ddr4-3200")
    finished = recspeed(*run, "--requests", 20_000, "--out", tmp_path)
    assert finished.code == 0, finished.err
    rate = {
        (row["memory"], row["refresh"], row["bytes"]): float(row["fraction_of_pin"])
        for row in read(tmp_path / "refresh.csv")
    }
    page = (tmp_path / "report.html").read_text()
    table = page[page.index("<h2>Per-bank refresh against") : page.index("<h2>How to read it")]
    cells = {
        row[0]: row[1:]
        for line in re.findall(r"<tr>(.*?)</tr>", table)
        for row in [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
    }
    assert cells["per-bank refresh"] == [str(size) for size in SIZES]
    assert len(cells) == 1 + 2 * 3
    # tRREFD over tREFI / banks where activates bind: 8 of 243 and 15 of 208 clocks.
    assert cells["hbm2-2000: % below, by the bound"] == ["3.3", "3.3", "0.0", "0.0", "0.0", "0.0"]
    assert cells["gddr6-14000: % below, by the bound"] == ["7.2", "7.2", "7.2", "7.2", "0.0", "0.0"]
    for memory in ("hbm2-2000", "gddr6-14000"):
        for place, size in enumerate(SIZES):
            one, off = (rate[memory, mode, str(size)] for mode in ("per-bank", "off"))
            loss = float(cells[f"{memory}: % below refresh off"][place])
            assert loss == pytest.approx(100 * (1 - one / off), abs=0.1)
            bound = visit_bound(memory_preset(memory), size, per_bank=True).fraction_of_pin
            reached = float(cells[f"{memory}: % of its bound reached"][place])
            assert reached == pytest.approx(100 * one / bound, abs=0.1)
            # As marked in the page and named on the terminal.
            cell = f'<td class="missed">{cells[f"{memory}: % below refresh off"][place]}</td>'
            if loss > 5.05 and reached < 97.95:
                assert cell in table
                assert f"{loss:.1f} missed" in finished.out
            elif loss < 4.95 or reached > 98.05:
                assert cell not in table


def test_no_table_of_per_bank_refresh_where_no_device_has_it(recspeed, tmp_path):
    run = ("dram", "--sweep", "refresh", "--memory", "ddr4-3200", "--requests", 60)
    finished = recspeed(*run, "--out", tmp_path)
    assert finished.code == 0
    assert "Per-bank refresh against" not in (tmp_path / "report.html").read_text()
    assert "Per-bank refresh against" not in finished.out


def test_rtl_and_golden_sweep_alike(recspeed, tmp_path):
    run = ("dram", "--sweep", "sizes", "--memory", "hbm2-2000", "--requests", 200)
    for fidelity in ("rtl", "golden"):
        finished = recspeed(*run, "--engine", fidelity, "--out", tmp_path / fidelity)
        assert finished.code == 0, finished.err
    rtl, golden = (read(tmp_path / fidelity / "sizes.csv") for fidelity in ("rtl", "golden"))
    assert values(rtl, "engine") == {"rtl"}
    assert [{**row, "engine": ""} for row in rtl] == [{**row, "engine": ""} for row in golden]


def test_all_sweeps_make_their_files_and_one_page(recspeed, tmp_path):
    run = ("dram", "--sweep", "all", "--memory", "hbm2-2000", "--requests", 60, "--out", tmp_path)
    finished = recspeed(*run)
    assert finished.code == 0, finished.err
    files = {"points", "report.html"}
    for name in SWEEPS:
        files |= {f"{name}.csv", f"{name}.png", f"{name}_clocks.png"}
    assert set(os.listdir(tmp_path)) == files
    for path in tmp_path.glob("*.png"):
        image = path.read_bytes()
        assert image.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">I", image[16:20])[0] >= 1000
    page = (tmp_path / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(sources) == 2 * len(SWEEPS)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    for sweep in SWEEPS.values():
        assert f"<h2>{sweep.title}</h2>" in page


def test_tables_and_pictures_have_their_values_in_order(recspeed, tmp_path):
    """GDDR6 has 8, 16 and 32 banks, HBM2 16, 32 and 64: the page has all four, ascending."""
    run = ("dram", "--sweep", "banks", "--memory", "hbm2-2000,gddr6-14000", "--requests", 60)
    assert recspeed(*run, "--out", tmp_path).code == 0
    page = (tmp_path / "report.html").read_text()
    (head,) = re.findall(r"<tr><th[^>]*>memory</th>(.*?)</tr>", page)
    assert re.findall(r"<th>(\d+)</th>", head) == ["8", "16", "32", "64"]


@pytest.mark.parametrize(
    ("panels", "columns"), [(1, 1), (3, 3), (4, 4), (5, 3), (6, 3), (7, 4), (12, 4)]
)
def test_panels_fill_their_rows_evenly(panels, columns):
    assert panel_columns(panels) == columns


def test_a_legend_that_is_too_long_for_a_line_takes_more():
    handles = [Line2D([], [], label="two on shared buses, all-bank refresh") for _ in range(5)]
    assert legend_columns(handles[:2], 14.4) == 2
    assert legend_columns(handles, 14.4) == 3
    assert legend_columns(handles, 10.8) == 2
    assert legend_columns(handles, 2.0) == 1


def test_a_point_of_several_sweeps_is_measured_once(recspeed, tmp_path, monkeypatch):
    keys: list[str] = []
    original = dram_points.measure

    def counting(point):
        keys.append(point.key)
        return original(point)

    monkeypatch.setattr(dram_points, "measure", counting)
    run = ("dram", "--sweep", "all", "--memory", "gddr6-14000", "--requests", 60)
    assert recspeed(*run, "--out", tmp_path).code == 0
    assert len(set(keys)) == len(keys) == len(list((tmp_path / "points").iterdir()))


class TestResume:
    """Points of `--sweep refresh` on hbm2-2000: 18."""

    RUN = ("dram", "--sweep", "refresh", "--memory", "hbm2-2000", "--requests", REQUESTS)

    @pytest.fixture
    def measured(self, monkeypatch) -> list[str]:
        """Keys of the points that are measured, as they are."""
        keys: list[str] = []
        original = dram_points.measure

        def counting(point):
            keys.append(point.key)
            return original(point)

        monkeypatch.setattr(dram_points, "measure", counting)
        return keys

    def interrupt_at(self, number: int, monkeypatch) -> None:
        """Ctrl-C during point `number`."""
        original = dram_points.measure
        count = iter(range(1000))

        def interrupted(point):
            if next(count) == number:
                raise KeyboardInterrupt
            return original(point)

        monkeypatch.setattr(dram_points, "measure", interrupted)

    def test_goes_on_where_it_was(self, recspeed, tmp_path, measured, monkeypatch):
        whole, parts = tmp_path / "whole", tmp_path / "parts"
        assert recspeed(*self.RUN, "--out", whole).code == 0
        assert len(measured) == 18
        with monkeypatch.context() as patched:
            self.interrupt_at(7, patched)
            message = recspeed.refused(*self.RUN, "--out", parts, code=130)
        assert message == f"interrupted; 7 of 18 points are kept in {parts}"
        assert os.listdir(parts) == ["points"]
        assert len(list((parts / "points").iterdir())) == 7
        measured.clear()
        finished = recspeed(*self.RUN, "--out", parts)
        assert finished.code == 0
        assert len(measured) == len(set(measured)) == 11
        assert "18 points, 7 of them kept from an earlier run" in finished.out
        for name in ("refresh.csv", "refresh.png", "refresh_clocks.png", "report.html"):
            assert (parts / name).read_bytes() == (whole / name).read_bytes(), name

    def test_whatever_an_outcome_depends_on_makes_another_point(
        self, recspeed, tmp_path, measured, monkeypatch
    ):
        run = (*self.RUN, "--out", tmp_path)
        assert recspeed(*run).code == 0
        for change in (
            ("--seed", 1),
            ("--requests", REQUESTS + 1),
            ("--outstanding", 63),
            ("--write-buffer", 63),
            ("--turnaround-limit", 255),
            ("--row-hits", 1),
            ("--hit-rate", 0.5),
            ("--writes", 0.5),
            ("--memory", "hbm2e-2400"),
        ):
            measured.clear()
            assert recspeed(*run, *change).code == 0, change
            assert len(measured) == 18, change
        measured.clear()
        assert recspeed(*run).code == 0
        assert measured == []
        monkeypatch.setattr(dram_points, "fidelity_version", lambda fidelity: "another")
        assert recspeed(*run).code == 0
        assert len(measured) == 18

    def test_damaged_point_is_measured_again(self, recspeed, tmp_path, measured):
        run = (*self.RUN, "--out", tmp_path)
        assert recspeed(*run).code == 0
        before = (tmp_path / "refresh.csv").read_bytes()
        points = sorted((tmp_path / "points").iterdir())
        points[0].write_text('{"outcome": {"cycles": 1')
        points[1].write_text("{}")
        points[2].write_text('{"outcome": {"cycles": 1}}')
        points[3].unlink()
        measured.clear()
        finished = recspeed(*run)
        assert "18 points, 14 of them kept" in finished.out
        assert sorted(measured) == [path.stem for path in points[:4]]
        assert (tmp_path / "refresh.csv").read_bytes() == before

    def test_interrupt_from_the_keyboard(self, tmp_path):
        """SIGINT while the golden model runs."""
        out = tmp_path / "out"
        arguments = ["dram", "--sweep", "outstanding", "--memory", "hbm2-2000,ddr4-3200"]
        arguments += ["--requests", "400000", "--out", str(out)]
        process = subprocess.Popen(
            [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while not list(out.glob("points/*.json")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        written, err = process.communicate(timeout=60)
        assert process.returncode == 130
        kept = list(out.glob("points/*.json"))
        assert 1 <= len(kept) < 56
        assert err == f"recspeed: interrupted; {len(kept)} of 56 points are kept in {out}\n"
        assert written == ""
        assert os.listdir(out) == ["points"]
        assert not list(out.glob("points/.*"))


class TestHalfWritten:
    """What cannot be written leaves what was there before, and nothing beside it."""

    RUN = ("dram", "--sweep", "banks", "--memory", "hbm2-2000", "--requests", 60)

    @pytest.mark.parametrize("name", ["banks.csv", "banks.png", "banks_clocks.png", "report.html"])
    def test_a_result_that_cannot_be_written(self, name, recspeed, tmp_path):
        assert recspeed(*self.RUN, "--out", tmp_path).code == 0
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        message = recspeed.refused(*self.RUN, "--seed", 1, "--out", tmp_path)
        assert message == f"{tmp_path / name}: is a folder; expected the name of a file to write"
        assert not list(tmp_path.glob(".*"))

    def test_a_disk_that_fills_up_among_the_points(self, recspeed, tmp_path, monkeypatch):
        written = iter(range(100))
        original = kept_points.json.dumps

        def full(*arguments, **named):
            if next(written) == 4:
                raise OSError(28, "No space left on device")
            return original(*arguments, **named)

        with monkeypatch.context() as patched:
            patched.setattr(kept_points, "json", FullJson(full, kept_points.json.loads))
            message = recspeed.refused(*self.RUN, "--out", tmp_path, code=1)
        assert message.endswith(".json: cannot be written: No space left on device")
        assert os.listdir(tmp_path) == ["points"]
        assert len(os.listdir(tmp_path / "points")) == 4
        assert "9 points, 4 of them kept" in recspeed(*self.RUN, "--out", tmp_path).out

    def test_an_interrupt_while_a_picture_is_written(self, recspeed, tmp_path, monkeypatch):
        assert recspeed(*self.RUN, "--out", tmp_path).code == 0
        before = {path.name: path.read_bytes() for path in tmp_path.glob("banks*.png")}
        original = Path.write_bytes

        def interrupted(path, content):
            original(path, content[: len(content) // 2])
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Path, "write_bytes", interrupted)
            message = recspeed.refused(*self.RUN, "--seed", 1, "--out", tmp_path, code=130)
        assert message == "interrupted"
        assert {path.name: path.read_bytes() for path in tmp_path.glob("banks*.png")} == before
        assert not list(tmp_path.glob(".*"))


class FullJson:
    """Stands in for the module of one caller."""

    def __init__(self, dumps, loads):
        self.dumps = dumps
        self.loads = loads


def test_illegal_log_fails_the_sweep_and_is_not_kept(recspeed, tmp_path, monkeypatch):
    def too_early(fidelity, runs):
        (result,) = original(fidelity, runs)
        reads = np.flatnonzero(result.commands["command"] >= CommandCode.RD)
        commands = result.commands.copy()
        commands["cycle"][: reads[0]] += 1
        return (replace(result, commands=commands),)

    original = dram_points.run_front_ends
    monkeypatch.setattr(dram_points, "run_front_ends", too_early)
    run = ("dram", "--sweep", "refresh", "--memory", "hbm2-2000", "--requests", 50)
    message = recspeed.refused(*run, "--out", tmp_path / "out", code=1)
    assert message.startswith("hbm2-2000, 32 B: JEDEC violation: tRCD in clock ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", memory_preset_names())
def test_other_numbers_of_banks_are_ones_that_a_front_end_can_have(name):
    preset = memory_preset(name)
    variants = bank_variants(preset)
    banks = [variant.banks for variant in variants]
    assert preset in variants
    assert banks == sorted(set(banks))
    assert len(banks) >= 2
    assert set(banks) <= {8, 16, 32, 64}
    for variant in variants:
        assert variant.timing == preset.timing


REFUSED = [
    ("--sweep size", "--sweep size: expected one of " + ", ".join(SWEEPS) + ", all"),
    (
        "--sweep banks --commands log.csv",
        "--commands: a sweep writes no command log; expected no --sweep",
    ),
    (
        "--sweep banks --engine bound",
        "--engine bound: a bound issues no commands; expected rtl or golden",
    ),
    ("--sweep banks --memory hbm9", "unknown memory preset 'hbm9': expected one of "),
    (
        "--sweep banks --memory hbm2-2000,hbm2-2000",
        "--memory hbm2-2000,hbm2-2000: a preset is named twice",
    ),
    ("--sweep writes --hit-rate 2", "--hit-rate 2: expected 0 to 1"),
    # Seen before anything is measured, although the first memory could.
    (
        "--sweep outstanding --memory ddr4-3200,hbm2-2000 --bytes 2000",
        "--bytes 2000: one request of hbm2-2000 moves 1 to 1024 B (32 bursts of 32 B)",
    ),
    (
        "--sweep outstanding --memory hbm2-2000,ddr4-3200 --refresh per-bank",
        "--refresh per-bank: ddr4-3200 has no per-bank refresh; expected all-bank or off",
    ),
    (
        "--sweep all --refresh per-bank",
        "--refresh per-bank: ddr4-3200 has no per-bank refresh; expected all-bank or off",
    ),
    ("--sweep sizes --bytes 64", "--bytes: sweep 'sizes' sets it itself; expected none"),
    ("--sweep sizes --refresh off", "--refresh: sweep 'sizes' sets it itself; expected none"),
    (
        "--sweep outstanding --outstanding 9",
        "--outstanding: sweep 'outstanding' sets it itself; expected none",
    ),
    ("--sweep banks --bytes 64", "--bytes: sweep 'banks' sets it itself; expected none"),
    ("--sweep writes --writes 0.5", "--writes: sweep 'writes' sets it itself; expected none"),
    ("--sweep writes --bytes 64", "--bytes: sweep 'writes' sets it itself; expected none"),
    (
        "--sweep hit-rate --hit-rate 0.5",
        "--hit-rate: sweep 'hit-rate' sets it itself; expected none",
    ),
    ("--sweep hit-rate --row-hits 2", "--row-hits: sweep 'hit-rate' sets it itself; expected none"),
    ("--sweep refresh --refresh off", "--refresh: sweep 'refresh' sets it itself; expected none"),
    ("--sweep refresh --bytes 64", "--bytes: sweep 'refresh' sets it itself; expected none"),
    ("--sweep banks --requests 0", "dram: Invalid value for '--requests'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[options for options, _ in REFUSED])
def test_bad_arguments(options, message, recspeed, tmp_path, monkeypatch):
    def never(point):
        raise AssertionError("measured")

    monkeypatch.setattr(dram_points, "measure", never)
    out = tmp_path / "out"
    said = recspeed.refused("dram", "--out", out, *options.split())
    assert said.startswith(message)
    assert not out.exists()


def test_sweep_and_folder_go_together(recspeed, tmp_path):
    assert recspeed.refused("dram", "--sweep", "banks") == (
        "--sweep: --out is missing, the folder for the results"
    )
    run = ("dram", "--memory", "hbm2-2000", "--bytes", 64, "--requests", 9)
    assert recspeed.refused(*run, "--out", tmp_path) == (
        "--out: the folder of a sweep; expected --sweep, or --commands for a file"
    )
    (tmp_path / "file").write_text("")
    assert recspeed.refused("dram", "--sweep", "banks", "--out", tmp_path / "file") == (
        f"{tmp_path / 'file'}: is a file; expected a folder for the results"
    )
