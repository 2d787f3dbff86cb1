"""`recspeed dram`: the DRAM front-end's commands, its throughput, and how near it goes to JEDEC."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from recspeed.models.spec.engine import RunSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.registers import Counter
from recspeed.models.spec.run import ChannelResult
from recspeed.scripts.attribution import CAUSE_NAMES, limiter, shares
from recspeed.scripts.command_log import write_command_log
from recspeed.scripts.console import CHECK_FAILED, UserError, out, progress, whole_file
from recspeed.scripts.engines import (
    channel_bound,
    check_commands,
    chip_pseudo_channels,
    run_channel,
)
from recspeed.scripts.options import Engine, MemoryOption, OutstandingOption, SeedOption
from recspeed.scripts.workload import DEFAULT_REFRESH_GROUP, uniform_run

if TYPE_CHECKING:
    from recspeed.tb.checkers.jedec import JedecReport


class Refresh(StrEnum):
    """How DRAM is refreshed."""

    ALL_BANK = "all-bank"
    PER_BANK = "per-bank"
    OFF = "off"


def register(app: typer.Typer) -> None:
    app.command(
        name="dram",
        epilog="Example: recspeed dram --memory hbm2-2000 --bytes 64 --requests 10000 "
        "--commands commands.csv",
    )(dram)


def dram(
    memory: MemoryOption,
    size: Annotated[int, typer.Option("--bytes", min=1, help="Bytes of each row visit.")],
    requests: Annotated[int, typer.Option(min=1, help="Row visits.")],
    commands: Annotated[
        Path | None, typer.Option(help="Write the command log to this CSV file.")
    ] = None,
    writes: Annotated[float, typer.Option(min=0, max=1, help="Share of writes.")] = 0.0,
    outstanding: OutstandingOption = 64,
    refresh: Annotated[Refresh, typer.Option(help="all-bank or off.")] = Refresh.ALL_BANK,
    engine: Annotated[Engine, typer.Option(help="rtl or golden.")] = Engine.RTL,
    seed: SeedOption = 0,
) -> None:
    """Drive the DRAM front-end with visits of uniformly random rows and check what it does.

    Every command is replayed against JEDEC's rules; a violation ends the program with 1. For each
    rule the minimum distance that occurred is shown: a rule that a saturating run never drives to
    its limit is one that the front-end is too slow for, or that cannot bind on this memory.
    """
    if writes > 0:
        raise UserError(f"--writes {writes:g}: the front-end serves reads; expected 0")
    if refresh is Refresh.PER_BANK:
        raise UserError(
            "--refresh per-bank: the front-end serves all-bank refresh; expected all-bank or off"
        )
    if engine is Engine.BOUND:
        raise UserError("--engine bound: a bound issues no commands; expected rtl or golden")
    preset = memory_preset(memory)
    settings = RunSettings(
        outstanding=outstanding,
        refresh_group=DEFAULT_REFRESH_GROUP if refresh is Refresh.ALL_BANK else 0,
    )
    run = uniform_run(preset, size, requests, settings, seed)
    with progress() as bar:
        bar.add_task(f"{requests} row visits of {size} B ({engine})", total=None)
        result = run_channel(engine, run)
        check = check_commands(preset, result.commands, settings)
    if commands is not None:
        with whole_file(commands) as temporary, temporary.open("w", encoding="ascii") as file:
            write_command_log(result.commands, preset, file)
    out.print(_throughput(result, preset, size, requests, settings, engine))
    out.print(_gaps(check))
    if commands is not None:
        out.print(f"{commands}: {len(result.commands)} commands", highlight=False, soft_wrap=True)
    if not check.legal:
        more = f"; and {check.violation_count - 1} more" if check.violation_count > 1 else ""
        raise UserError(f"JEDEC violation: {check.violations[0]}{more}", CHECK_FAILED)


def _throughput(
    result: ChannelResult,
    preset: MemoryPreset,
    size: int,
    requests: int,
    settings: RunSettings,
    engine: Engine,
) -> Table:
    counters = result.counters
    rate = requests * size * preset.clock_ghz / result.cycles
    clocks, bound_limiter = channel_bound(preset, size, settings)
    channels = chip_pseudo_channels(preset)
    table = Table(
        title=f"{requests} row visits of {size} B on {preset.name} ({engine})",
        title_justify="left",
        show_header=False,
    )
    table.add_row("cycles", f"{result.cycles} at {preset.clock_ghz:g} GHz")
    table.add_row("throughput", f"{rate:.2f} GB/s per pseudo channel")
    table.add_row("chip", f"{rate * channels:.0f} GB/s on {channels} pseudo channels")
    table.add_row("of the pin rate", f"{rate / preset.pin_gb_per_s:.1%}")
    table.add_row(
        "of the JEDEC bound", f"{clocks * requests / result.cycles:.1%} (bound by {bound_limiter})"
    )
    table.add_row("limiter", limiter(counters, preset))
    table.add_row(
        "commands",
        f"{counters[Counter.ACTIVATES]} ACT, {counters[Counter.READS]} RD and RDA, "
        f"{counters[Counter.REFRESHES]} REF",
    )
    for counter, share in shares(counters).items():
        if share:
            table.add_row(f"clocks: {CAUSE_NAMES[counter]}", f"{share:.1%}")
    return table


def _gaps(check: "JedecReport") -> Table:
    table = Table(title="JEDEC rules", title_justify="left")
    table.add_column("rule")
    for column in ("at least", "minimum seen", "violations"):
        table.add_column(column, justify="right")
    for rule in check.rules:
        gap = "never met" if rule.minimum_gap is None else str(rule.minimum_gap)
        table.add_row(rule.name, str(rule.limit), gap, str(rule.violations))
    table.caption = "clocks; never driven to the limit: " + (
        ", ".join(check.never_at_limit) or "none"
    )
    return table
