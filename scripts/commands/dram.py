"""`recspeed dram`: the DRAM front-end's commands, its throughput, and how near it goes to JEDEC."""

from pathlib import Path
from typing import Annotated

import typer

from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.scripts.console import CHECK_FAILED, UserError, out, progress, whole_file
from recspeed.scripts.measurements.dram_points import DramMeasured, DramPoint, checks_of, outcome_of
from recspeed.scripts.measurements.dram_sweep_run import run_sweeps
from recspeed.scripts.measurements.dram_sweeps import chosen_sweeps
from recspeed.scripts.measurements.dram_workload import check_request
from recspeed.scripts.measurements.fidelities import run_front_end, run_front_ends
from recspeed.scripts.options import (
    Fidelity,
    JobsOption,
    OutstandingOption,
    Refresh,
    SchedulerOption,
    SeedOption,
    executor_of,
    presets,
)
from recspeed.scripts.reports.command_log import write_command_log
from recspeed.scripts.reports.dram_tables import gaps_table, sharing_table, throughput_table

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
        int | None,
        typer.Option(min=1, max=100_000_000, help="Requests; of a sweep, per point, 100000."),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help="Vary one thing: sizes, outstanding, banks, writes, hit-rate, refresh, "
            "pseudo-channels, or all."
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
    fidelity: Annotated[
        Fidelity | None,
        typer.Option(
            "--engine",
            help="rtl or golden, which are equal in every command and clock; rtl unless it is a "
            "sweep.",
        ),
    ] = None,
    commands: Annotated[
        Path | None,
        typer.Option(
            help="Write the command log to this CSV file. Its column `rank` holds the rank of "
            "DDR4, the stack ID of HBM. Of two pseudo channels each has a file, NAME-0 and NAME-1."
        ),
    ] = None,
    pseudo_channels: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            help="2: both pseudo channels of an HBM channel, each with as many requests, on the "
            "command buses that they share.",
        ),
    ] = 1,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Drive one channel's DRAM front-end with uniformly random requests and check what it does.

    Reads and writes come from independent sources; of unequal shares the smaller one is paced so
    that both last as long. Every command is replayed against JEDEC's rules; a violation ends the
    program with 1. For each rule the minimum distance that occurred is shown: a rule that a
    saturating run never drives to its limit is one that the front-end is too slow for, or that
    cannot bind on this memory.

    With --pseudo-channels 2 the figures are those of the slower pseudo channel, and what each of
    them has alone stands beside what sharing leaves it.

    With --sweep and --out one thing is varied, on the given memories or on those that the sweep is
    made for; each sweep gives a CSV and two pictures, all together report.html. Finished points are
    kept in the folder, so an interrupted sweep goes on where it was.
    """
    executor = executor_of(jobs, scheduler)
    if fidelity is None:
        fidelity = Fidelity.RTL if sweep is None else Fidelity.GOLDEN
    if fidelity is Fidelity.BOUND:
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
            "--pseudo-channels": pseudo_channels != 1,
        }
        for option in chosen[0].varies if len(chosen) == 1 else ():
            if given[option]:
                raise UserError(f"{option}: sweep '{sweep}' sets it itself; expected none")
        first = presets(memory)[0] if memory is not None else memory_preset(chosen[0].presets[0])
        base = DramPoint(
            first,
            size or SWEEP_BYTES,
            fidelity,
            requests or SWEEP_REQUESTS,
            settings,
            writes=writes,
            hit_rate=hit_rate,
            seed=seed,
            pseudo_channels=pseudo_channels,
        )
        run_sweeps(chosen, None if memory is None else presets(memory), base, folder, executor)
        return
    if jobs is not None or scheduler is not None:
        option = "--jobs" if scheduler is None else "--scheduler"
        raise UserError(f"{option}: one run is one process; expected it with --sweep alone")
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
        fidelity,
        requests,
        settings,
        writes=writes,
        hit_rate=hit_rate,
        seed=seed,
        pseudo_channels=pseudo_channels,
    )
    check_request(point.preset, point.size, point.settings, pseudo_channels)
    _single(point, commands)


def _single(point: DramPoint, commands: Path | None) -> None:
    """One run: bandwidth, JEDEC report and command log."""
    runs = point.runs()
    with progress() as bar:
        bar.add_task(f"{point.requests} requests of {point.size} B ({point.fidelity})", total=None)
        results = run_front_ends(point.fidelity, runs)
        checks = checks_of(point, results)
        alone = [] if len(runs) == 1 else [run_front_end(Fidelity.GOLDEN, run) for run in runs]
    logs = list(zip(_log_paths(commands, len(results)), results, strict=True)) if commands else []
    for path, result in logs:
        with whole_file(path) as temporary, temporary.open("w", encoding="ascii") as file:
            write_command_log(result.commands, point.preset, file)
    out.print(throughput_table(DramMeasured(point, outcome_of(runs, results))))
    if alone:
        out.print(sharing_table(point, results, alone))
    out.print(gaps_table(checks[: len(results)]))
    for path, result in logs:
        out.print(f"{path}: {len(result.commands)} commands", highlight=False, soft_wrap=True)
    violations = [violation for check in checks for violation in check.violations]
    if violations:
        count = sum(check.violation_count for check in checks)
        more = f"; and {count - 1} more" if count > 1 else ""
        raise UserError(f"JEDEC violation: {violations[0]}{more}", CHECK_FAILED)


def _log_paths(path: Path, count: int) -> list[Path]:
    """One file per log: of several with the pseudo channel's number behind the name."""
    if count == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(count)]
