"""Ctrl-C and SIGTERM in long work: one line, nothing half-written, no simulator left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import CommandLine

from recspeed.scripts.measurements import collective_runs

PROGRAM = (sys.executable, "-m", "recspeed.scripts.main")


def descendants(pid: int) -> list[int]:
    found, known = [], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            known.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        children = known.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def simulators(pid: int) -> list[int]:
    """Simulators below a process; building does not count."""
    found = []
    for child in descendants(pid):
        try:
            name = Path(f"/proc/{child}/exe").readlink().name
        except OSError:
            continue
        if name == "collective_top":
            found.append(child)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_gone(pids: list[int], seconds: float = 30) -> bool:
    """Whether none of them is left; a killed process may outlive who killed it by a moment."""
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(process: subprocess.Popen[str], condition, seconds: float = 400):
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_the_rtl_runs(tmp_path, number):
    path = tmp_path / "rtl.json"
    process = start("collective", "--op", "reduce_scatter", "--chips", 2, "--bytes", 1 << 24,
                    "--latency", 1, "--engine", "rtl", "--out", path)  # fmt: skip
    running = wait_for(process, lambda: simulators(process.pid))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "recspeed: interrupted\n"
    assert os.listdir(tmp_path) == []
    assert all_gone(running)


def test_interrupted_golden_model(capsys, tmp_path, monkeypatch):
    def interrupted(_run):
        raise KeyboardInterrupt

    monkeypatch.setattr(collective_runs, "golden_outcome", interrupted)
    message = CommandLine(capsys).refused(
        "collective", "--op", "all_gather", "--bytes", 640, "--out", tmp_path / "g.json", code=130
    )
    assert message == "interrupted"
    assert os.listdir(tmp_path) == []


def test_interrupted_sweep_keeps_what_is_finished(capsys, tmp_path, monkeypatch):
    whole, count = collective_runs.golden_outcome, [0]

    def interrupted(run):
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        return whole(run)

    monkeypatch.setattr(collective_runs, "golden_outcome", interrupted)
    path = tmp_path / "s.json"
    message = CommandLine(capsys).refused(
        "collective", "--op", "all_gather", "--chips", "2,3", "--sweep", "--out", path, code=130
    )
    assert message == f"interrupted; 3 of 16 points are in {path}"
    assert sorted(os.listdir(tmp_path)) == [".s-points", "s.json"]
    assert len(json.loads(path.read_text())) == 3 * (2 + 3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_regression_reports_and_leaves_no_simulator(tmp_path, number):
    process = start("regress", "--block", "collective", "--collectives", 200, "--jobs", 1,
                    "--out", tmp_path)  # fmt: skip
    first = wait_for(process, lambda: simulators(process.pid))
    # The second batch runs: the first one is finished.
    running = wait_for(process, lambda: [p for p in simulators(process.pid) if p not in first])
    below = descendants(process.pid)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "recspeed: interrupted\n"
    assert "runs were not finished" in out
    assert "collective-tiny-2" in out
    assert "<testcase" in (tmp_path / "junit.xml").read_text()
    assert all_gone([*running, *below])
