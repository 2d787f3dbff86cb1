"""The sweeps of a DRAM front-end: which points each measures, and how they are to be drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import SUPPORTED_BANKS, MemoryPreset
from recspeed.scripts.console import UserError
from recspeed.scripts.measurements.dram_points import DramPoint
from recspeed.scripts.measurements.dram_workload import check_request
from recspeed.scripts.options import Refresh

SIZES = (32, 64, 96, 128, 192, 256)
HITS_PER_ROW = 16
ONE_OF_EACH_FAMILY = ("hbm2-2000", "ddr4-3200", "gddr6-14000", "hbm3-6400")

GOALS: dict[tuple[str, Refresh], tuple[float, ...]] = {
    ("hbm2-2000", Refresh.ALL_BANK): (0.443, 0.875, 0.90, 0.90, 0.90, 0.90),
    ("hbm2-2000", Refresh.PER_BANK): (0.47, 0.92, 0.96, 0.96, 0.96, 0.96),
    ("ddr4-3200-x8-1r", Refresh.ALL_BANK): (0.222, 0.444, 0.662, 0.885, 0.94, 0.94),
    ("ddr4-3200", Refresh.ALL_BANK): (0.43, 0.88, 0.69, 0.92, 0.94, 0.945),
    ("ddr4-3200-x16", Refresh.ALL_BANK): (0.158, 0.315, 0.468, 0.625, 0.79, 0.79),
    ("gddr6-14000", Refresh.ALL_BANK): (0.229, 0.454, 0.675, 0.85, 0.90, 0.91),
    ("hbm3-6400", Refresh.ALL_BANK): (0.302, 0.58, 0.75, 0.85, 0.85, 0.85),
}
"""Fractions of the pin rate that a front-end should reach at `SIZES`, with 64 bursts outstanding.

At or above the best that public DRAM simulators (Ramulator 2.1, DRAMsim3, DRAMSys 5.1) reach on the
same requests. Where the JEDEC bound is lower, `BOUND_GOAL` of the bound.
"""
BOUND_GOAL = 0.98


@dataclass(frozen=True)
class Case:
    """One point of a sweep and where it is drawn: a line of the preset's panel, a place on x."""

    point: DramPoint
    series: str
    x: str
    goal: float | None = None
    """Fraction of the pin rate to reach."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep varies.

    Attributes
    ----------
    bars
        The series whose clocks are drawn as stacked bars; None for those of `bars_x`, side by side.
    varies
        Options of the command that the sweep sets itself.
    bounded
        The JEDEC bound of requests that each open their row holds for every point.
    """

    name: str
    title: str
    axis: str
    cases: Callable[[DramPoint, MemoryPreset], list[Case]]
    bars: str | None
    varies: tuple[str, ...]
    bars_x: str = ""
    bounded: bool = True
    presets: tuple[str, ...] = ONE_OF_EACH_FAMILY


def goal(point: DramPoint) -> float | None:
    """The goal of a point of random reads; `BOUND_GOAL` of its bound where that is lower."""
    wanted = GOALS.get((point.preset.name, point.refresh))
    if wanted is None or point.size not in SIZES:
        return None
    fraction, bound = wanted[SIZES.index(point.size)], point.bound.fraction_of_pin
    return fraction if fraction <= bound else BOUND_GOAL * bound


def with_refresh(point: DramPoint, refresh: Refresh) -> DramPoint:
    group = 0 if refresh is Refresh.OFF else FrontEndSettings().refresh_group
    settings = point.settings.model_copy(
        update={"refresh_group": group, "per_bank": refresh is Refresh.PER_BANK}
    )
    return replace(point, settings=settings)


def _with_settings(point: DramPoint, **values: int) -> DramPoint:
    return replace(point, settings=point.settings.model_copy(update=values))


def _modes(preset: MemoryPreset) -> list[Refresh]:
    return [Refresh.ALL_BANK, *([Refresh.PER_BANK] if preset.per_bank_refresh else [])]


def _sizes(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    cases = []
    for mode in _modes(preset):
        for size in SIZES:
            point = with_refresh(replace(base, size=size), mode)
            cases.append(Case(point, f"{mode} refresh", str(size), goal(point)))
    return cases


def _outstanding(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    return [
        Case(
            _with_settings(replace(base, queue_depth=depth), outstanding=outstanding),
            f"queues of {depth}",
            str(outstanding),
        )
        for depth in (2, 4, 8, 16)
        for outstanding in (4, 8, 16, 32, 64, 128, 256)
    ]


def bank_variants(preset: MemoryPreset) -> list[MemoryPreset]:
    """The preset with other numbers of banks: stack IDs of HBM, ranks of DDR4, else larger groups.

    Capacity grows with the banks; every timing stays. Numbers of banks that a front-end cannot have
    are left out.
    """
    timing = preset.timing
    if timing.tCCD_R is not None:
        part, values = "stack_ids", (1, 2, 4)
    elif timing.tRTRS is not None:
        part, values = "ranks", (1, 2, 4)
    else:
        part, values = "banks_per_group", (2, 4, 8)
    variants = []
    for value in values:
        if preset.banks * value // getattr(preset.organization, part) not in SUPPORTED_BANKS:
            continue
        document = preset.model_dump()
        document["capacity"]["pseudo_channel_mib"] = (
            preset.capacity.pseudo_channel_mib * value // getattr(preset.organization, part)
        )
        document["organization"][part] = value
        variants.append(MemoryPreset.model_validate(document))
    return variants


def _banks(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    return [
        Case(replace(base, preset=variant, size=size), f"{size} B", str(variant.banks))
        for size in (32, 64, 128)
        for variant in bank_variants(preset)
    ]


def _writes(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    return [
        Case(replace(base, size=size, writes=share / 100), f"{size} B", str(share))
        for size in (64, 128, 256)
        for share in (0, 10, 20, 30, 40, 50, 60, 80, 100)
    ]


def _hit_rate(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    return [
        Case(
            _with_settings(replace(base, hit_rate=rate / 100), row_hits=hits),
            f"up to {hits} requests per row" if hits else "every row closed",
            str(rate),
        )
        for hits in (0, HITS_PER_ROW)
        for rate in (0, 20, 40, 60, 80, 90, 95)
    ]


def _refresh(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    return [
        Case(with_refresh(replace(base, size=size), mode), str(mode), str(size))
        for mode in (*_modes(preset), Refresh.OFF)
        for size in SIZES
    ]


def _pseudo_channels(base: DramPoint, preset: MemoryPreset) -> list[Case]:
    counts = [(1, "one alone"), (2, "each of two")]
    if preset.organization.command_bus != "separate":
        counts = counts[:1]
    return [
        Case(
            with_refresh(replace(base, size=size, pseudo_channels=count), mode),
            f"{name}, {mode}",
            str(size),
        )
        for mode in _modes(preset)
        for count, name in counts
        for size in SIZES
    ]


ALL_PRESETS = (
    "hbm2-2000",
    "hbm2-2300",
    "hbm2-2300-paper",
    "hbm2e-2400",
    "hbm2e-3000",
    "hbm2e-3000-paper",
    "hbm3-6400",
    "ddr4-3200",
    "ddr4-3200-x8-1r",
    "ddr4-3200-x16",
    "gddr6-14000",
    "gddr6-16000",
)

SWEEPS: dict[str, Sweep] = {
    sweep.name: sweep
    for sweep in (
        Sweep(
            "sizes",
            "Random reads by size",
            "bytes per request",
            _sizes,
            "all-bank refresh",
            ("--bytes", "--refresh"),
            presets=ALL_PRESETS,
        ),
        Sweep(
            "outstanding",
            "Bursts outstanding and depth of the bank queues",
            "read bursts outstanding at most",
            _outstanding,
            "queues of 16",
            ("--outstanding",),
        ),
        Sweep("banks", "Number of banks", "banks per channel", _banks, "64 B", ("--bytes",)),
        Sweep(
            "writes",
            "Share of writes",
            "% of the requests that write",
            _writes,
            "64 B",
            ("--bytes", "--writes"),
        ),
        Sweep(
            "hit-rate",
            "Row hits",
            "% of requests for the row before, of their bank",
            _hit_rate,
            f"up to {HITS_PER_ROW} requests per row",
            ("--hit-rate", "--row-hits"),
            bounded=False,
        ),
        Sweep(
            "refresh",
            "All-bank refresh, per-bank refresh, and none",
            "bytes per request",
            _refresh,
            None,
            ("--bytes", "--refresh"),
            bars_x="64",
            presets=("hbm2-2000", "hbm2e-3000", "hbm3-6400", "gddr6-14000", "ddr4-3200"),
        ),
        Sweep(
            "pseudo-channels",
            "One pseudo channel, and two on shared command buses",
            "bytes per request",
            _pseudo_channels,
            "each of two, all-bank",
            ("--bytes", "--refresh", "--pseudo-channels"),
            presets=("hbm2-2000", "hbm2e-3000", "hbm3-6400"),
        ),
    )
}


def chosen_sweeps(name: str) -> list[Sweep]:
    """The sweep called `name`, or all of them."""
    if name == "all":
        return list(SWEEPS.values())
    if name not in SWEEPS:
        raise UserError(f"--sweep {name}: expected one of {', '.join(SWEEPS)}, all")
    return [SWEEPS[name]]


def plan(sweep: Sweep, presets: Sequence[MemoryPreset], base: DramPoint) -> list[Case]:
    """Every case of a sweep; `base` says engine, requests, seed, and what the sweep leaves open.

    Raises
    ------
    UserError
        For a case that no run can be.
    """
    cases = [
        case for preset in presets for case in sweep.cases(replace(base, preset=preset), preset)
    ]
    for case in cases:
        point = case.point
        check_request(point.preset, point.size, point.settings, point.pseudo_channels)
    return cases
