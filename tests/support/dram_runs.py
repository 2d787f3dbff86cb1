"""Random runs of a DRAM front-end, and the comparison of two results."""

from dataclasses import replace

import numpy as np

from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramResult, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset, Timing
from support.cluster_runs import preset_with, random_pattern, random_preset


def random_requests(
    rng: np.random.Generator,
    preset: MemoryPreset,
    count: int,
    bursts: int | None = None,
    *,
    banks: int | None = None,
    rows: int | None = None,
) -> np.ndarray:
    """REQUESTS[count] over the first `banks` banks and `rows` rows (all of them by default).

    `bursts` of each request, or 1 to 32 at random.
    """
    requests = np.zeros(count, dtype=REQUESTS)
    requests["bank"] = rng.integers(0, banks or preset.banks, count)
    requests["row"] = rng.integers(0, rows or preset.organization.rows, count)
    most = min(32, preset.bursts_per_row)
    length = bursts if bursts is not None else np.minimum(rng.geometric(0.3, count), most)
    requests["bursts"] = length
    requests["column"] = rng.integers(0, preset.bursts_per_row - requests["bursts"] + 1)
    return requests


def random_dram_run(
    seed: int,
    requests: int = 150,
    *,
    preset: MemoryPreset | None = None,
    writes: bool = True,
    per_bank: bool | None = None,
    row_hits: bool | None = None,
) -> DramRun:
    """Random device, settings, patterns, mix and places; `None` lets the seed say."""
    rng = np.random.default_rng([1, seed])
    preset = random_preset(rng) if preset is None else preset
    share = float(rng.choice([0, 0.1, 0.5, 0.9, 1])) if writes else 0.0
    count = int(requests * share)
    bursts = int(rng.integers(1, 5)) if rng.random() < 0.5 else None
    places = {
        "banks": int(rng.choice([1, 3, preset.banks])),
        "rows": int(rng.choice([1, 2, 5, preset.organization.rows])),
    }
    chosen = bool(rng.integers(2)) if per_bank is None else per_bank
    hits = int(rng.choice([1, 2, 3, 8, 255]))
    if row_hits is False or (row_hits is None and rng.random() < 0.4):
        hits = 0
    settings = FrontEndSettings(
        outstanding=int(rng.choice([1, 2, 5, 16, 64, 256])),
        write_buffer=int(rng.choice([1, 2, 5, 16, 64, 128])),
        refresh_group=int(rng.integers(0, 9)),
        per_bank=chosen and preset.per_bank_refresh,
        turnaround_limit=int(rng.choice([1, 10, 64, 256, 4095])),
        row_hits=hits,
    )
    return DramRun(
        preset=preset,
        reads=random_requests(rng, preset, requests - count, bursts, **places),
        writes=random_requests(rng, preset, count, bursts, **places),
        settings=settings,
        queue_depth=int(rng.choice([1, 2, 4, 16, 64])),
        patterns=DramPatterns(*(random_pattern(rng) for _ in range(3))),
        seed=int(rng.integers(0, 1 << 62)),
    )


def dram_differences(one: DramResult, other: DramResult) -> list[str]:
    """Names of the fields in which two results differ, in any element."""
    found = [
        name
        for name in ("commands", "beats", "written")
        if not np.array_equal(getattr(one, name), getattr(other, name))
    ]
    return found + sorted(
        counter.name
        for counter in one.counters.keys() | other.counters.keys()
        if one.counters.get(counter) != other.counters.get(counter)
    )


def random_pair(
    seed: int, requests: int = 150, *, preset: MemoryPreset | None = None, busy: bool | None = None
) -> tuple[DramRun, DramRun]:
    """Two runs on the pseudo channels of one random HBM channel, of unlike mixes and sizes.

    `busy`: both are offered requests all the time and may have many in flight; `None`: half of the
    seeds say so.
    """
    rng = np.random.default_rng([2, seed])
    while preset is None or preset.organization.command_bus != "separate":
        preset = random_preset(rng)
    runs = [
        random_dram_run(2 * seed + number, int(rng.choice([20, requests])), preset=preset)
        for number in range(2)
    ]
    depth = int(rng.choice([1, 4, 16, 64]))
    if busy is None:
        busy = bool(rng.integers(2))
    if busy:
        runs = [
            replace(
                run,
                settings=run.settings.model_copy(update={"outstanding": 64, "write_buffer": 64}),
                patterns=DramPatterns(),
            )
            for run in runs
        ]
    first, second = (replace(run, queue_depth=depth) for run in runs)
    return first, second


def saturated_pair(
    preset: MemoryPreset, count: int = 300, bursts: int = 2
) -> tuple[DramRun, DramRun]:
    """Reads of both at random places, offered all the time."""
    none = np.zeros(0, dtype=REQUESTS)
    runs = [
        DramRun(preset, random_requests(np.random.default_rng(seed), preset, count, bursts), none)
        for seed in range(2)
    ]
    return runs[0], runs[1]


def preset_of_refreshes_alone() -> MemoryPreset:
    """Per-bank refreshes as often as tRREFD permits them: a file with such timings is refused."""
    base = preset_with("all-refresh", tREFI=16 * 11, tRFC=100)
    timing = base.timing.model_copy(update={"tREFI": Timing(clocks=16 * 8, source="made up")})
    values = {name: getattr(base, name) for name in MemoryPreset.model_fields}
    return MemoryPreset.model_construct(**values | {"timing": timing})


def dense_pair() -> tuple[DramRun, DramRun]:
    """Both want the row bus in every second clock, so that both lose ties."""
    return saturated_pair(preset_with("dense-rows", tRRD_S=2, tRRD_L=2, tFAW=8), bursts=1)


def pair_that_remembers(place: int) -> tuple[DramRun, DramRun]:
    """A tie is lost long before its loser's next row command, which ties again.

    Between them are a due refresh, and ACTs of the other one, which is pseudo channel `place`.
    """
    preset = preset_with("short-refresh", tREFI=56, tRFC=20, tRFCpb=20, tRREFD=2)
    reads = np.zeros(12, dtype=REQUESTS)
    reads["bank"] = np.arange(len(reads))
    reads["bursts"] = 1
    none = np.zeros(0, dtype=REQUESTS)

    def run(count: int, clocks: range, refresh_group: int) -> DramRun:
        pattern = DramPatterns(reads=sum(1 << t for t in clocks))
        settings = FrontEndSettings(refresh_group=refresh_group)
        return DramRun(preset, reads[:count], none, settings, patterns=pattern)

    stretch, loser = run(12, range(49, 64), 0), run(2, range(46, 54, 7), 1)
    return (loser, stretch) if place else (stretch, loser)
