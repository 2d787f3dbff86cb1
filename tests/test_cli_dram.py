"""`recspeed dram`: the command log, the throughput and the JEDEC report."""

import csv

import numpy as np
import pytest
from command_line import CommandLine

from recspeed.models.spec.engine import RunSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.run import CommandCode
from recspeed.scripts.commands import dram
from recspeed.scripts.engines import run_channel
from recspeed.scripts.options import Engine
from recspeed.scripts.workload import uniform_run


@pytest.fixture
def recspeed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    return CommandLine(capsys)


def read_log(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("memory", ["hbm2-2000", "hbm2e-3000"])
def test_log_holds_every_command_of_the_run(memory, recspeed, tmp_path):
    path = tmp_path / "log" / "commands.csv"
    run = ("--memory", memory, "--bytes", 96, "--requests", 3000, "--seed", 4)
    finished = recspeed("dram", *run, "--engine", "golden", "--commands", path)
    assert finished.code == 0, finished.err
    preset = memory_preset(memory)
    result = run_channel(Engine.GOLDEN, uniform_run(preset, 96, 3000, RunSettings(), 4))
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
    ranks = {row["rank"] for row in log if row["command"] != "REF"}
    assert ranks == {str(number) for number in range(org.stack_ids)}
    assert [row["command"] for row in log].count("RDA") == 3000
    assert [row["command"] for row in log].count("RD") == 6000
    assert f"{path}: {len(log)} commands" in finished.out


def test_rtl_and_golden_write_the_same_log(recspeed, tmp_path):
    paths = [tmp_path / engine for engine in ("rtl", "golden")]
    for path in paths:
        run = ("--memory", "hbm2-2000", "--bytes", 64, "--requests", 3000, "--outstanding", 40)
        options = ("--engine", path.name, "--commands", path)
        assert recspeed("dram", *run, *options).code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b",REF,0,0,0,0,0\n" in paths[0].read_bytes()


def test_throughput_and_gaps_are_printed(recspeed):
    run = ("--memory", "hbm2-2000", "--bytes", 64, "--requests", 5000, "--engine", "golden")
    finished = recspeed("dram", *run)
    assert finished.code == 0
    result = run_channel(
        Engine.GOLDEN, uniform_run(memory_preset("hbm2-2000"), 64, 5000, RunSettings(), 0)
    )
    rate = 5000 * 64 / result.cycles
    assert f"{result.cycles} at 1 GHz" in finished.out
    assert f"{rate:.2f} GB/s per pseudo channel" in finished.out
    assert f"{96 * rate:.0f} GB/s on 96 pseudo channels" in finished.out
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for line in finished.out.splitlines()
        if line.count("│") == 5
        for cells in [line.strip("│").split("│")]
    }
    assert rows["tRCD"] == ["14", "14", "0"]
    assert rows["tFAW"] == ["16", "16", "0"]
    assert rows["tCCD_R"] == ["3", "never met", "0"]
    assert "never driven to the limit: tCCD_R" in finished.out


def test_refresh_off_refreshes_never(recspeed, tmp_path):
    path = tmp_path / "commands.csv"
    run = ("--memory", "hbm2-2000", "--bytes", 32, "--requests", 4000, "--engine", "golden")
    assert recspeed("dram", *run, "--refresh", "off", "--commands", path).code == 0
    assert "REF" not in path.read_text()
    assert recspeed("dram", *run, "--commands", path).code == 0
    assert "REF" in path.read_text()


def test_command_that_comes_a_clock_too_early_fails_the_run(recspeed, tmp_path, monkeypatch):
    def too_early(engine, run):
        result = run_channel(engine, run)
        reads = np.flatnonzero(result.commands["command"] >= CommandCode.RD)
        result.commands["cycle"][: reads[0]] += 1
        return result

    monkeypatch.setattr(dram, "run_channel", too_early)
    run = ("--memory", "hbm2-2000", "--bytes", 32, "--requests", 50, "--engine", "golden")
    message = recspeed.refused("dram", *run, code=1)
    assert message.startswith("JEDEC violation: tRCD in clock ")
    assert "13 clocks, expected at least 14" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--writes 0.5", "--writes 0.5: the front-end serves reads; expected 0"),
        (
            "--refresh per-bank",
            "--refresh per-bank: the front-end serves all-bank refresh; expected all-bank or off",
        ),
        ("--engine bound", "--engine bound: a bound issues no commands; expected rtl or golden"),
    ],
)
def test_what_the_front_end_does_not_do_is_refused(options, message, recspeed):
    run = ("dram", "--memory", "hbm2-2000", "--bytes", 64, "--requests", 10)
    assert recspeed.refused(*run, *options.split()) == message
