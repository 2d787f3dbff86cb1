"""`recspeed dram`: the command log, the bandwidth and the JEDEC report."""

import csv

import numpy as np
import pytest
from support.command_line import CommandLine

from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.scripts.commands import dram
from recspeed.scripts.measurements.dram_workload import random_run
from recspeed.scripts.measurements.fidelities import run_front_end, run_front_ends
from recspeed.scripts.options import Fidelity


@pytest.fixture
def recspeed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    return CommandLine(capsys)


def read_log(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("memory", memory_preset_names())
def test_log_holds_every_command_of_the_run(memory, recspeed, tmp_path):
    path = tmp_path / "log" / "commands.csv"
    preset = memory_preset(memory)
    per_bank = preset.per_bank_refresh
    run = ["--memory", memory, "--bytes", 96, "--requests", 4000, "--seed", 4, "--writes", 0.25]
    run += ["--refresh", "per-bank"] if per_bank else []
    finished = recspeed("dram", *run, "--engine", "golden", "--commands", path)
    assert finished.code == 0, finished.err
    settings = FrontEndSettings(per_bank=per_bank)
    result = run_front_end(
        Fidelity.GOLDEN, random_run(preset, 96, 4000, settings=settings, writes=0.25, seed=4)
    )
    assert path.read_text().splitlines()[0] == "cycle,command,rank,bank_group,bank,row,column"
    log = read_log(path)
    assert len(log) == len(result.commands)
    org = preset.organization
    for row, command in zip(log, result.commands, strict=True):
        rank, group, bank = int(row["rank"]), int(row["bank_group"]), int(row["bank"])
        assert group < org.bank_groups
        assert bank < org.banks_per_group
        flat = (rank * org.banks_per_group + bank) * org.bank_groups + group
        assert flat == command["bank"]
        assert int(row["cycle"]) == command["cycle"]
        assert row["command"] == CommandCode(command["command"]).name
        assert int(row["row"]) == command["row"]
        assert int(row["column"]) == command["column"]
    ranks = {row["rank"] for row in log if row["command"] == "ACT"}
    assert ranks == {str(number) for number in range(org.ranks * org.stack_ids)}
    bursts = -(-96 // preset.burst_bytes)
    names = [row["command"] for row in log]
    assert names.count("RDA") == 3000
    assert names.count("RD") == 3000 * (bursts - 1)
    assert names.count("WRA") == 1000
    assert names.count("WR") == 1000 * (bursts - 1)
    assert names.count("ACT") == 4000
    assert ("REFPB" in names) is per_bank
    assert ("REF" in names) is not per_bank
    assert f"{path}: {len(log)} commands" in finished.out


@pytest.mark.parametrize("memory", ["hbm2-2000", "ddr4-3200"])
def test_rtl_and_golden_write_the_same_log(memory, recspeed, tmp_path):
    paths = [tmp_path / fidelity for fidelity in ("rtl", "golden")]
    for path in paths:
        run = ("--memory", memory, "--bytes", 64, "--requests", 4000, "--outstanding", 40)
        mix = ("--writes", 0.3, "--write-buffer", 30, "--row-hits", 4, "--hit-rate", 0.5)
        options = ("--engine", path.name, "--commands", path, "--turnaround-limit", 100)
        finished = recspeed("dram", *run, *mix, *options)
        assert finished.code == 0, finished.err
    assert paths[0].read_bytes() == paths[1].read_bytes()
    names = {row["command"] for row in read_log(paths[0])}
    assert names >= {"ACT", "RD", "RDA", "WR", "WRA", "REF"}


def test_bandwidth_and_gaps_are_printed(recspeed):
    run = ("--memory", "hbm2-2000", "--bytes", 64, "--requests", 5000, "--engine", "golden")
    finished = recspeed("dram", *run)
    assert finished.code == 0
    preset = memory_preset("hbm2-2000")
    result = run_front_end(
        Fidelity.GOLDEN, random_run(preset, 64, 5000, settings=FrontEndSettings())
    )
    rate = 5000 * 64 / result.cycles
    assert f"{result.cycles} at 1 GHz" in finished.out
    assert f"{rate:.2f} GB/s per pseudo channel" in finished.out
    assert f"{rate / 16:.1%} of 16 GB/s" in finished.out
    # 16 * 0.9103: four clocks per 64 B, less 350 of 3900 clocks for refresh.
    assert "91.0% of the pin rate" in finished.out
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for line in finished.out.splitlines()
        if line.count("│") == 5
        for cells in [line.strip("│").split("│")]
    }
    assert rows["tRCD"] == ["14", "14", "0"]
    assert rows["tFAW"] == ["16", "16", "0"]
    assert "never driven to the limit: " in finished.out


def test_refresh_off_refreshes_never(recspeed, tmp_path):
    path = tmp_path / "commands.csv"
    run = ("--memory", "hbm2-2000", "--bytes", 32, "--requests", 4000, "--engine", "golden")
    for refresh, names in (("off", set()), ("all-bank", {"REF"}), ("per-bank", {"REFPB"})):
        assert recspeed("dram", *run, "--refresh", refresh, "--commands", path).code == 0
        assert {row["command"] for row in read_log(path)} == {"ACT", "RDA", *names}


def test_settings_reach_the_front_end(recspeed):
    run = ("dram", "--memory", "hbm2-2000", "--bytes", 64, "--requests", 3000)
    mix = ("--writes", 0.5, "--hit-rate", 0.5, "--row-hits", 4, "--engine", "golden")
    seen = {recspeed(*run, *mix).out}
    for change in (
        ("--outstanding", 9),
        ("--write-buffer", 9),
        ("--turnaround-limit", 30),
        ("--row-hits", 2),
        ("--hit-rate", 0.6),
        ("--seed", 1),
    ):
        seen.add(recspeed(*run, *mix, *change).out)
    assert len(seen) == 7


def test_both_pseudo_channels_have_their_logs_and_the_cost_of_sharing(recspeed, tmp_path):
    preset = memory_preset("hbm2-2000")
    run = ("--memory", "hbm2-2000", "--bytes", 64, "--requests", 3000, "--seed", 7)
    finished = recspeed(
        *("dram", *run, "--engine", "golden", "--pseudo-channels", 2),
        *("--commands", tmp_path / "commands.csv"),
    )
    assert finished.code == 0, finished.err
    runs = tuple(
        random_run(preset, 64, 3000, settings=FrontEndSettings(), seed=seed) for seed in (7, 8)
    )
    shared = simulate_hbm_channel((runs[0], runs[1]))
    for number, result in enumerate(shared):
        log = read_log(tmp_path / f"commands-{number}.csv")
        assert [int(entry["cycle"]) for entry in log] == result.commands["cycle"].tolist()
        alone = run_front_end(Fidelity.GOLDEN, runs[number])
        row = [str(number), str(result.cycles), str(alone.cycles)]
        cells = [line.replace("│", " ").split() for line in finished.out.splitlines()]
        assert any(cell[:1] + cell[1:2] + cell[3:4] == row for cell in cells if len(cell) == 6)
    assert f"{max(result.cycles for result in shared)} at 1 GHz" in finished.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["commands-0.csv", "commands-1.csv"]


def test_pseudo_channels_that_do_not_share_their_buses_fail_the_run(recspeed, monkeypatch):
    def separately(fidelity, runs):
        return tuple(run_front_end(fidelity, run) for run in runs)

    monkeypatch.setattr(dram, "run_front_ends", separately)
    run = ("--memory", "hbm2-2000", "--bytes", 32, "--requests", 500, "--engine", "golden")
    message = recspeed.refused("dram", *run, "--pseudo-channels", 2, code=1)
    assert message.startswith("JEDEC violation: ")
    assert "of pseudo channels 0 and 1" in message


def test_command_that_comes_a_clock_too_early_fails_the_run(recspeed, monkeypatch):
    def too_early(fidelity, runs):
        (result,) = run_front_ends(fidelity, runs)
        reads = np.flatnonzero(result.commands["command"] >= CommandCode.RD)
        result.commands["cycle"][: reads[0]] += 1
        return (result,)

    monkeypatch.setattr(dram, "run_front_ends", too_early)
    run = ("--memory", "hbm2-2000", "--bytes", 32, "--requests", 50, "--engine", "golden")
    message = recspeed.refused("dram", *run, code=1)
    assert message.startswith("JEDEC violation: tRCD in clock ")
    assert "13 clocks, expected at least 14" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--writes 1.5", "--writes 1.5: expected 0 to 1"),
        ("--writes nan", "--writes nan: expected 0 to 1"),
        (
            "--memory gddr6-14000 --pseudo-channels 2",
            "--pseudo-channels 2: gddr6-14000 has no pseudo channels that share command buses; "
            "expected 1",
        ),
        ("--hit-rate -0.1", "--hit-rate -0.1: expected 0 to 1"),
        (
            "--memory ddr4-3200 --refresh per-bank",
            "--refresh per-bank: ddr4-3200 has no per-bank refresh; expected all-bank or off",
        ),
        (
            "--bytes 1025",
            "--bytes 1025: one request of hbm2-2000 moves 1 to 1024 B (32 bursts of 32 B)",
        ),
        ("--engine bound", "--engine bound: a bound issues no commands; expected rtl or golden"),
    ],
)
def test_what_no_run_can_be_is_refused(options, message, recspeed, tmp_path):
    run = ("dram", "--memory", "hbm2-2000", "--bytes", 64, "--requests", 10)
    path = tmp_path / "log.csv"
    assert recspeed.refused(*run, "--commands", path, *options.split()) == message
    assert not path.exists()


def test_hit_rate_repeats_the_row_of_the_bank():
    preset = memory_preset("ddr4-3200")
    run = random_run(
        preset, 128, 40_000, settings=FrontEndSettings(), writes=0.5, hit_rate=0.3, seed=8
    )
    for requests in (run.reads, run.writes):
        assert len(requests) == 20_000
        hits = 0
        for bank in range(preset.banks):
            rows = requests["row"][requests["bank"] == bank]
            hits += np.count_nonzero(rows[1:] == rows[:-1])
        assert hits / 20_000 == pytest.approx(0.3, abs=0.015)
        assert set(requests["column"].tolist()) == set(range(0, preset.bursts_per_row, 2))
    assert not np.array_equal(run.reads["row"], run.writes["row"])


@pytest.mark.parametrize("writes", [0.1, 0.25, 0.75])
def test_smaller_direction_is_paced_to_last_as_long(writes):
    preset = memory_preset("hbm2-2000")
    run = random_run(preset, 256, 20_000, settings=FrontEndSettings(), writes=writes)
    paced = run.patterns.write_data if writes < 0.5 else run.patterns.reads
    assert paced != ALWAYS
    # 16 beats and 18 clocks per visit with refresh, or somewhat less than one request per 18.
    share = paced.bit_count() / 64
    wanted = writes * 0.91 if writes < 0.5 else (1 - writes) / 17.6
    assert wanted - 0.01 <= share <= wanted + 1 / 64
