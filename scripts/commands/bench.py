"""`recspeed bench`: how fast the tools are, and how close the hardware is to its bound."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from recspeed.models.bounds.visits import visit_bound
from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.rtl.generate.verilog import generate
from recspeed.scripts.console import UserError, out, progress
from recspeed.scripts.measurements.cluster_workload import uniform_run
from recspeed.scripts.measurements.collective_bench import measure_speed as measure_collectives
from recspeed.scripts.measurements.collective_bench import speed_table as collective_table
from recspeed.scripts.measurements.collective_figures import (
    bandwidth_table as collective_bandwidth_table,
)
from recspeed.scripts.measurements.collective_figures import error_table, latency_table
from recspeed.scripts.measurements.front_end_bench import lock_step_table, measure_lock_step
from recspeed.tb.cluster.harness import ClusterHarness
from recspeed.tb.cluster.simulation import TOPLEVEL, build_channel, simulate_clusters
from recspeed.tb.simulator.runtime import runtime_objects

EXAMPLE = "Example: recspeed bench --memory hbm2-2000"
BLOCKS = ("cluster", "collective")


@dataclass(frozen=True)
class Speed:
    """Of one run: clocks, lookups, and seconds of RTL simulation and golden model."""

    cycles: int
    lookups: int
    rtl_seconds: float
    golden_seconds: float


def measure_speed(preset: MemoryPreset, lookups: int, seed: int) -> Speed:
    """Time RTL simulation (process start and files included) and golden model on one run."""
    run = uniform_run(preset, 64, lookups, ClusterSettings(), seed)
    simulate_cluster(uniform_run(preset, 64, 800, ClusterSettings(), seed))  # compiles it
    build_channel(preset, run.parameters)
    start = time.perf_counter()
    result = simulate_clusters([run], record_commands=False)[0]
    rtl_seconds = time.perf_counter() - start
    start = time.perf_counter()
    simulate_cluster(run, record_commands=False)
    golden_seconds = time.perf_counter() - start
    return Speed(result.cycles, len(run.indices), rtl_seconds, golden_seconds)


@dataclass(frozen=True)
class BuildTimes:
    """Seconds of a simulator build without cache, by part; lines of Verilog."""

    runtime: float
    generation: float
    whole: float
    lines: int


def measure_build(preset: MemoryPreset) -> BuildTimes:
    """Time Verilator's runtime, generation of the Verilog, and the build with generation in it."""
    start = time.perf_counter()
    text = generate(ClusterHarness(preset, ClusterParameters()), TOPLEVEL)
    generation = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        start = time.perf_counter()
        runtime_objects(home, waves=False)
        runtime = time.perf_counter() - start
        start = time.perf_counter()
        build_channel(preset, ClusterParameters(), cache=home)
        whole = time.perf_counter() - start
    return BuildTimes(runtime, generation, whole, text.count("\n"))


def bandwidth_table(preset: MemoryPreset, lookups: int, seed: int) -> Table:
    """Fraction of pin rate and of the bound per size, by the golden model (equal to the RTL)."""
    table = Table(
        "bytes",
        *(f"{outstanding} out: pin" for outstanding in (64, 128)),
        *(f"{outstanding} out: bound" for outstanding in (64, 128)),
        title=f"{preset.name}, {preset.banks} banks, uniform random rows, {lookups:,} lookups",
    )
    for size in (32, 64, 96, 128, 192, 256):
        bound = float(visit_bound(preset, size).clocks)
        fractions = []
        for outstanding in (64, 128):
            run = uniform_run(preset, size, lookups, ClusterSettings(outstanding=outstanding), seed)
            clocks = simulate_cluster(run, record_commands=False).cycles / len(run.indices)
            fractions.append((size / 16 / clocks, bound / clocks))
        table.add_row(
            str(size), *(f"{pin:.4f}" for pin, _ in fractions), *(f"{b:.4f}" for _, b in fractions)
        )
    return table


def bench(
    block: Annotated[str, typer.Option(help=f"{', '.join(BLOCKS)}, or all")] = "all",
    memory: Annotated[str, typer.Option(help="memory preset, or a .toml file")] = "hbm2-2000",
    lookups: Annotated[int, typer.Option(min=800, help="lookups of each run")] = 200_000,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    build: Annotated[
        bool, typer.Option(help="also time a build without the cache; of collectives, all RTL")
    ] = True,
) -> None:
    """Measure simulation speed, build time, and the fraction of pin rate and bound."""
    if block not in (*BLOCKS, "all"):
        raise UserError(f"--block: unknown block '{block}': expected {', '.join(BLOCKS)} or all")
    if block in ("cluster", "all"):
        _bench_channel(memory_preset(memory), lookups, seed, build)
    if block in ("collective", "all"):
        _bench_collectives(build)


def _bench_collectives(build: bool) -> None:
    """Print the collective engine's figures and, with `build`, the speed of its RTL."""
    tables = (latency_table, collective_bandwidth_table, error_table)
    with progress() as bar:
        task = bar.add_task("bench of collectives", total=len(tables) + build)
        for table in tables:
            out.print(table())
            bar.advance(task)
        if build:
            out.print(collective_table(measure_collectives(build_anew=True)))
            bar.advance(task)


def _bench_channel(preset: MemoryPreset, lookups: int, seed: int, build: bool) -> None:
    """Measure a memory channel and print its tables."""
    with progress() as bar:
        task = bar.add_task("bench", total=4)
        speed = measure_speed(preset, lookups, seed)
        bar.advance(task)
        lock_step = measure_lock_step(preset, 4 * lookups, seed)
        bar.advance(task)
        bandwidth = bandwidth_table(preset, lookups // 2, seed)
        bar.advance(task)
        times = measure_build(preset) if build else None
        bar.advance(task)
    table = Table("figure", "value", title=f"speed on {preset.name}, 64 B vectors")
    table.add_row(
        "RTL under cocotb, thousand clocks per second",
        f"{speed.cycles / speed.rtl_seconds / 1e3:.0f}",
    )
    table.add_row(
        "RTL under cocotb, thousand lookups per second",
        f"{speed.lookups / speed.rtl_seconds / 1e3:.0f}",
    )
    table.add_row(
        "golden model, thousand lookups per second",
        f"{speed.lookups / speed.golden_seconds / 1e3:.0f}",
    )
    table.add_row("golden model / RTL", f"{speed.rtl_seconds / speed.golden_seconds:.1f}")
    if times is not None:
        table.add_row("Verilog generation, s", f"{times.generation:.1f}")
        table.add_row(
            f"simulator build, s ({times.lines:,} lines of Verilog)",
            f"{times.whole - times.generation:.1f}",
        )
        table.add_row("Verilator's runtime, once for all builds, s", f"{times.runtime:.1f}")
    out.print(table)
    out.print(lock_step_table(preset, lock_step))
    out.print(bandwidth)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(bench)
