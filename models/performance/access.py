"""How long a channel of memory needs for one embedding vector at a random place.

`access_time` takes the name of a memory preset. Names that end in `-paper` are calibrated: the
rates that the paper's tables imply (its DRAM timings are not printed). All others are the bound
that the devices' published timings allow: one activate per vector, the row closed after its last
burst, all-bank refresh.

Names that end in `-golden` are what the golden cycle model of the memory channel reaches.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from recspeed.models.bounds import visit_bound
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.golden import golden_clocks_per_visit
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names


@dataclass(frozen=True)
class Timing:
    """Timings of one DDR4 or GDDR6 channel, in clocks of `clock_ns`, except where a unit is named.

    Row and column commands share one bus: a visit needs one activate and a command per burst.
    """

    clock_ns: float
    burst_bytes: int
    burst: int
    banks: int
    tCCD_S: int
    tCCD_L: int
    tRRD_S: int
    tFAW: int
    tRCD: int
    tRP: int
    tRAS: int
    tRC: int
    tRTP: int
    tREFI: int
    tRFC: int
    ranks: int = 1

    @property
    def pin_gb_per_s(self) -> float:
        """Data rate of the channel's pins in GB/s."""
        return self.burst_bytes / (self.burst * self.clock_ns)

    def at_clock(self, clock_ns: float) -> "Timing":
        """The same device at another clock: nanoseconds kept and rounded up, bursts kept in
        clocks.
        """
        scale = self.clock_ns / clock_ns
        names = ("tRRD_S", "tFAW", "tRCD", "tRP", "tRAS", "tRC", "tRTP", "tREFI", "tRFC")
        scaled = {name: math.ceil(getattr(self, name) * scale - 1e-9) for name in names}
        return replace(self, clock_ns=clock_ns, **scaled)

    def clocks_per_visit(self, bytes_per_vector: int) -> float:
        """Least clocks per random row visit: bus, tRRD, tFAW, banks or commands bind."""
        bursts = math.ceil(bytes_per_vector / self.burst_bytes)
        busy = max(self.tRAS, self.tRCD + (bursts - 1) * self.tCCD_L + self.tRTP) + self.tRP
        limits = [
            bursts * max(self.tCCD_S, self.burst),
            self.tRRD_S / self.ranks,
            self.tFAW / 4 / self.ranks,
            max(self.tRC, busy) / (self.banks * self.ranks),
            bursts + 1,
        ]
        return max(limits) / (1 - self.tRFC / self.tREFI)


_DDR4_3200 = Timing(
    clock_ns=0.625, burst_bytes=64, burst=4, banks=16, tCCD_S=4, tCCD_L=8, tRRD_S=4, tFAW=34,
    tRCD=22, tRP=22, tRAS=52, tRC=74, tRTP=12, tREFI=12480, tRFC=560,
)  # fmt: skip
"""DDR4-3200AA x8, 8 Gb, one rank (JESD79-4)."""

_GDDR6_14000 = Timing(
    clock_ns=0.57, burst_bytes=32, burst=2, banks=16, tCCD_S=2, tCCD_L=4, tRRD_S=8, tFAW=29,
    tRCD=27, tRP=27, tRAS=53, tRC=79, tRTP=4, tREFI=3333, tRFC=211,
)  # fmt: skip
"""GDDR6 channel of 16 bits at 14 Gb/s and 1.35 V."""

TIMINGS: dict[str, Timing] = {
    "ddr4-3200": _DDR4_3200,
    "ddr4-3200-2rank": replace(_DDR4_3200, ranks=2),
    "ddr4-2400": _DDR4_3200.at_clock(1 / 1.2),
    "ddr4-2400-32bit": replace(_DDR4_3200.at_clock(1 / 1.2), burst_bytes=32),
    "gddr6-16000": _GDDR6_14000.at_clock(0.5),
}
"""Memories that have no preset file. Other rates than the published ones keep the nanoseconds."""

SCALED: dict[str, tuple[str, int]] = {
    "hbm2-2300": ("hbm2e-3000", 2300),
    "hbm2-2430": ("hbm2e-3000", 2430),
    "hbm2e-2400": ("hbm2e-3000", 2400),
}
"""Name: the preset file whose nanoseconds hold, and the data rate in Mb/s per pin."""

CALIBRATED: dict[str, tuple[str, tuple[tuple[int, float], tuple[int, float]]]] = {
    "hbm2e-3000-paper": ("hbm2e-3000", ((64, 5.41), (256, 13.3))),
    "hbm2-2300-paper": ("hbm2-2300", ((64, 5.8), (256, 17.5))),
}
"""Preset: the device, and (bytes, ns per vector) at the two sizes of the paper's Tables XVI and
XVII.

The tables bound these to 5.38..5.41 and 13.1..13.5 ns (RecSpeed) and 5.66..5.94 and 16.3..17.8 ns
(DGX-2); other sizes lie on the line through both points.
"""


GOLDEN = "-golden"
"""Suffix of an HBM preset's name: its rate as the golden model of the memory channel runs it."""


def preset_names() -> list[str]:
    """All memory presets that `access_time` knows; HBM presets also exist as `NAME-golden`."""
    return sorted({*memory_preset_names(), *SCALED, *TIMINGS, *CALIBRATED})


@cache
def _preset(name: str) -> MemoryPreset | Timing:
    """The device behind a name: a preset file (by name or path), or a set of this module."""
    device = CALIBRATED[name][0] if name in CALIBRATED else name.removesuffix(GOLDEN)
    if device in TIMINGS and name.endswith(GOLDEN):
        raise SpecificationError(f"memory preset '{name}': only HBM has a golden channel model")
    if device in SCALED:
        base, rate = SCALED[device]
        preset = memory_preset(base)
        organization = preset.organization.model_copy(update={"data_rate_mtps": rate})
        values = {key: getattr(preset, key) for key in MemoryPreset.model_fields}
        return MemoryPreset.model_validate(values | {"name": device, "organization": organization})
    if device in TIMINGS:
        return TIMINGS[device]
    if device.endswith(".toml") or device in memory_preset_names():
        return memory_preset(device)
    raise SpecificationError(
        f"memory preset '{name}' does not exist; there are {', '.join(preset_names())},"
        " or give the path of a .toml file"
    )


def pin_gb_per_s(name: str) -> float:
    """Data rate of one channel's pins in GB/s."""
    return _preset(name).pin_gb_per_s


def burst_bytes(name: str) -> int:
    """Bytes that the shortest access moves."""
    return _preset(name).burst_bytes


@cache
def jedec_access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel that the published timings of preset `name` allow at best.

    A vector longer than a DRAM row takes one visit for every row that it fills.
    """
    device = _preset(name)
    if isinstance(device, Timing):
        return device.clocks_per_visit(bytes_per_vector) * device.clock_ns * 1e-9
    return _visits(device, bytes_per_vector, lambda size: float(visit_bound(device, size).clocks))


def _visits(device: MemoryPreset, size: int, clocks: Callable[[int], float]) -> float:
    """Seconds for a vector of `size` bytes, whole DRAM rows first; `clocks` is for one visit."""
    whole, rest = divmod(size, device.organization.row_bytes)
    total = whole * clocks(device.organization.row_bytes) if whole else 0.0
    total += clocks(rest) if rest else 0.0
    return total / device.clock_ghz * 1e-9


@cache
def golden_access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel in the golden cycle model; `name` without the suffix."""
    device = _preset(name + GOLDEN)
    assert isinstance(device, MemoryPreset)
    return _visits(device, bytes_per_vector, lambda size: golden_clocks_per_visit(device, size))


@cache
def access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel: the timings' bound, or as the name's suffix says.

    A calibrated preset never takes less than the pins need for whole bursts.
    """
    if name.endswith(GOLDEN):
        return golden_access_time(name.removesuffix(GOLDEN), bytes_per_vector)
    if name not in CALIBRATED:
        return jedec_access_time(name, bytes_per_vector)
    _, ((low_bytes, low_ns), (high_bytes, high_ns)) = CALIBRATED[name]
    slope = (high_ns - low_ns) / (high_bytes - low_bytes)
    burst = burst_bytes(name)
    at_pins = math.ceil(bytes_per_vector / burst) * burst / pin_gb_per_s(name)
    return max(low_ns + slope * (bytes_per_vector - low_bytes), at_pins) * 1e-9
