"""How fast the golden model steps front-ends: one alone, and many in lock step."""

import time

from rich.table import Table

from recspeed.models.dram.simulation import simulate_in_lock_step
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.scripts.measurements.dram_workload import random_run

FRONT_ENDS = (1, 16, 96)
VECTOR_BYTES = 64
MEASUREMENTS = 3
"""Of each number of front-ends; the fastest counts, since other programs only ever slow one."""


def measure_lock_step(preset: MemoryPreset, requests: int, seed: int) -> dict[int, float]:
    """Channel-clocks per second of processor time, by number of front-ends.

    Parameters
    ----------
    requests : int
        Reads of 64 B at uniformly random places, of all front-ends together.
    """
    settings = FrontEndSettings()
    groups: dict[int, list[DramRun]] = {
        front_ends: [
            random_run(
                preset,
                VECTOR_BYTES,
                max(1, requests // front_ends),
                settings=settings,
                seed=seed + number,
            )
            for number in range(front_ends)
        ]
        for front_ends in FRONT_ENDS
    }
    simulate_in_lock_step(groups[1], record_beats=False, record_commands=False)  # compiles it
    fastest: dict[int, float] = dict.fromkeys(groups, 0.0)
    # Numbers take turns, so that a slow spell of the machine meets all of them.
    for _ in range(MEASUREMENTS):
        for front_ends, runs in groups.items():
            start = time.process_time()
            results = simulate_in_lock_step(runs, record_beats=False, record_commands=False)
            seconds = time.process_time() - start
            clocks = front_ends * max(result.cycles for result in results)
            fastest[front_ends] = max(fastest[front_ends], clocks / seconds)
    return fastest


def lock_step_table(preset: MemoryPreset, speeds: dict[int, float]) -> Table:
    """The figures as a table, with the ratio of each to that of one front-end alone."""
    table = Table(
        *("front-ends in lock step", "million channel-clocks per second", "ratio to one alone"),
        title=f"golden model of front-ends of {preset.name}, {VECTOR_BYTES} B reads, no log",
    )
    for front_ends, speed in speeds.items():
        table.add_row(str(front_ends), f"{speed / 1e6:.1f}", f"{speed / speeds[1]:.2f}")
    return table
