"""One sweep by every executor: the same outcomes, dead workers, interruption, resumption."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.points import Measured

from recspeed.scripts.console import UserError
from recspeed.scripts.measurements.dask_cluster import DaskCluster
from recspeed.scripts.measurements.executor import Processes, Serial, run_points
from recspeed.scripts.measurements.point import in_order_of_builds
from recspeed.scripts.measurements.store import Store

WANTED = [{"number": number, "third": number / 3} for number in range(6)]


def points(folder: Path, **more) -> list[Measured]:
    return [Measured(str(folder), number, **more) for number in range(6)]


def measurements(folder: Path) -> list[tuple[int, int, int]]:
    return [tuple(map(int, path.name.split("-"))) for path in folder.iterdir()]


def gone(pids: set[int]) -> bool:
    def alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    deadline = time.monotonic() + 20
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_different_builds_start_first_and_none_is_waited_for(tmp_path):
    builds = ["", "a", "a", "b", "", "b", "a"]
    chosen = [Measured("", n, simulator=build) for n, build in enumerate(builds)]
    assert [point.number for point in in_order_of_builds(chosen)] == [1, 3, 0, 4, 2, 5, 6]


def test_processes_give_what_this_process_gives(tmp_path):
    assert run_points(points(tmp_path), None, Serial()) == WANTED
    assert {pid for _, _, pid in measurements(tmp_path)} == {os.getpid()}
    for path in tmp_path.iterdir():
        path.unlink()
    assert run_points(points(tmp_path, seconds=0.5), None, Processes(2)) == WANTED
    workers = {pid for _, _, pid in measurements(tmp_path)}
    assert len(workers) == 2
    assert os.getpid() not in workers
    assert gone(workers)


def test_a_killed_process_costs_its_point_a_retry(tmp_path):
    chosen = points(tmp_path)
    chosen[2] = Measured(str(tmp_path), 2, deaths=3)
    assert run_points(chosen, None, Processes(2)) == WANTED
    attempts = [number for number, _, _ in measurements(tmp_path)]
    assert sorted(attempts) == [0, 1, 2, 2, 2, 2, 3, 4, 5]


def test_a_point_that_always_kills_its_worker_is_given_up(tmp_path):
    chosen = [Measured(str(tmp_path), 0, deaths=9), Measured(str(tmp_path), 1)]
    with pytest.raises(UserError, match="point 0: its worker died 4 times; given up"):
        run_points(chosen, None, Processes(2))
    assert gone({pid for _, _, pid in measurements(tmp_path)})


def test_what_a_worker_raises_ends_the_sweep(tmp_path):
    chosen = [*points(tmp_path, seconds=0.2), Measured(str(tmp_path), 7, fault="no such row")]
    with pytest.raises(ValueError, match="no such row"):
        run_points(chosen, None, Processes(2))
    assert gone({pid for _, _, pid in measurements(tmp_path)})


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path):
    store, chosen = Store(tmp_path / "points"), points(tmp_path, seconds=0.2)
    (tmp_path / "points").mkdir()
    seen = []

    def interrupt(point, _outcome, kept):
        seen.append((point.number, kept))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_points(chosen, store, Processes(2), interrupt)
    kept = {number for number, _ in seen}
    again = []
    assert run_points(chosen, store, Processes(2), lambda *done: again.append(done)) == WANTED
    assert {point.number for point, _, was_kept in again if was_kept} == kept
    (tmp_path / "points" / "point-4.json").write_text("{")
    assert run_points(chosen, store, Serial()) == WANTED
    store.clear(chosen)
    assert not (tmp_path / "points").exists()


def test_a_terminated_sweep_leaves_no_worker(tmp_path):
    program = (
        "import sys; from recspeed.scripts.interruption import interrupt_on_termination as on\n"
        "from support.points import Measured\n"
        "from recspeed.scripts.measurements.executor import Processes, run_points\n"
        f"on(); run_points([Measured({str(tmp_path)!r}, n, seconds=60) for n in (0, 1)], None, "
        "Processes(2))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL
        )
        while len(found := measurements(tmp_path)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(30)
        assert gone({pid for _, _, pid in found})
        for path in tmp_path.iterdir():
            path.unlink()


def test_a_dask_cluster_whose_worker_is_killed_ends_complete(tmp_path):
    chosen = [Measured(str(tmp_path), n, seconds=2.0, deaths=int(n == 3)) for n in range(6)]
    killed = []

    def kill_a_dask_worker():
        while not (found := measurements(tmp_path)):
            time.sleep(0.05)
        parent = int(Path(f"/proc/{found[0][2]}/stat").read_text().rpartition(")")[2].split()[1])
        killed.append((parent, found[0][2]))
        os.kill(parent, signal.SIGKILL)

    thread = threading.Thread(target=kill_a_dask_worker)
    thread.start()
    assert run_points(chosen, None, DaskCluster(None, 2)) == WANTED
    thread.join()
    [(parent, child)] = killed
    assert parent != os.getpid()
    found = measurements(tmp_path)
    assert gone({parent, child, *(pid for _, _, pid in found)})
    attempts = [number for number, _, _ in found]
    assert attempts.count(3) >= 2
    assert len(attempts) > 7


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--jobs", 0), "characterize: Invalid value for '--jobs': Input should be greater"),
        (("--jobs", "x"), "characterize: Invalid value for '--jobs'"),
        (("--scheduler", "local:0"), "--scheduler local:0: expected tcp://HOST:PORT or local:N"),
        (("--scheduler", "here"), "--scheduler here: expected tcp://HOST:PORT or local:N"),
        (("--scheduler", "local:2", "--jobs", 2), "--jobs 2: a cluster has its own workers"),
    ],
)
def test_bad_options(capsys, tmp_path, options, reason):
    message = CommandLine(capsys).refused(
        "characterize", "--memory", "hbm2-2000", "--out", tmp_path, *options
    )
    assert message.startswith(reason)


def test_a_cluster_without_dask(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("recspeed.scripts.options.find_spec", lambda name: None)
    message = CommandLine(capsys).refused(
        "characterize", "--memory", "hbm2-2000", "--out", tmp_path, "--scheduler", "local:2"
    )
    assert message == "--scheduler: Dask is missing; pip install recspeed[distributed]"
