"""`recspeed dram`: the DRAM front-end's commands, its throughput, and how near it goes to JEDEC."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from recspeed.models.spec.dram_run import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.registers import Counter
from recspeed.scripts.attribution import CAUSE_NAMES, shares
from recspeed.scripts.command_log import write_command_log
from recspeed.scripts.console import CHECK_FAILED, UserError, out, progress, whole_file
from recspeed.scripts.dram_points import DramMeasured, DramPoint, outcome_of
from recspeed.scripts.dram_sweep_run import run_sweeps
from recspeed.scripts.dram_sweeps import chosen_sweeps
from recspeed.scripts.engines import channel_word, check_commands, run_front_end
from recspeed.scripts.options import Engine, OutstandingOption, Refresh, SeedOption, presets

if TYPE_CHECKING:
    from recspeed.tb.checkers.jedec import JedecReport

DEFAULTS = FrontEndSettings()
SWEEP_BYTES = 64
SWEEP_REQUESTS = 100_000


def register(app: typer.Typer) -> None:
    app.command(
        name="dram",
        epilog="Example: recspeed dram --memory hbm2-2000 --bytes 64 --requests 10000 "
        "--commands commands.csv",
    )(dram)


def dram(
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="Memory preset, or a TOML file of the same form; of a sweep a comma-separated "
            "list of them.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--bytes", min=1, help="Bytes of each request; of a sweep 64 B."),
    ] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Requests; of a sweep, per point, 100000.")
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help="Vary one thing: sizes, outstanding, banks, writes, hit-rate, refresh, or all."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results of a sweep.")
    ] = None,
    writes: Annotated[float, typer.Option(help="Share of requests that write, 0 to 1.")] = 0.0,
    refresh: Annotated[Refresh, typer.Option(help="all-bank, per-bank or off.")] = Refresh.ALL_BANK,
    outstanding: OutstandingOption = DEFAULTS.outstanding,
    write_buffer: Annotated[
        int, typer.Option(min=1, max=128, help="Write bursts in the write buffer at most.")
    ] = DEFAULTS.write_buffer,
    turnaround_limit: Annotated[
        int,
        typer.Option(min=1, max=4095, help="Clocks until a direction yields to a waiting other."),
    ] = DEFAULTS.turnaround_limit,
    row_hits: Annotated[
        int,
        typer.Option(min=0, max=255, help="Requests per activation at most; 0 closes every row."),
    ] = DEFAULTS.row_hits,
    hit_rate: Annotated[
        float,
        typer.Option(
            help="Probability that a request is for the row of the previous request of its "
            "direction to its bank, 0 to 1."
        ),
    ] = 0.0,
    seed: SeedOption = 0,
    engine: Annotated[
        Engine | None,
        typer.Option(
            help="rtl or golden, which are equal in every command and clock; rtl unless it is a "
            "sweep."
        ),
    ] = None,
    commands: Annotated[
        Path | None,
        typer.Option(
            help="Write the command log to this CSV file. Its column `rank` holds the rank of "
            "DDR4, the stack ID of HBM."
        ),
    ] = None,
) -> None:
    """Drive one channel's DRAM front-end with uniformly random requests and check what it does.

    Reads and writes come from independent sources; of unequal shares the smaller one is paced so
    that both last as long. Every command is replayed against JEDEC's rules; a violation ends the
    program with 1. For each rule the minimum distance that occurred is shown: a rule that a
    saturating run never drives to its limit is one that the front-end is too slow for, or that
    cannot bind on this memory.

    With --sweep and --out one thing is varied, on the given memories or on those that the sweep is
    made for; each sweep gives a CSV and two pictures, all together report.html. Finished points are
    kept in the folder, so an interrupted sweep goes on where it was.
    """
    if engine is None:
        engine = Engine.RTL if sweep is None else Engine.GOLDEN
    if engine is Engine.BOUND:
        raise UserError("--engine bound: a bound issues no commands; expected rtl or golden")
    for name, value in (("--writes", writes), ("--hit-rate", hit_rate)):
        if not 0 <= value <= 1:
            raise UserError(f"{name} {value:g}: expected 0 to 1")
    settings = FrontEndSettings(
        outstanding=outstanding,
        write_buffer=write_buffer,
        refresh_group=0 if refresh is Refresh.OFF else DEFAULTS.refresh_group,
        per_bank=refresh is Refresh.PER_BANK,
        turnaround_limit=turnaround_limit,
        row_hits=row_hits,
    )
    if sweep is not None:
        if folder is None:
            raise UserError("--sweep: --out is missing, the folder for the results")
        if commands is not None:
            raise UserError("--commands: a sweep writes no command log; expected no --sweep")
        chosen = chosen_sweeps(sweep)
        given = {
            "--bytes": size is not None,
            "--writes": writes != 0,
            "--refresh": refresh is not Refresh.ALL_BANK,
            "--outstanding": outstanding != DEFAULTS.outstanding,
            "--row-hits": row_hits != DEFAULTS.row_hits,
            "--hit-rate": hit_rate != 0,
        }
        for option in chosen[0].varies if len(chosen) == 1 else ():
            if given[option]:
                raise UserError(f"{option}: sweep '{sweep}' sets it itself; expected none")
        first = presets(memory)[0] if memory is not None else memory_preset(chosen[0].presets[0])
        base = DramPoint(
            first,
            size or SWEEP_BYTES,
            engine,
            requests or SWEEP_REQUESTS,
            settings,
            writes=writes,
            hit_rate=hit_rate,
            seed=seed,
        )
        run_sweeps(chosen, None if memory is None else presets(memory), base, folder)
        return
    if folder is not None:
        raise UserError("--out: the folder of a sweep; expected --sweep, or --commands for a file")
    for name, value in (("--memory", memory), ("--bytes", size), ("--requests", requests)):
        if value is None:
            raise UserError(f"dram: {name} is missing (see 'recspeed dram --help')")
    assert memory is not None
    assert size is not None
    assert requests is not None
    point = DramPoint(
        memory_preset(memory),
        size,
        engine,
        requests,
        settings,
        writes=writes,
        hit_rate=hit_rate,
        seed=seed,
    )
    _single(point, commands)


def _single(point: DramPoint, commands: Path | None) -> None:
    """One run: bandwidth, JEDEC report and command log."""
    run = point.run()
    with progress() as bar:
        bar.add_task(f"{point.requests} requests of {point.size} B ({point.engine})", total=None)
        result = run_front_end(point.engine, run)
        check = check_commands(point.preset, result.commands, point.settings)
    if commands is not None:
        with whole_file(commands) as temporary, temporary.open("w", encoding="ascii") as file:
            write_command_log(result.commands, point.preset, file)
    out.print(_throughput(DramMeasured(point, outcome_of(run, result))))
    out.print(_gaps(check))
    if commands is not None:
        out.print(f"{commands}: {len(result.commands)} commands", highlight=False, soft_wrap=True)
    if not check.legal:
        more = f"; and {check.violation_count - 1} more" if check.violation_count > 1 else ""
        raise UserError(f"JEDEC violation: {check.violations[0]}{more}", CHECK_FAILED)


def _throughput(one: DramMeasured) -> Table:
    point, counters = one.point, one.counters
    preset, bound = point.preset, one.point.bound
    table = Table(
        title=f"{point.requests} requests of {point.size} B on {preset.name} ({point.engine})",
        title_justify="left",
        show_header=False,
    )
    table.add_row("cycles", f"{one.outcome.cycles} at {preset.clock_ghz:g} GHz")
    table.add_row("bandwidth", f"{one.gb_per_s:.2f} GB/s per {channel_word(preset)}")
    table.add_row("of the pin rate", f"{one.fraction_of_pin:.1%} of {preset.pin_gb_per_s:g} GB/s")
    hits = " where every request opens its row" if point.settings.row_hits else ""
    table.add_row(
        "JEDEC bound" + hits,
        f"{bound.fraction_of_pin:.1%} of the pin rate ({bound.limiter}); "
        f"reached to {one.fraction_of_bound:.1%}",
    )
    table.add_row("limiter", one.limiter)
    table.add_row(
        "commands",
        f"{counters[Counter.ACTIVATES]} ACT, {counters[Counter.READS]} RD and RDA, "
        f"{counters[Counter.WRITES]} WR and WRA, {counters[Counter.REFRESHES]} {_refreshes(point)}",
    )
    if 0 < point.writes < 1:
        table.add_row("reads and writes mixed", f"for {one.outcome.mixed:.0%} of the run")
    for counter, share in shares(counters).items():
        if share:
            table.add_row(f"clocks: {CAUSE_NAMES[counter]}", f"{share:.1%}")
    return table


def _refreshes(point: DramPoint) -> str:
    return "REFPB" if point.settings.per_bank else "REF"


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
