"""How long a channel of memory needs for one embedding vector at a random place.

`access_time` takes the name of a memory (`devices.py`): its time is the bound that the device's
timings allow (`models/bounds/visits.py`): one activate per vector, the row closed after its last
burst, all-bank refresh.

Names that end in `-golden` are what the golden cycle model of the memory channel reaches. The
presets that end in `-paper` are calibrated: the rates that the paper's tables imply (its DRAM
timings are not printed).
"""

import math
from collections.abc import Callable
from functools import cache

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.performance.golden_access import golden_clocks_per_visit
from recspeed.models.spec.device import GOLDEN, Device, device
from recspeed.models.spec.table import MAXIMUM_VECTOR_BYTES

CALIBRATED: dict[str, tuple[tuple[int, float], tuple[int, float]]] = {
    "hbm2e-3000-paper": ((64, 5.41), (256, 13.3)),
    "hbm2-2300-paper": ((64, 5.8), (256, 17.5)),
}
"""Preset: (bytes, ns per vector) at the two sizes of the paper's Tables XVI and XVII.

The tables bound these to 5.38..5.41 and 13.1..13.5 ns (RecSpeed) and 5.66..5.94 and 16.3..17.8 ns
(DGX-2); other sizes lie on the line through both points. The preset's own timings are this
calibration in whole clocks, which is all that a front-end can keep.
"""


def pin_gb_per_s(name: str) -> float:
    """Data rate of one channel's pins in GB/s."""
    return device(name).pin_gb_per_s


def burst_bytes(name: str) -> int:
    """Bytes that the shortest access moves."""
    return device(name).burst_bytes


@cache
def jedec_access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel that the timings of preset `name` allow at best.

    A vector longer than a DRAM row takes one visit for every row that it fills.
    """
    memory = device(name)
    return _visits(
        memory,
        bytes_per_vector,
        memory.preset.organization.row_bytes,
        lambda size: float(visit_bound(memory.preset, size).clocks),
    )


def _visits(
    memory: Device, bytes_per_vector: int, longest: int, clocks: Callable[[int], float]
) -> float:
    """Seconds for a vector in visits of at most `longest` bytes, as many whole ones as it fills.

    `longest` and the argument of `clocks`, which is for one visit, count over the whole bus.
    """
    whole, rest = divmod(bytes_per_vector * memory.split, longest)
    total = whole * clocks(longest) if whole else 0.0
    total += clocks(rest) if rest else 0.0
    return total / memory.preset.clock_ghz * 1e-9


@cache
def golden_access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel in the golden cycle model; `name` without the suffix.

    A visit moves a DRAM row at most, and no more than a lookup of the pooling engine can.
    """
    memory = device(name)
    longest = min(memory.preset.organization.row_bytes, MAXIMUM_VECTOR_BYTES)
    return _visits(
        memory,
        bytes_per_vector,
        longest,
        lambda size: golden_clocks_per_visit(memory.preset, size),
    )


@cache
def access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel: the timings' bound, or as the name's suffix says.

    A calibrated preset never takes less than the pins need for whole bursts.
    """
    if name.endswith(GOLDEN):
        return golden_access_time(name.removesuffix(GOLDEN), bytes_per_vector)
    if name not in CALIBRATED:
        return jedec_access_time(name, bytes_per_vector)
    (low_bytes, low_ns), (high_bytes, high_ns) = CALIBRATED[name]
    slope = (high_ns - low_ns) / (high_bytes - low_bytes)
    burst = burst_bytes(name)
    at_pins = math.ceil(bytes_per_vector / burst) * burst / pin_gb_per_s(name)
    return max(low_ns + slope * (bytes_per_vector - low_bytes), at_pins) * 1e-9
