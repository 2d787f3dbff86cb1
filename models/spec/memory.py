"""Memory devices: organization, timings with a source each, and what follows from them.

A preset is a TOML file in `models/presets/memory`; a user's own file has the same form. Every
timing is given in clocks, in nanoseconds, or both (then the larger rules, as JEDEC writes it).
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from recspeed.models.spec import toml
from recspeed.models.spec.toml import SpecificationError

FROZEN = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))
BEAT_BYTES = 16
"""Bytes that a pseudo channel moves per clock of its own: 8 FP16 lanes (64 bit, two edges)."""


class Timing(BaseModel):
    """One timing value: `max(clocks, ceil(ns / tCK))`, and where it is from."""

    model_config = FROZEN
    clocks: int | None = Field(default=None, ge=1)
    ns: Decimal | None = Field(default=None, gt=0)
    source: str = Field(min_length=4)

    @model_validator(mode="after")
    def _given(self) -> Self:
        if self.clocks is None and self.ns is None:
            raise ValueError("a timing needs `clocks`, `ns` or both")
        return self

    def in_clocks(self, clock_mhz: Fraction) -> int:
        """The value in whole clocks of `clock_mhz`, rounded up."""
        from_ns = ceil(Fraction(self.ns) * clock_mhz / 1000) if self.ns is not None else 0
        return max(self.clocks or 0, from_ns)


class Organization(BaseModel):
    """What one (pseudo) channel consists of. `rows` counts per bank, `row_bytes` is the page."""

    model_config = FROZEN
    data_rate_mtps: int = Field(gt=0)
    bus_bits: Literal[16, 32, 64]
    burst_length: Literal[4, 8, 16]
    stack_ids: Literal[1, 2, 4]
    bank_groups: Literal[2, 4, 8]
    banks_per_group: Literal[2, 4, 8]
    rows: int = Field(gt=0, le=1 << 20)
    row_bytes: Literal[1024, 2048, 4096, 8192]
    pseudo_channels_per_stack: int = Field(gt=0)
    source: str = Field(min_length=4)


class Capacity(BaseModel):
    """Bytes of one pseudo channel as its vendor states them, to hold the organization against."""

    model_config = FROZEN
    pseudo_channel_mib: int = Field(gt=0)
    source: str = Field(min_length=4)


class Timings(BaseModel):
    """JEDEC's names, of the rules that reads and all-bank refresh meet."""

    model_config = FROZEN
    tCL: Timing
    tRCD: Timing
    tRP: Timing
    tRAS: Timing
    tRC: Timing
    tRTP: Timing
    tCCD_S: Timing
    tCCD_L: Timing
    tCCD_R: Timing
    tRRD_S: Timing
    tRRD_L: Timing
    tFAW: Timing
    tREFI: Timing
    tRFC: Timing


class TimingClocks(BaseModel):
    """`Timings` of a device in whole clocks of its own command clock."""

    model_config = FROZEN
    tCL: int
    tRCD: int
    tRP: int
    tRAS: int
    tRC: int
    tRTP: int
    tCCD_S: int
    tCCD_L: int
    tCCD_R: int
    tRRD_S: int
    tRRD_L: int
    tFAW: int
    tREFI: int
    tRFC: int


class MemoryPreset(BaseModel):
    """One memory device as a front-end sees it: a single pseudo channel.

    A bank's flat number is `(stack_id * banks_per_group + bank) * bank_groups + bank_group`, so
    that consecutive numbers rotate over bank groups.
    """

    model_config = FROZEN
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    family: Literal["hbm2"]
    description: str
    organization: Organization
    capacity: Capacity
    timing: Timings

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        org, clocks = self.organization, self.clocks
        held = org.rows * org.row_bytes * self.banks
        if held != self.capacity.pseudo_channel_mib << 20:
            raise ValueError(
                f"capacity of {self.capacity.pseudo_channel_mib} MiB does not match "
                f"{org.rows} rows x {org.row_bytes} B x {self.banks} banks = {held >> 20} MiB"
            )
        if not 16 <= self.banks <= 64:
            raise ValueError(f"{self.banks} banks per pseudo channel; supported are 16, 32 and 64")
        if self.burst_bytes != 32 or org.bus_bits != 64:
            raise ValueError(
                f"a burst of {self.burst_bytes} B on {org.bus_bits} bits; "
                "an HBM2 pseudo channel moves 32 B on 64 bits (burst length 4)"
            )
        if clocks.tCCD_S < self.burst_clocks:
            raise ValueError(
                f"tCCD_S of {clocks.tCCD_S} is shorter than the burst of {self.burst_clocks} clocks"
            )
        for longer, shorter in (
            ("tCCD_L", "tCCD_S"),
            ("tCCD_R", "tCCD_S"),
            ("tRRD_L", "tRRD_S"),
            ("tFAW", "tRRD_S"),
            ("tRAS", "tRCD"),
            ("tREFI", "tRFC"),
        ):
            if getattr(clocks, longer) < getattr(clocks, shorter):
                raise ValueError(
                    f"{longer} of {getattr(clocks, longer)} clocks is shorter than "
                    f"{shorter} of {getattr(clocks, shorter)}"
                )
        if not clocks.tRAS < clocks.tRC <= clocks.tRAS + clocks.tRP:
            raise ValueError(
                f"tRC of {clocks.tRC} clocks does not fit tRAS {clocks.tRAS} + tRP {clocks.tRP}"
            )
        return self

    @property
    def clock_mhz(self) -> Fraction:
        """Command clock in MHz: half the data rate."""
        return Fraction(self.organization.data_rate_mtps, 2)

    @property
    def clock_ghz(self) -> float:
        return float(self.clock_mhz) / 1000

    @cached_property
    def clocks(self) -> TimingClocks:
        """Every timing in whole clocks."""
        values = {
            name: getattr(self.timing, name).in_clocks(self.clock_mhz)
            for name in TimingClocks.model_fields
        }
        return TimingClocks(**values)

    @property
    def banks(self) -> int:
        """Banks of the pseudo channel over all stack IDs."""
        org = self.organization
        return org.stack_ids * org.bank_groups * org.banks_per_group

    @property
    def burst_bytes(self) -> int:
        return self.organization.burst_length * self.organization.bus_bits // 8

    @property
    def burst_clocks(self) -> int:
        return self.burst_bytes // BEAT_BYTES

    @property
    def bursts_per_row(self) -> int:
        return self.organization.row_bytes // self.burst_bytes

    @property
    def pin_gb_per_s(self) -> float:
        """Peak bytes per nanosecond of one pseudo channel."""
        return self.organization.data_rate_mtps * self.organization.bus_bits / 8000


def _preset_folder() -> Path:
    return Path(str(files("recspeed.models.presets"))) / "memory"


def memory_preset_names() -> list[str]:
    """Names of the presets that ship with the project, sorted."""
    return sorted(path.stem for path in _preset_folder().glob("*.toml"))


@cache
def memory_preset(name: str) -> MemoryPreset:
    """The preset called `name`, or the one in the TOML file that `name` is the path of.

    Raises
    ------
    SpecificationError
        For an unknown name or a file that is no consistent preset.
    """
    if name.endswith(".toml"):
        return toml.load(MemoryPreset, Path(name))
    if name not in memory_preset_names():
        raise SpecificationError(
            f"unknown memory preset '{name}': expected one of {', '.join(memory_preset_names())}, "
            "or a path that ends in .toml"
        )
    return toml.load(MemoryPreset, _preset_folder() / f"{name}.toml")
