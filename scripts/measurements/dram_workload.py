"""Runs of a DRAM front-end alone: requests of one size at uniformly random places."""

from fractions import Fraction
from math import ceil

import numpy as np

from recspeed.models.bounds.visits import VisitBound, visit_bound
from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramRun
from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.front_end import MAXIMUM_BURSTS, FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.scripts.console import UserError

QUEUE_DEPTH = 16
"""Requests per bank and direction that a front-end holds, unless a sweep says otherwise."""
PATTERN_BITS = 64


def check_request(
    preset: MemoryPreset, size: int, settings: FrontEndSettings, pseudo_channels: int = 1
) -> None:
    """Refuse what no request of `preset` can move, and what the device does not have.

    Raises
    ------
    UserError
        For no bytes, more than 32 bursts or a DRAM row; for per-bank refresh and for a second
        pseudo channel of a device without it.
    """
    most = min(MAXIMUM_BURSTS * preset.burst_bytes, preset.organization.row_bytes)
    if not 1 <= size <= most:
        raise UserError(
            f"--bytes {size}: one request of {preset.name} moves 1 to {most} B "
            f"({most // preset.burst_bytes} bursts of {preset.burst_bytes} B)"
        )
    if settings.per_bank and not preset.per_bank_refresh:
        raise UserError(
            f"--refresh per-bank: {preset.name} has no per-bank refresh; expected all-bank or off"
        )
    if pseudo_channels > 1 and preset.organization.command_bus != "separate":
        raise UserError(
            f"--pseudo-channels {pseudo_channels}: {preset.name} has no pseudo channels that share "
            "command buses; expected 1"
        )


def random_run(
    preset: MemoryPreset,
    size: int,
    requests: int,
    *,
    settings: FrontEndSettings,
    writes: float = 0.0,
    hit_rate: float = 0.0,
    queue_depth: int = QUEUE_DEPTH,
    seed: int = 0,
) -> DramRun:
    """Requests of `size` B, uniformly random over the channel; reads and writes independently.

    Parameters
    ----------
    writes
        Share of the requests that write. Of unequal shares the smaller one is paced (`patterns`).
    hit_rate
        Probability that a request is for the DRAM row of the previous request of its direction to
        its bank.

    Raises
    ------
    UserError
        For a size that no request has, or per-bank refresh of a device without it.
    """
    check_request(preset, size, settings)
    written = round(requests * writes)
    rate = preset.organization.data_rate_mtps
    parts = [
        _requests(np.random.default_rng([seed, size, rate, part]), preset, size, count, hit_rate)
        for part, count in enumerate((requests - written, written))
    ]
    return DramRun(
        preset=preset,
        reads=parts[0],
        writes=parts[1],
        settings=settings,
        queue_depth=queue_depth,
        patterns=patterns(preset, size, settings, writes),
        seed=seed,
    )


def _requests(
    generator: np.random.Generator, preset: MemoryPreset, size: int, count: int, hit_rate: float
) -> np.ndarray:
    requests = np.zeros(count, dtype=REQUESTS)
    bursts = ceil(size / preset.burst_bytes)
    requests["bank"] = generator.integers(0, preset.banks, count)
    requests["bursts"] = bursts
    requests["column"] = bursts * generator.integers(0, preset.bursts_per_row // bursts, count)
    rows = generator.integers(0, preset.organization.rows, count)
    opens = generator.random(count) >= hit_rate
    # In the order of each bank, a hit takes the row of the last request before it that is none.
    order = np.argsort(requests["bank"], kind="stable")
    opens = opens[order]
    opens[np.flatnonzero(np.diff(requests["bank"][order], prepend=-1))] = True
    latest = np.maximum.accumulate(np.where(opens, np.arange(count), 0))
    requests["row"][order] = rows[order][latest]
    return requests


def patterns(
    preset: MemoryPreset, size: int, settings: FrontEndSettings, writes: float
) -> DramPatterns:
    """When each source offers: the smaller direction no faster than its share of the bound.

    Without that a front-end, which gives both directions their turn, would serve equal parts until
    the smaller one is used up, and the rest of the run would be no mix. Writes are paced by beats
    of data, reads by requests; a pattern has 64 steps, and the pace is rounded up to one.
    """
    if not 0 < writes < 1 or writes == 0.5:
        return DramPatterns()
    visits_per_clock = 1 / request_bound(preset, size, settings, writes).clocks
    if writes < 0.5:
        beats = ceil(size / preset.burst_bytes) * preset.burst_clocks
        return DramPatterns(write_data=pace(Fraction(writes) * beats * visits_per_clock))
    return DramPatterns(reads=pace((1 - Fraction(writes)) * visits_per_clock))


def pace(rate: Fraction) -> int:
    """A pattern of at least `rate` offers per clock, spread evenly."""
    ones = min(PATTERN_BITS, max(1, ceil(rate * PATTERN_BITS)))
    if ones == PATTERN_BITS:
        return ALWAYS
    steps = [(bit + 1) * ones // PATTERN_BITS - bit * ones // PATTERN_BITS for bit in range(64)]
    return sum(1 << bit for bit, step in enumerate(steps) if step)


def request_bound(
    preset: MemoryPreset,
    size: int,
    settings: FrontEndSettings,
    writes: float,
    pseudo_channels: int = 1,
) -> VisitBound:
    """The JEDEC bound of requests that each open their row, for each of equal pseudo channels.

    Raises
    ------
    UserError
        For a preset whose refresh leaves no clock.
    """
    try:
        return visit_bound(
            preset,
            size,
            refresh=settings.refresh_group > 0,
            per_bank=settings.per_bank,
            write_share=Fraction(writes).limit_denominator(10_000),
            pseudo_channels=pseudo_channels,
        )
    except ValueError as error:
        raise UserError(str(error)) from None
