"""How long a channel of memory needs for one embedding vector at a random place.

`access_time` takes the name of a memory preset. Names that end in `-paper` are calibrated: the
rates that the paper's tables imply (its DRAM timings are not printed). All others are the bound
that the devices' published timings allow: one activate per vector, the row closed after its last
burst, all-bank refresh.
"""

import math
from dataclasses import dataclass, replace
from functools import cache

from recspeed.models.performance.errors import SpecificationError


@dataclass(frozen=True)
class Timing:
    """Timings of one channel, in clocks of `clock_ns`, except where a unit is named.

    `shared_command_bus` is true where one command leaves per clock, row or column alike.
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
    shared_command_bus: bool = False

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
        ]
        if self.shared_command_bus:
            limits.append(bursts + 1)
        return max(limits) / (1 - self.tRFC / self.tREFI)


_HBM2_2000 = Timing(
    clock_ns=1.0, burst_bytes=32, burst=2, banks=16, tCCD_S=2, tCCD_L=4, tRRD_S=4, tFAW=16,
    tRCD=14, tRP=14, tRAS=33, tRC=47, tRTP=5, tREFI=3900, tRFC=350,
)  # fmt: skip
"""HBM2 pseudo channel at 2.0 Gb/s, as Samsung published it with its processing-in-memory
simulator.
"""

_DDR4_3200 = Timing(
    clock_ns=0.625, burst_bytes=64, burst=4, banks=16, tCCD_S=4, tCCD_L=8, tRRD_S=4, tFAW=34,
    tRCD=22, tRP=22, tRAS=52, tRC=74, tRTP=12, tREFI=12480, tRFC=560, shared_command_bus=True,
)  # fmt: skip
"""DDR4-3200AA x8, 8 Gb, one rank (JESD79-4)."""

_GDDR6_14000 = Timing(
    clock_ns=0.57, burst_bytes=32, burst=2, banks=16, tCCD_S=2, tCCD_L=4, tRRD_S=8, tFAW=29,
    tRCD=27, tRP=27, tRAS=53, tRC=79, tRTP=4, tREFI=3333, tRFC=211, shared_command_bus=True,
)  # fmt: skip
"""GDDR6 channel of 16 bits at 14 Gb/s and 1.35 V."""

TIMINGS: dict[str, Timing] = {
    "hbm2-2000": _HBM2_2000,
    "hbm2-2300": _HBM2_2000.at_clock(1 / 1.15),
    "hbm2-2430": _HBM2_2000.at_clock(1 / 1.215),
    "hbm2e-2400": _HBM2_2000.at_clock(1 / 1.2),
    "hbm2e-3000": _HBM2_2000.at_clock(1 / 1.5),
    "ddr4-3200": _DDR4_3200,
    "ddr4-3200-2rank": replace(_DDR4_3200, ranks=2),
    "ddr4-2400": _DDR4_3200.at_clock(1 / 1.2),
    "ddr4-2400-32bit": replace(_DDR4_3200.at_clock(1 / 1.2), burst_bytes=32),
    "gddr6-16000": _GDDR6_14000.at_clock(0.5),
}
"""Other rates than the published ones keep the nanoseconds: no vendor publishes a full HBM2E set.
"""

CALIBRATED: dict[str, tuple[str, tuple[tuple[int, float], tuple[int, float]]]] = {
    "hbm2e-3000-paper": ("hbm2e-3000", ((64, 5.41), (256, 13.3))),
    "hbm2-2300-paper": ("hbm2-2300", ((64, 5.8), (256, 17.5))),
}
"""Preset: the device, and (bytes, ns per vector) at the two sizes of the paper's Tables XVI and
XVII.

The tables bound these to 5.38..5.41 and 13.1..13.5 ns (RecSpeed) and 5.66..5.94 and 16.3..17.8 ns
(DGX-2); other sizes lie on the line through both points.
"""


def preset_names() -> list[str]:
    """All memory presets that `access_time` knows."""
    return sorted([*TIMINGS, *CALIBRATED])


def _timing(name: str) -> Timing:
    device = CALIBRATED[name][0] if name in CALIBRATED else name
    if device not in TIMINGS:
        raise SpecificationError(
            f"memory preset '{name}' does not exist; there are {', '.join(preset_names())}"
        )
    return TIMINGS[device]


def pin_gb_per_s(name: str) -> float:
    """Data rate of one channel's pins in GB/s."""
    return _timing(name).pin_gb_per_s


def burst_bytes(name: str) -> int:
    """Bytes that the shortest access moves."""
    return _timing(name).burst_bytes


@cache
def jedec_access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel that the published timings of preset `name` allow at best."""
    timing = _timing(name)
    return timing.clocks_per_visit(bytes_per_vector) * timing.clock_ns * 1e-9


@cache
def access_time(name: str, bytes_per_vector: int) -> float:
    """Seconds per vector and channel: calibrated for `-paper` presets, else the timings' bound.

    A calibrated preset never takes less than the pins need for the bursts.
    """
    if name not in CALIBRATED:
        return jedec_access_time(name, bytes_per_vector)
    device, ((low_bytes, low_ns), (high_bytes, high_ns)) = CALIBRATED[name]
    slope = (high_ns - low_ns) / (high_bytes - low_bytes)
    timing = TIMINGS[device]
    bursts = math.ceil(bytes_per_vector / timing.burst_bytes)
    at_pins = bursts * timing.burst * timing.clock_ns
    return max(low_ns + slope * (bytes_per_vector - low_bytes), at_pins) * 1e-9
