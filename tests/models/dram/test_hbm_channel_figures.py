"""What sharing the command buses costs: both pseudo channels saturated, beside each run alone.

Random vectors, 64 bursts outstanding (the default); with 128 the cost is within half a percent. It
is in the rows where two clocks for each ACT of both fill the row bus (hbm2-2000, 64 B: half a
percent), and in the columns where there are stack IDs: a turn between two of them leaves a clock of
the column bus empty that neither pseudo channel can use, so each pays for the turns of both.
"""

from functools import cache

import numpy as np
import pytest
from support.cluster_runs import preset_with
from support.dram_runs import random_requests

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset, memory_preset

REQUESTS = 100_000
SIZES = (32, 64, 96, 128, 192, 256)
MEMORIES = ("hbm2-2000", "hbm2e-3000", "hbm3-6400")
REACHED = {
    ("hbm2-2000", False): (0.451, 0.877, 0.906, 0.906, 0.906, 0.906),
    ("hbm2-2000", True): (0.482, 0.930, 0.998, 0.999, 0.998, 0.997),
    ("hbm2e-3000", False): (0.302, 0.604, 0.868, 0.880, 0.875, 0.858),
    ("hbm2e-3000", True): (0.310, 0.622, 0.919, 0.959, 0.951, 0.929),
    ("hbm3-6400", False): (0.301, 0.603, 0.859, 0.873, 0.867, 0.852),
    ("hbm3-6400", True): (0.326, 0.654, 0.918, 0.941, 0.933, 0.910),
}
"""Fraction of pin rate of each pseudo channel, by memory and per-bank refresh."""
COST = {
    ("hbm2-2000", False): (0.001, 0.005, 0.001, 0.001, 0.001, 0.001),
    ("hbm2-2000", True): (0.001, 0.007, 0.001, 0.001, 0.001, 0.001),
    ("hbm2e-3000", False): (0.001, 0.001, 0.015, 0.010, 0.016, 0.024),
    ("hbm2e-3000", True): (0.001, 0.001, 0.010, 0.014, 0.020, 0.029),
    ("hbm3-6400", False): (0.001, 0.001, 0.018, 0.014, 0.018, 0.025),
    ("hbm3-6400", True): (0.003, 0.001, 0.025, 0.022, 0.025, 0.033),
}
"""Part of what each reaches alone that sharing takes at most."""


def saturating_pair(
    preset: MemoryPreset, size: int, write_share: float = 0.0, **settings
) -> tuple[DramRun, DramRun]:
    """`REQUESTS` vectors of `size` bytes at random places for each pseudo channel."""
    bursts, writes = -(-size // preset.burst_bytes), int(REQUESTS * write_share)
    runs = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        reads = random_requests(rng, preset, REQUESTS - writes, bursts)
        written = random_requests(rng, preset, writes, bursts)
        runs.append(DramRun(preset, reads, written, FrontEndSettings(**settings)))
    return runs[0], runs[1]


def fractions(results, size: int) -> np.ndarray:
    """Vector bytes over what the pins move in the time of each run."""
    return np.array([REQUESTS * size / BEAT_BYTES / result.cycles for result in results])


@cache
def measured(name: str, per_bank: bool, outstanding: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Fractions alone and together: float[sizes, 2] each."""
    alone, together = [], []
    for size in SIZES:
        pair = saturating_pair(
            memory_preset(name), size, per_bank=per_bank, outstanding=outstanding
        )
        results = [simulate_dram(run, record_beats=False) for run in pair]
        alone.append(fractions(results, size))
        together.append(fractions(simulate_hbm_channel(pair, record_beats=False), size))
    return np.array(alone), np.array(together)


def bounds(name: str, **options) -> np.ndarray:
    preset = memory_preset(name)
    return np.array(
        [visit_bound(preset, size, pseudo_channels=2, **options).fraction_of_pin for size in SIZES]
    )


@pytest.mark.parametrize(("name", "per_bank"), REACHED)
def test_cost_of_sharing(name, per_bank):
    alone, together = measured(name, per_bank)
    cost = 1 - together / alone
    print(f"\n{name}, {'per' if per_bank else 'all'}-bank refresh: fraction of pin rate")
    print("bytes  alone          together       cost in %    bound of two")
    for size, one, both, lost, bound in zip(
        SIZES, alone, together, 100 * cost, bounds(name, per_bank=per_bank), strict=True
    ):
        print(
            f"{size:5d}  {one[0]:.4f} {one[1]:.4f}  {both[0]:.4f} {both[1]:.4f}  "
            f"{lost[0]:5.2f} {lost[1]:5.2f}  {bound:.4f}"
        )
    assert (together.min(axis=1) >= REACHED[name, per_bank]).all()
    assert (cost.max(axis=1) <= COST[name, per_bank]).all()


@pytest.mark.parametrize(("name", "per_bank"), REACHED)
def test_with_128_outstanding_sharing_costs_half_a_percent(name, per_bank):
    alone, together = measured(name, per_bank, outstanding=128)
    assert (together >= 0.995 * alone).all()


@pytest.mark.parametrize(("name", "per_bank"), REACHED)
def test_neither_exceeds_the_bound_of_two(name, per_bank):
    for outstanding in (64, 128):
        _, together = measured(name, per_bank, outstanding)
        assert (together <= bounds(name, per_bank=per_bank)[:, None]).all()


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_neither_exceeds_the_bound_of_two_with_writes(name, share):
    preset = memory_preset(name)
    limits = bounds(name, write_share=share)
    for size, bound in zip(SIZES, limits, strict=True):
        pair = saturating_pair(preset, size, share)
        assert (fractions(simulate_hbm_channel(pair, record_beats=False), size) <= bound).all()


@pytest.mark.parametrize("per_bank", [False, True])
def test_where_the_row_bus_binds_its_bound_is_reached(per_bank):
    """ACTs as near as a row bus of one's own allows: shared, each gets half of them, but for a few.

    The bound is of halves; who is a little ahead exceeds it by itself, the two together do not.
    """
    preset = preset_with("dense-rows", stack_ids=4, tRRD_S=2, tRRD_L=2, tFAW=8, tRREFD=2)
    pair = saturating_pair(preset, 32, per_bank=per_bank, outstanding=128)
    one, two = (
        visit_bound(preset, 32, per_bank=per_bank, pseudo_channels=count) for count in (1, 2)
    )
    assert two.limiters == ("row bus",)
    assert two.clocks > 1.9 * one.clocks
    alone = fractions([simulate_dram(run, record_beats=False) for run in pair], 32)
    results = simulate_hbm_channel(pair, record_beats=False)
    together = fractions(results, 32)
    print(f"\nalone {alone} of {one.fraction_of_pin:.4f}, both {together} of {two.fraction_of_pin}")
    end = min(result.cycles for result in results)
    activates = [
        ((log.commands["command"] == CommandCode.ACT) & (log.commands["cycle"] < end)).sum()
        for log in results
    ]
    assert sum(activates) * two.clocks <= 2 * end
    assert min(activates) >= 0.995 * max(activates)
    assert (together >= 0.97 * two.fraction_of_pin).all()
    assert (alone > 1.3 * together).all()
