"""The memory devices that a system may name: the presets, and these at other data rates.

A name is that of a preset in `models/presets/memory`, the path of a user's own file, or one of
`DERIVED`; `-golden` behind it asks for the rate in the golden model
(`models/performance/access.py`).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil

from recspeed.models.spec.memory import (
    MemoryPreset,
    Timing,
    Timings,
    memory_preset,
    memory_preset_names,
)
from recspeed.models.spec.toml import SpecificationError

GOLDEN = "-golden"
"""Suffix of a memory's name: its rate as the golden model of the memory channel runs it."""

KEPT_IN_CLOCKS = ("tCCD_S", "tCCD_L", "tCCD_R", "tRTRS")
"""Timings of the data bus: they keep their clocks at any data rate, as bursts do."""


@dataclass(frozen=True)
class Device:
    """A channel of `preset`, or one of the `split` narrower channels that its bus makes.

    A channel of half the bits needs as many bursts for a vector as the whole one for two of them,
    from rows of half the size, and so the same clocks.
    """

    preset: MemoryPreset
    split: int = 1

    @property
    def pin_gb_per_s(self) -> float:
        """Data rate of the channel's pins in GB/s."""
        return self.preset.pin_gb_per_s / self.split

    @property
    def burst_bytes(self) -> int:
        """Bytes that the shortest access moves."""
        return self.preset.burst_bytes // self.split


@dataclass(frozen=True)
class Derivation:
    """A device without a preset of its own: `base` at `data_rate_mtps` Mb/s per pin, its bus
    split in `split` channels.
    """

    base: str
    data_rate_mtps: int
    split: int = 1


DERIVED: dict[str, Derivation] = {
    "ddr4-2400": Derivation("ddr4-3200", 2400),
    "ddr4-2400-32bit": Derivation("ddr4-3200-x8-1r", 2400, split=2),
    "hbm2-2430": Derivation("hbm2-2300", 2430),
}
"""Devices that the systems need and no preset describes."""


def at_data_rate(preset: MemoryPreset, name: str, data_rate_mtps: int) -> MemoryPreset:
    """The same device at another data rate, as `name`.

    Nanoseconds are kept, and rounded up to whole clocks; timings of the data bus keep their clocks.
    """
    scale = Fraction(data_rate_mtps, preset.organization.data_rate_mtps)

    def at_rate(key: str, timing: Timing | None) -> Timing | None:
        # What is given in nanoseconds holds as it is, and so does its least number of clocks.
        if timing is None or key in KEPT_IN_CLOCKS or timing.ns is not None:
            return timing
        assert timing.clocks is not None
        source = f"{timing.clocks} clocks of {preset.name} in nanoseconds: {timing.source}"
        return Timing(clocks=ceil(timing.clocks * scale), source=source)

    timings = {key: at_rate(key, getattr(preset.timing, key)) for key in Timings.model_fields}
    organization = preset.organization.model_copy(update={"data_rate_mtps": data_rate_mtps})
    values = {key: getattr(preset, key) for key in MemoryPreset.model_fields}
    changes = {
        "name": name,
        "description": f"{preset.name} at {data_rate_mtps} Mb/s per pin",
        "organization": organization,
        "timing": Timings.model_validate(timings),
    }
    return MemoryPreset.model_validate(values | changes)


def device_names() -> list[str]:
    """All names that `device` knows; each also exists as `NAME-golden`."""
    return sorted({*memory_preset_names(), *DERIVED})


@cache
def device(name: str) -> Device:
    """The device behind a memory's name, with or without `-golden`.

    Raises
    ------
    SpecificationError
        For an unknown name, or a file that is no consistent preset.
    """
    plain = name.removesuffix(GOLDEN)
    if plain in DERIVED:
        derivation = DERIVED[plain]
        base = memory_preset(derivation.base)
        return Device(at_data_rate(base, plain, derivation.data_rate_mtps), derivation.split)
    if plain.endswith(".toml") or plain in memory_preset_names():
        return Device(memory_preset(plain))
    raise SpecificationError(
        f"memory preset '{name}' does not exist; there are {', '.join(device_names())},"
        " or give the path of a .toml file"
    )
