"""Fraction of pin rate of the golden front-end: random vectors, 64 bursts outstanding."""

import numpy as np
import pytest
from support.cluster_runs import ALL_PRESETS
from support.dram_runs import random_requests

from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset, memory_preset

SIZES = (32, 64, 96, 128, 192, 256)
REACHED = {
    ("hbm2-2000", False): (0.443, 0.875, 0.90, 0.90, 0.90, 0.90),
    ("hbm2-2000", True): (0.47, 0.92, 0.96, 0.96, 0.96, 0.96),
    ("ddr4-3200-x8-1r", False): (0.222, 0.444, 0.662, 0.885, 0.94, 0.94),
    ("ddr4-3200", False): (0.43, 0.88, 0.69, 0.92, 0.94, 0.945),
    ("ddr4-3200-x16", False): (0.158, 0.315, 0.468, 0.625, 0.79, 0.79),
    ("gddr6-14000", False): (0.229, 0.454, 0.675, 0.85, 0.90, 0.91),
    ("hbm3-6400", False): (0.302, 0.58, 0.75, 0.85, 0.85, 0.85),
}
"""By memory and per-bank refresh."""


def fraction(
    preset: MemoryPreset, size: int, write_share: float = 0.0, count: int = 60_000, **settings
) -> float:
    """Vector bytes over what the pins move in the time of the run, `count` requests."""
    rng = np.random.default_rng(0)
    writes = int(count * write_share)
    bursts = -(-size // preset.burst_bytes)
    run = DramRun(
        preset,
        random_requests(rng, preset, count - writes, bursts),
        random_requests(rng, preset, writes, bursts),
        FrontEndSettings(**settings),
    )
    cycles = simulate_dram(run, record_beats=False).cycles
    return count * size / BEAT_BYTES / cycles


@pytest.mark.parametrize(("name", "per_bank"), REACHED)
def test_reads(name, per_bank):
    """Long enough that groups of refreshes ahead of their time weigh what they do in the end."""
    preset = memory_preset(name)
    found = [round(fraction(preset, size, count=100_000, per_bank=per_bank), 3) for size in SIZES]
    assert all(got >= want for got, want in zip(found, REACHED[name, per_bank], strict=True)), found


def test_reads_with_128_bursts_outstanding_reach_the_bound():
    """Of the bound, which is what refresh leaves, 99 %, where the row slot does not bind."""
    preset = memory_preset("hbm2-2000")
    bound = 1 - preset.clocks.tRFC / preset.clocks.tREFI
    found = [fraction(preset, size, count=100_000, outstanding=128) for size in SIZES[1:]]
    assert min(found) >= 0.99 * bound, found


@pytest.mark.parametrize("name", ALL_PRESETS)
@pytest.mark.parametrize("size", SIZES[1:])
def test_half_writes_keep_four_fifths(name, size):
    preset = memory_preset(name)
    assert fraction(preset, size, 0.5) >= 0.8 * fraction(preset, size)


@pytest.mark.parametrize(
    "name", [name for name in ALL_PRESETS if memory_preset(name).per_bank_refresh]
)
@pytest.mark.parametrize("size", SIZES)
def test_per_bank_refresh_costs_a_twentieth_or_what_the_device_asks(name, size):
    """Each REFpb keeps ACTs away for tRREFD: where the row slot binds, that is the bound."""
    preset = memory_preset(name)
    bound = 1 - preset.clocks.tRREFD / preset.per_bank_interval
    off = fraction(preset, size, refresh_group=0)
    assert fraction(preset, size, per_bank=True) >= min(0.95, 0.98 * bound) * off
