"""Random runs of a DRAM front-end: mixes, places, settings and patterns."""

import numpy as np

from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.tb.cluster.random_runs import random_pattern

PSEUDO_CHANNELS = 2
OTHER_PSEUDO_CHANNEL = 1 << 32
"""Added to the seed of a pair for the run of its second pseudo channel."""


def random_requests(
    rng: np.random.Generator, preset: MemoryPreset, count: int, bursts: int | None, **places: int
) -> np.ndarray:
    """REQUESTS[count] over the first `banks` banks and `rows` rows; `bursts` of each, or random."""
    requests = np.zeros(count, dtype=REQUESTS)
    requests["bank"] = rng.integers(0, places["banks"], count)
    requests["row"] = rng.integers(0, places["rows"], count)
    most = min(32, preset.bursts_per_row)
    requests["bursts"] = np.minimum(rng.geometric(0.3, count), most) if bursts is None else bursts
    requests["column"] = rng.integers(0, preset.bursts_per_row - requests["bursts"] + 1)
    return requests


def random_dram_run(
    seed: int, preset: MemoryPreset, *, queue_depth: int = 16, requests: int = 300
) -> DramRun:
    """A run that depends on `seed` and `preset` alone."""
    rng = np.random.default_rng([1, seed])
    writes = int(requests * float(rng.choice([0, 0.1, 0.5, 0.9, 1])))
    bursts = int(rng.integers(1, 5)) if rng.random() < 0.5 else None
    places = {
        "banks": int(rng.choice([1, 3, preset.banks, preset.banks])),
        "rows": int(rng.choice([1, 2, 5, preset.organization.rows])),
    }
    settings = FrontEndSettings(
        outstanding=int(rng.choice([1, 2, 5, 16, 64, 256])),
        write_buffer=int(rng.choice([1, 2, 5, 16, 64, 128])),
        refresh_group=int(rng.integers(0, 9)),
        per_bank=bool(rng.integers(2)) and preset.per_bank_refresh,
        turnaround_limit=int(rng.choice([1, 10, 64, 256, 4095])),
        row_hits=0 if rng.random() < 0.4 else int(rng.choice([1, 2, 3, 8, 255])),
    )
    return DramRun(
        preset=preset,
        reads=random_requests(rng, preset, requests - writes, bursts, **places),
        writes=random_requests(rng, preset, writes, bursts, **places),
        settings=settings,
        queue_depth=queue_depth,
        patterns=DramPatterns(*(random_pattern(rng) for _ in range(3))),
        seed=int(rng.integers(0, 1 << 62)),
    )


def random_hbm_channel_runs(
    seed: int, preset: MemoryPreset, *, queue_depth: int = 16, requests: int = 300
) -> tuple[DramRun, DramRun]:
    """Runs of both pseudo channels of an HBM channel: the same device, and else nothing alike.

    In one pair of four both want all that their buses can carry: small reads on every bank.
    """
    rng = np.random.default_rng([2, seed])
    if rng.random() < 0.25:
        first, second = (
            _saturating_run(rng, preset, queue_depth, requests) for _ in range(PSEUDO_CHANNELS)
        )
    else:
        first, second = (
            random_dram_run(each, preset, queue_depth=queue_depth, requests=requests)
            for each in (seed, OTHER_PSEUDO_CHANNEL + seed)
        )
    return first, second


def _saturating_run(
    rng: np.random.Generator, preset: MemoryPreset, queue_depth: int, requests: int
) -> DramRun:
    """Reads of one or two bursts on every bank, always offered; any kind of refresh."""
    places = {"banks": preset.banks, "rows": preset.organization.rows}
    settings = FrontEndSettings(
        outstanding=int(rng.choice([64, 256])),
        refresh_group=int(rng.integers(0, 9)),
        per_bank=bool(rng.integers(2)) and preset.per_bank_refresh,
    )
    return DramRun(
        preset=preset,
        reads=random_requests(rng, preset, 4 * requests, int(rng.integers(1, 3)), **places),
        writes=random_requests(rng, preset, 0, 1, **places),
        settings=settings,
        queue_depth=queue_depth,
        seed=int(rng.integers(0, 1 << 62)),
    )
