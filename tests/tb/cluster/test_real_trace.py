"""Real lookups through RTL and golden model: the exact sums, found a third time from the trace."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.table import Table, place_tables
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare
from recspeed.tb.cluster.simulation import simulate_clusters

TRACE = Path(__file__).parents[4] / "shared" / "data" / "deeprecsys_tbl1"
BAGS, POOLING_FACTOR, ROWS, ELEMENTS = 32, 80, 1_000_000, 32
SEED = 20
MASK = (1 << 64) - 1

pytestmark = pytest.mark.skipif(not TRACE.exists(), reason=f"{TRACE.name} is not there")


def hashed_elements(preset: MemoryPreset, table: Table, vector: int) -> list[int]:
    """FP16 bits of a vector, from the definition of hashed content in plain integers."""
    place, bank = divmod(vector, preset.banks)
    column, row = divmod(place, table.row_span)
    first_burst = column * table.bursts(preset)
    found = []
    for number in range(table.elements // 4):
        burst, word = divmod(number, preset.burst_bytes // 8)
        address = ((table.base_row + row) * preset.banks + bank) * preset.bursts_per_row
        x = (address + first_burst + burst) * (preset.burst_bytes // 8) + word
        x = (x + SEED * 0xA0761D6478BD642F) * 0x9E3779B97F4A7C15 & MASK
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & MASK
        x ^= x >> 32
        for lane in range(4):
            bits = x >> 16 * lane & 0xFFFF
            found.append(bits & ~0x4000 if bits & 0x7C00 == 0x7C00 else bits)
    return found


def value(bits: int) -> Fraction:
    """A finite FP16 number, by the definition of its format."""
    exponent, fraction = bits >> 10 & 31, bits & 1023
    magnitude = Fraction(fraction if exponent == 0 else 1024 + fraction) / (1 << 24)
    return (-1 if bits >> 15 else 1) * magnitude * (1 << max(exponent - 1, 0))


def rounded_to_fp32(total: Fraction) -> int:
    """Bit pattern of the nearest FP32 number, ties to even."""
    if total == 0:
        return 0
    step = Fraction(1, 1 << 24)
    while abs(total) >= step * (1 << 24):
        step *= 2
    nearest = round(total / step) * step
    return int(np.float32(float(nearest)).view(np.uint32))


@pytest.mark.parametrize("name", ["hbm2-2000", "hbm2e-3000"])
def test_the_bags_of_a_real_trace(name):
    lines = TRACE.read_text().replace("\n", ",").split(",")
    indices = np.array([int(word) for word in lines if word.strip()], dtype=np.int64)
    assert len(indices) == BAGS * POOLING_FACTOR
    assert 0 <= indices.min() <= indices.max() < ROWS
    preset = memory_preset(name)
    tables = place_tables(preset, [(ROWS, 2 * ELEMENTS)])
    run = ClusterRun(
        preset=preset,
        tables=tables,
        bag_tables=np.zeros(BAGS, dtype=np.int64),
        bag_lengths=np.full(BAGS, POOLING_FACTOR, dtype=np.int64),
        indices=indices,
        settings=ClusterSettings(output="fp32"),
        seed=SEED,
    )
    golden = simulate_cluster(run)
    (rtl,) = simulate_clusters([run])
    assert compare(rtl, golden) == []
    assert jedec.check(preset, rtl.commands).violations == []

    sums = [
        [
            sum((value(bits) for bits in lane), Fraction(0))
            for lane in zip(*(hashed_elements(preset, tables[0], v) for v in bag), strict=True)
        ]
        for bag in indices.reshape(BAGS, POOLING_FACTOR).tolist()
    ]
    expected = [[rounded_to_fp32(total) for total in bag] for bag in sums]
    assert rtl.lanes.reshape(BAGS, ELEMENTS).tolist() == expected
