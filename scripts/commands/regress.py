"""`recspeed regress`: the long comparison of RTL, golden model and JEDEC's rules."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from recspeed.scripts.console import CHECK_FAILED, UserError, out, progress, whole_file
from recspeed.scripts.measurements.executor import Executor, run_points
from recspeed.scripts.measurements.point import Point
from recspeed.scripts.measurements.regression_batch import RegressionBatch
from recspeed.scripts.measurements.run import POINTS
from recspeed.scripts.measurements.store import Store
from recspeed.scripts.options import JobsOption, SchedulerOption, executor_of
from recspeed.tb.regression.batch import batches, record_waves
from recspeed.tb.regression.blocks import BLOCKS, regression_cases
from recspeed.tb.regression.case import Case
from recspeed.tb.regression.collective_cases import COLLECTIVE_RANDOM
from recspeed.tb.regression.dram_cases import FRONT_END_RANDOM
from recspeed.tb.regression.junit import write_junit
from recspeed.tb.regression.verdict import Verdict

EXAMPLE = "Example: recspeed regress --random 1000 --jobs 2 --out build/out/regress"
BATCH = 20
WAVEFORMS = 3
"""Failures that get a waveform: a build with waves and a second run cost time."""


def plan(block: str, random: int, mixes: int, collectives: int, seed: int) -> list[Case]:
    """The cases of a block, or of all."""
    counts = {
        "cluster": random,
        "dram_front_end": mixes,
        "hbm_channel": mixes,
        "collective": collectives,
    }
    wanted = {name: count for name, count in counts.items() if block in (name, "all")}
    return regression_cases(wanted, seed)


def run_all(
    cases: Sequence[Case], executor: Executor, store: Store, verdicts: list[Verdict]
) -> None:
    """Run `cases` in batches; `verdicts` grows as batches finish.

    What an interrupted run finished is kept in `store` until the same run comes to its end.
    """
    points = [RegressionBatch(tuple(batch)) for batch in batches(cases, BATCH)]
    with progress() as bar:
        task = bar.add_task("regression", total=len(cases))

        def done(_point: Point, outcome: list[Verdict], _kept: bool) -> None:
            verdicts.extend(outcome)
            bar.advance(task, len(outcome))

        run_points(points, store, executor, done)
    store.clear(points)


def report(verdicts: Sequence[Verdict], planned: int, folder: Path) -> None:
    """Write the JUnit file and print a summary per build."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.name)
    with whole_file(folder / "junit.xml") as path:
        write_junit(path, "recspeed.regress", ordered)
    table = Table("build", "runs", "failed", "clocks compared")
    for build in sorted({verdict.name.partition(".")[0] for verdict in ordered}):
        own = [verdict for verdict in ordered if verdict.name.partition(".")[0] == build]
        table.add_row(
            build,
            str(len(own)),
            str(sum(not verdict.passed for verdict in own)),
            f"{sum(verdict.cycles for verdict in own):,}",
        )
    out.print(table)
    for verdict in ordered:
        if not verdict.passed:
            out.print(f"FAILED {verdict.name}: {verdict.faults[0]}", soft_wrap=True, markup=False)
    unfinished = planned - len(ordered)
    if unfinished:
        out.print(f"{unfinished} of {planned} runs were not finished")
    out.print(f"{folder / 'junit.xml'}", soft_wrap=True, highlight=False)


def regress(
    block: Annotated[str, typer.Option(help=f"{', '.join(BLOCKS)}, or all")] = "all",
    random: Annotated[int, typer.Option(min=0, help="random runs of memory channels")] = 1000,
    mixes: Annotated[
        int, typer.Option(min=0, help="random mixes of each DRAM front-end")
    ] = FRONT_END_RANDOM,
    collectives: Annotated[
        int, typer.Option(min=0, help="random mixes of collectives")
    ] = COLLECTIVE_RANDOM,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    seed: Annotated[int, typer.Option(min=0, help="first seed of the random runs")] = 0,
    waves: Annotated[bool, typer.Option(help="waveforms of the first failures")] = True,
    out_folder: Annotated[Path, typer.Option("--out", help="folder for the results")] = Path(
        "build/out/regress"
    ),
) -> None:
    """Compare RTL and golden model bit for bit and clock for clock, and check every command.

    Interrupted or terminated, it still reports what was finished, and goes on there when it is
    started again. Exit code 1 if a run failed.
    """
    if block not in (*BLOCKS, "all"):
        raise UserError(f"--block: unknown block '{block}': expected {', '.join(BLOCKS)} or all")
    executor = executor_of(jobs, scheduler)
    cases = plan(block, random, mixes, collectives, seed)
    verdicts: list[Verdict] = []
    try:
        run_all(cases, executor, Store(out_folder / POINTS), verdicts)
    finally:
        report(verdicts, len(cases), out_folder)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if waves:
        named = {case.name: case for case in cases}
        for verdict in failed[:WAVEFORMS]:
            path = out_folder / "waves" / f"{verdict.name}.vcd"
            record_waves(named[verdict.name], path)
            out.print(f"waveform: {path}", soft_wrap=True, highlight=False)
    if failed:
        raise UserError(f"{len(failed)} of {len(verdicts)} runs failed", CHECK_FAILED)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(regress)
