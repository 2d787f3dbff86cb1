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
Family = Literal["hbm2", "hbm3", "ddr4", "gddr6"]
DATA_BUSES: dict[Family, tuple[int, int, str]] = {
    "hbm2": (64, 4, "JESD235C, pseudo channel mode"),
    "hbm3": (32, 8, "JESD238, pseudo channel"),
    "ddr4": (64, 8, "JESD79-4, a channel without ECC"),
    "gddr6": (16, 16, "JESD250, x16 mode"),
}
"""Bits of the data bus and burst length of each family (HBM2E is of `hbm2`), and their source."""
COMMAND_BUSES: dict[Family, str] = {
    "hbm2": "separate",
    "hbm3": "separate",
    "ddr4": "shared",
    "gddr6": "shared",
}
"""Whether row and column commands have a bus of their own (JESD235C, JESD238) or share one
(JESD79-4, JESD250)."""
SUPPORTED_BANKS = (8, 16, 32, 64)
"""Banks of a channel that a front-end can have."""
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
        return ceil(self.unrounded(clock_mhz))

    def unrounded(self, clock_mhz: Fraction) -> Fraction:
        """The value in clocks of `clock_mhz`, in parts of one."""
        from_ns = Fraction(self.ns) * clock_mhz / 1000 if self.ns is not None else Fraction(0)
        return max(Fraction(self.clocks or 0), from_ns)


class Organization(BaseModel):
    """What one channel (HBM: pseudo channel) consists of.

    `rows` counts per bank, `row_bytes` is the page. `command_bus`: HBM has a row and a column bus,
    the others share one. `activate_clocks`: clocks for which an ACT takes the row bus.
    """

    model_config = FROZEN
    data_rate_mtps: int = Field(gt=0)
    bus_bits: Literal[16, 32, 64]
    burst_length: Literal[4, 8, 16]
    command_bus: Literal["separate", "shared"]
    activate_clocks: Literal[1, 2]
    ranks: Literal[1, 2, 4] = 1
    stack_ids: Literal[1, 2, 4] = 1
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
    """JEDEC's names. `tRCD` is for reads, `tRCD_WR` for writes; `tRTRS` is between ranks.

    `tRFCpb` and `tRREFD` are given where the device has per-bank refresh. `visit_gap` belongs to
    calibrated presets alone: clocks after a request's last burst in which no burst may start.
    """

    model_config = FROZEN
    tCL: Timing
    tCWL: Timing
    tRCD: Timing
    tRCD_WR: Timing
    tRP: Timing
    tRAS: Timing
    tRC: Timing
    tRTP: Timing
    tWR: Timing
    tWTR_S: Timing
    tWTR_L: Timing
    tCCD_S: Timing
    tCCD_L: Timing
    tCCD_R: Timing | None = None
    tRTRS: Timing | None = None
    tRRD_S: Timing
    tRRD_L: Timing
    tFAW: Timing
    tREFI: Timing
    tRFC: Timing
    tRFCpb: Timing | None = None
    tRREFD: Timing | None = None
    visit_gap: Timing | None = None


class TimingClocks(BaseModel):
    """`Timings` of a device in whole clocks of its own command clock; 0 where it has none."""

    model_config = FROZEN
    tCL: int
    tCWL: int
    tRCD: int
    tRCD_WR: int
    tRP: int
    tRAS: int
    tRC: int
    tRTP: int
    tWR: int
    tWTR_S: int
    tWTR_L: int
    tCCD_S: int
    tCCD_L: int
    tCCD_R: int
    tRTRS: int
    tRRD_S: int
    tRRD_L: int
    tFAW: int
    tREFI: int
    tRFC: int
    tRFCpb: int
    tRREFD: int
    visit_gap: int


class MemoryPreset(BaseModel):
    """One memory device as a front-end sees it: a single channel (HBM: pseudo channel).

    A bank's flat number is `((rank * stack_ids + stack_id) * banks_per_group + bank) * bank_groups
    + bank_group`, so that consecutive numbers rotate over bank groups.
    """

    model_config = FROZEN
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    family: Family
    description: str
    organization: Organization
    capacity: Capacity
    timing: Timings

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_organization()
        self._check_timings()
        return self

    def _check_organization(self) -> None:
        org = self.organization
        held = org.rows * org.row_bytes * self.banks
        if held != self.capacity.pseudo_channel_mib << 20:
            raise ValueError(
                f"capacity of {self.capacity.pseudo_channel_mib} MiB does not match "
                f"{org.rows} rows x {org.row_bytes} B x {self.banks} banks = {held >> 20} MiB"
            )
        if self.banks not in SUPPORTED_BANKS:
            raise ValueError(f"{self.banks} banks per channel; supported are 8, 16, 32 and 64")
        bits, length, source = DATA_BUSES[self.family]
        if (org.bus_bits, org.burst_length) != (bits, length):
            raise ValueError(
                f"a burst length of {org.burst_length} on {org.bus_bits} bits does not fit family "
                f"{self.family}; expected {length} on {bits} bits ({source})"
            )
        if org.command_bus != COMMAND_BUSES[self.family]:
            raise ValueError(
                f"command_bus '{org.command_bus}' does not fit family {self.family}; "
                f"expected '{COMMAND_BUSES[self.family]}'"
            )

    def _check_timings(self) -> None:
        org, clocks = self.organization, self.clocks
        if clocks.tCCD_S < self.burst_clocks:
            raise ValueError(
                f"tCCD_S of {clocks.tCCD_S} is shorter than the burst of {self.burst_clocks} clocks"
            )
        for count, what, name in (
            (org.stack_ids, "stack IDs", "tCCD_R"),
            (org.ranks, "ranks", "tRTRS"),
        ):
            if count > 1 and not getattr(clocks, name):
                raise ValueError(f"{name} is missing: the device has {count} {what}")
        for longer, shorter in (
            ("tCCD_L", "tCCD_S"),
            ("tRRD_L", "tRRD_S"),
            ("tWTR_L", "tWTR_S"),
            ("tFAW", "tRRD_S"),
            ("tRAS", "tRCD"),
            ("tREFI", "tRFC"),
        ):
            if getattr(clocks, longer) < getattr(clocks, shorter):
                raise ValueError(
                    f"{longer} of {getattr(clocks, longer)} clocks is shorter than "
                    f"{shorter} of {getattr(clocks, shorter)}"
                )
        if clocks.tCCD_R and clocks.tCCD_R < clocks.tCCD_S:
            raise ValueError(
                f"tCCD_R of {clocks.tCCD_R} clocks is shorter than tCCD_S of {clocks.tCCD_S}"
            )
        self._check_row_cycle()
        self._check_row_bus()
        self._check_per_bank_refresh()
        if self.read_to_write < 1:
            raise ValueError(f"tCWL of {clocks.tCWL} is too long for tCL of {clocks.tCL}")

    def _check_row_cycle(self) -> None:
        """tRC is tRAS + tRP, up to rounding.

        A value in nanoseconds is exact; one in clocks was rounded by its source, to the next clock
        or the nearest one. The published HBM3 set has a tRC of one clock more than its tRAS and tRP
        (72 against 45 + 26), which three roundings to the nearest clock explain, each of which adds
        or takes half a clock at most. A shorter tRC does no harm: tRAS + tRP holds by itself, as
        in the published GDDR6 set (79 against 53 + 27).
        """
        clocks = self.clocks
        if clocks.tRC <= clocks.tRAS:
            raise ValueError(
                f"tRC of {clocks.tRC} clocks is no longer than tRAS of {clocks.tRAS}: "
                "no time to precharge"
            )
        cycle, *parts = (
            timing.unrounded(self.clock_mhz)
            for timing in (self.timing.tRC, self.timing.tRAS, self.timing.tRP)
        )
        rounded = sum(
            timing.clocks is not None
            for timing in (self.timing.tRC, self.timing.tRAS, self.timing.tRP)
        )
        if cycle > sum(parts) + Fraction(rounded, 2):
            raise ValueError(
                f"tRC of {float(cycle):.4g} clocks exceeds tRAS {float(parts[0]):.4g} + "
                f"tRP {float(parts[1]):.4g} by more than rounding explains"
            )

    def _check_row_bus(self) -> None:
        """The device's own row commands leave an ACT its clocks of the bus.

        An ACT is preceded by another ACT, by an all-bank or by a per-bank refresh, from which these
        three timings count; they are all that a front-end knows of the bus (docs/dram.md).
        """
        taken = self.organization.activate_clocks
        for name in ("tRRD_S", "tRFC", "tRREFD"):
            value = getattr(self.clocks, name)
            if value < taken and getattr(self.timing, name) is not None:
                raise ValueError(
                    f"{name} of {value} clocks is shorter than the {taken} for which an ACT takes "
                    "the row bus (activate_clocks)"
                )

    def _check_per_bank_refresh(self) -> None:
        clocks = self.clocks
        if bool(clocks.tRFCpb) != bool(clocks.tRREFD):
            raise ValueError("tRFCpb and tRREFD go together: per-bank refresh needs both")
        if not clocks.tRREFD:
            return
        if clocks.tRREFD >= self.per_bank_interval:
            raise ValueError(
                f"tRREFD of {clocks.tRREFD} clocks leaves none for activates: a per-bank refresh "
                f"is due every {self.per_bank_interval} (tREFI {clocks.tREFI} / {self.banks} banks)"
            )
        if clocks.tRFCpb >= clocks.tREFI:
            raise ValueError(
                f"tRFCpb of {clocks.tRFCpb} clocks leaves none of the {clocks.tREFI} of tREFI, in "
                "which every bank is refreshed once"
            )

    @property
    def calibrated(self) -> bool:
        """The preset is no device: its row visits have a rate that was measured elsewhere."""
        return self.clocks.visit_gap > 0

    @property
    def clock_mhz(self) -> Fraction:
        """Command clock in MHz: the one in which the channel moves `BEAT_BYTES` per clock."""
        org = self.organization
        return Fraction(org.data_rate_mtps * org.bus_bits, 8 * BEAT_BYTES)

    @property
    def clock_ghz(self) -> float:
        return float(self.clock_mhz) / 1000

    @cached_property
    def clocks(self) -> TimingClocks:
        """Every timing in whole clocks."""
        given = {name: getattr(self.timing, name) for name in TimingClocks.model_fields}
        values = {
            name: 0 if value is None else value.in_clocks(self.clock_mhz)
            for name, value in given.items()
        }
        return TimingClocks(**values)

    @property
    def banks(self) -> int:
        """Banks of the channel over all ranks and stack IDs."""
        return self.organization.ranks * self.banks_per_rank

    @property
    def banks_per_rank(self) -> int:
        """Banks of one rank over all its stack IDs."""
        return self.organization.stack_ids * self.banks_per_stack

    @property
    def banks_per_stack(self) -> int:
        """Banks of one stack ID."""
        return self.organization.bank_groups * self.organization.banks_per_group

    @property
    def per_bank_refresh(self) -> bool:
        """The device has per-bank refresh."""
        return self.clocks.tRFCpb > 0

    @property
    def per_bank_interval(self) -> int:
        """tREFIpb, clocks per per-bank refresh: every bank once per tREFI (JESD235C)."""
        return self.clocks.tREFI // self.banks

    @property
    def read_to_write(self) -> int:
        """Clocks from a read to a write command, so that their data does not collide.

        JESD79-4: read latency + burst + 2 for the preamble - write latency; the other families
        have the same form.
        """
        return self.clocks.tCL + self.burst_clocks + 2 - self.clocks.tCWL

    def write_to_read(self, *, same_group: bool) -> int:
        """Clocks from a write to a read command of the same rank: data end + tWTR (JEDEC)."""
        t = self.clocks
        return t.tCWL + self.burst_clocks + (t.tWTR_L if same_group else t.tWTR_S)

    @property
    def write_to_precharge(self) -> int:
        """Clocks from a write to the (auto-)precharge of its bank: data end + tWR (JEDEC)."""
        return self.clocks.tCWL + self.burst_clocks + self.clocks.tWR

    def rank_switch(self, *, write_before: bool, write_after: bool) -> int:
        """Clocks between column commands to different ranks.

        The data of the second begins tRTRS after that of the first ends, at the earliest.
        """
        t = self.clocks
        before = t.tCWL if write_before else t.tCL
        after = t.tCWL if write_after else t.tCL
        return max(before + self.burst_clocks + t.tRTRS - after, 1)

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
