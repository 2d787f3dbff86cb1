"""`recspeed pool`: the pooled vectors of a trace, by RTL or golden model."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter
from recspeed.models.traces.trace import load_trace
from recspeed.scripts.console import UserError, out, progress, whole_file
from recspeed.scripts.measurements.cluster_workload import (
    bytes_read,
    check_fatal,
    pooled_array,
    trace_run,
)
from recspeed.scripts.measurements.fidelities import run_channel
from recspeed.scripts.options import (
    Fidelity,
    LookupPolicy,
    MemoryOption,
    OutputFormat,
    OutstandingOption,
    SeedOption,
    TraceOption,
)
from recspeed.scripts.reports.attribution import CAUSE_NAMES, limiter, shares

STATUS = (Counter.ERROR, Counter.ERROR_BAG, Counter.ERROR_POSITION, Counter.ERROR_INDEX)


def register(app: typer.Typer) -> None:
    app.command(
        name="pool",
        epilog="Example: recspeed pool --trace zipf.npz --memory hbm2e-3000 --engine rtl "
        "--out pooled.npz",
    )(pool)


def pool(
    trace_path: TraceOption,
    memory: MemoryOption,
    out_path: Annotated[Path, typer.Option("--out", help="Result file (.npz).")],
    fidelity: Annotated[
        Fidelity, typer.Option("--engine", help="rtl or golden.")
    ] = Fidelity.GOLDEN,
    output: Annotated[
        OutputFormat, typer.Option(help="Format of the pooled vectors.")
    ] = OutputFormat.FP16,
    outstanding: OutstandingOption = 64,
    policy: Annotated[
        LookupPolicy,
        typer.Option(
            help="Lookups out of range: fatal ends the run, clamp reads row 0, drop adds nothing."
        ),
    ] = LookupPolicy.FATAL,
    channels: Annotated[int, typer.Option(min=1, help="Pseudo channels.")] = 1,
    clusters: Annotated[int, typer.Option(min=1, help="Clusters of channels.")] = 1,
    seed: SeedOption = 0,
) -> None:
    """Pool every bag of a trace on one memory channel.

    The result holds `pooled` (batch, sum of dims), `cycles` and every performance counter. Where
    the trace carries no tables, memory holds a hash of the address and the seed.
    """
    if fidelity is Fidelity.BOUND:
        raise UserError("--engine bound: a bound pools nothing; expected rtl or golden")
    if channels != 1 or clusters != 1:
        raise UserError(
            f"--channels {channels} --clusters {clusters}: one memory channel is modelled; "
            "expected 1 and 1"
        )
    preset = memory_preset(memory)
    trace = load_trace(trace_path)
    settings = ClusterSettings(outstanding=outstanding, output=output.value)
    try:
        run = trace_run(trace, preset, settings, policy.value_of_register, seed)
    except (UserError, ValueError) as error:
        raise UserError(f"{trace_path}: {error}") from None
    with progress() as bar:
        bar.add_task(f"pooling {len(trace.indices)} lookups ({fidelity})", total=None)
        result = run_channel(fidelity, run, record_commands=False)
    check_fatal(trace, result, str(trace_path))
    arrays: dict[str, np.ndarray] = {
        "pooled": pooled_array(trace, result, output.value),
        "cycles": np.array(result.cycles),
    }
    for counter, value in result.counters.items():
        if counter not in (*STATUS, Counter.CYCLES):
            arrays[counter.name.lower()] = np.array(value)
    with whole_file(out_path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]: its stub takes the keys for options
    out.print(_summary(run, result, fidelity, out_path))


def _summary(run: ClusterRun, result: ClusterResult, fidelity: Fidelity, path: Path) -> Table:
    counters, preset = result.counters, run.preset
    microseconds = result.cycles / preset.clock_ghz / 1000
    table = Table(title=f"{path}: pooled by {fidelity}", title_justify="left", show_header=False)
    table.add_row("bags", str(len(run.bag_lengths)))
    table.add_row("lookups", str(counters[Counter.LOOKUPS]))
    table.add_row("clamped, dropped", f"{counters[Counter.CLAMPED]}, {counters[Counter.DROPPED]}")
    table.add_row("cycles", f"{result.cycles} ({microseconds:.2f} us at {preset.clock_ghz:g} GHz)")
    if result.cycles:
        rate = bytes_read(run) / microseconds / 1000
        table.add_row("vectors read", f"{rate:.2f} GB/s of {preset.pin_gb_per_s:g} GB/s pin rate")
        table.add_row("limiter", limiter(counters, preset))
    for counter, share in shares(counters).items():
        if share:
            table.add_row(f"clocks: {CAUSE_NAMES[counter]}", f"{share:.1%}")
    return table
