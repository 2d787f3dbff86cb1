"""`recspeed simulate`: any workload on any system, one point or a sweep."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from recspeed.models.performance import presets
from recspeed.models.performance import sweep as sweeps
from recspeed.models.performance.energy import energy_per_query
from recspeed.models.performance.model import Evaluation, evaluate
from recspeed.models.performance.steps import Assumptions
from recspeed.models.performance.trace_workload import workload_from_trace
from recspeed.models.spec.placement_strategy import STRATEGIES, parse_placement
from recspeed.models.spec.system import SCHEDULES, System
from recspeed.models.spec.workload import Workload
from recspeed.models.traces.trace import load_trace
from recspeed.scripts.console import UserError, out, whole_file
from recspeed.scripts.options import JobsOption, SchedulerOption, executor_of

ENGINES = ("model",)
"""Engines that exist; design: `model` needs no RTL."""

EXAMPLES = (
    "recspeed simulate --system recspeed-16 --workload rm2-small --schedule paper --out su.json",
    "recspeed simulate --system recspeed-8 --workload rm2-small"
    " --sweep latency=0.5:10us bandwidth=100:1000 --out build/out/sweep",
)


def write_json(path: Path, content: object) -> None:
    """Write `content` as JSON; infinities become null."""

    def clean(value: object) -> object:
        if isinstance(value, dict):
            return {key: clean(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [clean(part) for part in value]
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return None
        return value

    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(clean(content), indent=2) + "\n", encoding="utf-8")


def phases(result: Evaluation) -> list[dict[str, object]]:
    """The phases with start and end on every chip, in seconds; chips differ where tables do."""
    steps = {step.name: step for step in result.steps.values()}
    rows = []
    for phase in result.timeline.phases:
        step = steps.get(phase.name)
        own = step.per_chip if step is not None and step.per_chip is not None else None
        seconds = own or [phase.end - phase.start] * result.chips
        rows.append(
            {
                "name": phase.name,
                "resource": phase.resource,
                "start": [phase.start] * result.chips,
                "end": [phase.start + part for part in seconds],
            }
        )
    return rows


def as_json(result: Evaluation, workload: Workload, system: System) -> dict[str, object]:
    """The content of `--out`."""
    return {
        "system": result.system,
        "workload": result.workload,
        "engine": "model",
        "schedule": result.schedule,
        "placement": result.placement,
        "training": result.training,
        "chips": result.chips,
        "batch": result.batch,
        "qps": result.qps,
        "seconds_per_query": result.seconds,
        "query_latency_seconds": result.timeline.latency,
        "memory_utilisation": result.memory_utilisation,
        "all_reduce_share": result.all_reduce_share,
        "balance": result.balance,
        "bottleneck": result.bottleneck,
        "critical_path_shares": result.critical_shares,
        "bounds_qps": result.bounds,
        "phases": phases(result),
        "steps": {key: {**asdict(s), "seconds": s.seconds} for key, s in result.steps.items()},
        "message_bytes_per_chip": result.messages,
        "footprint_bytes_per_chip": asdict(result.footprint),
        "energy_joules_per_query": energy_per_query(result, workload, system).as_dict(),
        "unknown": list(system.unknown),
    }


def show(result: Evaluation, system: System) -> None:
    """Print the phases, and below them the figures of merit."""
    table = Table(title=f"{result.workload} on {result.system}, {result.schedule} schedule")
    for column in ("phase", "resource"):
        table.add_column(column)
    for column in ("start (us)", "end (us)"):
        table.add_column(column, justify="right")
    for phase in result.timeline.phases:
        table.add_row(
            phase.name, phase.resource, f"{phase.start * 1e6:.3f}", f"{phase.end * 1e6:.3f}"
        )
    out.print(table)
    shares = ", ".join(f"{name} {part:.0%}" for name, part in result.critical_shares.items())
    out.print(f"{result.qps:,.0f} batches per second, {result.seconds * 1e6:.3f} us each")
    out.print(f"memory utilisation {result.memory_utilisation:.1%}, balance {result.balance:.2f}")
    out.print(f"bottleneck: {result.bottleneck} (critical path: {shares})")
    if result.training:
        out.print(f"dense reduction and update: {result.all_reduce_share:.1%}")
    on_chip = result.footprint.on_chip / 2**20
    known = "" if system.buffer_mb is None else f" of {system.buffer_mb:g} MB that it has"
    out.print(f"wants {on_chip:.2f} MiB on the chip{known}")
    for unknown in system.unknown:
        out.print(f"unknown: {unknown}", style="dim")


def show_presets(wanted: bool) -> None:
    """Print every system and workload preset and stop, when `wanted`."""
    if not wanted:
        return
    for kind, loaded in (
        ("systems", [presets.system(name) for name in presets.names("systems")]),
        ("workloads", [presets.workload(name) for name in presets.names("workloads")]),
    ):
        table = Table(title=kind, title_justify="left")
        table.add_column("name", no_wrap=True)
        table.add_column("what it is")
        for preset in loaded:
            table.add_row(preset.name, preset.title)
        out.print(table)
    raise typer.Exit


def register(app: typer.Typer) -> None:
    """Add `simulate` to the program."""

    @app.command(epilog="Examples:\n\n" + "\n\n".join(EXAMPLES))
    def simulate(
        system: Annotated[str, typer.Option(help="Preset name, or a .toml file.")],
        workload: Annotated[str, typer.Option(help="Preset name, or a .toml file.")],
        listed: Annotated[
            bool,
            typer.Option(
                "--list", is_eager=True, callback=show_presets, help="List all presets and stop."
            ),
        ] = False,
        axes: Annotated[
            list[str] | None, typer.Argument(help="More axes of --sweep.", show_default=False)
        ] = None,
        trace: Annotated[Path | None, typer.Option(help="Tables and batch from this .npz.")] = None,
        schedule: Annotated[
            str | None, typer.Option(help=f"{', '.join(SCHEDULES)}; default: the system's own.")
        ] = None,
        engine: Annotated[str, typer.Option(help=f"{', '.join(ENGINES)}.")] = "model",
        placement: Annotated[
            str,
            typer.Option(help=f"{', '.join(STRATEGIES)}, or a mixture: row-wise:10,table-wise:30."),
        ] = "unsharded",
        wire: Annotated[
            str, typer.Option(help="Sharded exchange: unpooled, fp16, fp32 or exact partial sums.")
        ] = "unpooled",
        training: Annotated[bool, typer.Option(help="Training step instead of inference.")] = False,
        allow_stale: Annotated[bool, typer.Option(help="Let a pipelined schedule train.")] = False,
        sweep: Annotated[
            list[str] | None,
            typer.Option(help=f"NAME=START:STOP[:POINTS]; {', '.join(sweeps.PARAMETERS)}."),
        ] = None,
        jobs: JobsOption = None,
        scheduler: SchedulerOption = None,
        seed: Annotated[
            int, typer.Option(help="Taken for uniformity; the model has no chance.")
        ] = 0,
        out_path: Annotated[
            Path | None, typer.Option("--out", help="JSON file; for a sweep, a folder.")
        ] = None,
    ) -> None:
        """Time per phase, throughput and utilisation of a workload on a system."""
        del seed, listed
        executor = executor_of(jobs, scheduler)
        if engine not in ENGINES:
            raise UserError(
                f"--engine {engine}: does not exist here; there is {', '.join(ENGINES)}"
            )
        if axes and not sweep:
            raise UserError(f"unexpected '{axes[0]}': axes follow --sweep")
        chosen_system = presets.system(system)
        chosen = presets.workload(workload)
        if trace is not None:
            chosen = workload_from_trace(chosen, load_trace(trace), trace.name)
        where = parse_placement(placement, wire)
        assumptions = Assumptions(stale_reads=allow_stale)
        if sweep:
            from recspeed.scripts.reports.sweep import run_sweep

            points = sweeps.Sweep(
                workload=chosen,
                system=chosen_system,
                placement=where,
                axes=tuple(sweeps.parse_axis(text) for text in [*sweep, *(axes or [])]),
                schedule=schedule,
                training=training,
                assumptions=assumptions,
            )
            run_sweep(points, executor, out_path or Path("build/out/sweep"))
            return
        result = evaluate(
            chosen,
            chosen_system,
            where,
            schedule=schedule,
            training=training,
            assumptions=assumptions,
        )
        if out_path is not None:
            write_json(out_path, as_json(result, chosen, chosen_system))
        show(result, chosen_system)
