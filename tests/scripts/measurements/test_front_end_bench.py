"""The bench of front-ends in lock step: what it measures, and what it prints."""

from rich.console import Console

from recspeed.models.spec.memory import memory_preset
from recspeed.scripts.measurements import front_end_bench
from recspeed.scripts.measurements.front_end_bench import lock_step_table, measure_lock_step

PRESET = memory_preset("hbm2-2000")


def test_clocks_of_all_front_ends_count(monkeypatch):
    """With a clock that says one second per measurement, speeds are channel-clocks."""
    seconds = iter(range(1000))
    monkeypatch.setattr(front_end_bench.time, "process_time", lambda: next(seconds))
    speeds = measure_lock_step(PRESET, 9600, seed=0)
    assert list(speeds) == [1, 16, 96]
    # A 64 B read takes the bus for 4 clocks, and not much more goes by for each.
    assert all(4 * 9600 < clocks < 8 * 9600 for clocks in speeds.values()), speeds


def test_table_gives_the_ratio_to_one_alone():
    console = Console(width=120)
    with console.capture() as capture:
        console.print(lock_step_table(PRESET, {1: 15e6, 16: 13.2e6, 96: 12e6}))
    rows = [line.replace("│", " ").split() for line in capture.get().splitlines() if "│" in line]
    assert rows == [["1", "15.0", "1.00"], ["16", "13.2", "0.88"], ["96", "12.0", "0.80"]]
