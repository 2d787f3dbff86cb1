"""`recspeed dram --sweep`: measure every point, keep it, and write CSV, pictures and a page."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.scripts.console import UserError, out, whole_file
from recspeed.scripts.measurements.dram_points import DramMeasured, DramPoint
from recspeed.scripts.measurements.dram_sweeps import BOUND_GOAL, Case, Sweep, plan
from recspeed.scripts.measurements.executor import Executor
from recspeed.scripts.measurements.run import measure_into
from recspeed.scripts.options import Fidelity
from recspeed.scripts.reports.attribution import CAUSE_MEANINGS, CAUSE_NAMES
from recspeed.scripts.reports.dram_refresh_table import FIRST, MOST, refresh_cells
from recspeed.scripts.reports.dram_sweep_csv import csv_text

Results = list[tuple[Case, DramMeasured]]

TEXTS = {
    "sizes": "Bytes moved as a share of what the pins could move, by size of the request. Bytes "
    "that only fill up a burst do not count: 96 B take two bursts of DDR4.",
    "outstanding": "How many read bursts may be in flight, and how many requests wait per bank.",
    "banks": "The same device with more or fewer banks: stack IDs of HBM, ranks of DDR4, banks "
    "per bank group of GDDR6. Everything else stays.",
    "writes": "Reads and writes from independent sources; of unequal shares the smaller one is "
    "paced, so that the mix lasts (column mixed_part of the CSV: for which part of the run).",
    "hit-rate": "Requests for the DRAM row of the request before, of the same bank: with every "
    "row closed after one request, and with rows kept open while such requests wait.",
    "refresh": "What refresh costs, and how much of it per-bank refresh saves.",
    "pseudo-channels": "The two pseudo channels of an HBM channel share its row and its column "
    "command bus; an ACT takes the row bus for two clocks. Figures are those of the slower one.",
}
REFRESH_TEXT = (
    f"Per-bank refresh is to cost at most {MOST:.0%} of the throughput without refresh. Each one "
    "keeps activates away for tRREFD: where activates are the limit, the device's own timings may "
    f"ask for more, and {BOUND_GOAL:.0%} of the bound is to be reached. A loss that misses both is "
    "marked."
)


def run_sweeps(
    sweeps: Sequence[Sweep],
    presets: Sequence[MemoryPreset] | None,
    base: DramPoint,
    folder: Path,
    executor: Executor,
) -> None:
    """Measure `sweeps` on `presets` (None: those that each sweep is made for) into `folder`.

    Raises
    ------
    UserError
        For an interrupted run, and for a command log that breaks a rule.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; expected a folder for the results")
    plans = [
        (sweep, plan(sweep, presets or [memory_preset(name) for name in sweep.presets], base))
        for sweep in sweeps
    ]
    results, reused = _measure(plans, folder, executor)
    _write(results, base, folder)
    for sweep, points in results:
        if sweep.name in ("sizes", "refresh"):
            out.print(_size_table(sweep, points))
        if sweep.name == "refresh" and refresh_cells(points, "")[1]:
            out.print(_refresh_table(points))
    total = sum(len(points) for _, points in results)
    files = ", ".join(f"{sweep.name}.csv" for sweep in sweeps)
    out.print(
        f"{total} points, {reused} of them kept from an earlier run; every log is legal; "
        f"{folder}: {files}, their pictures, report.html",
        highlight=False,
        soft_wrap=True,
    )


def _measure(
    plans: list[tuple[Sweep, list[Case]]], folder: Path, executor: Executor
) -> tuple[list[tuple[Sweep, Results]], int]:
    points = [case.point for _, cases in plans for case in cases]
    outcomes, reused = measure_into(folder, points, executor)
    each = iter(outcomes)
    results = [
        (sweep, [(case, DramMeasured(case.point, next(each))) for case in cases])
        for sweep, cases in plans
    ]
    return results, reused


def _write(results: list[tuple[Sweep, Results]], base: DramPoint, folder: Path) -> None:
    # Matplotlib takes a second to import: not for --help.
    from recspeed.scripts.reports.dram_html import Section, page
    from recspeed.scripts.reports.dram_sweep_plot import clocks_png, sweep_png

    sections = []
    for sweep, points in results:
        pictures = (sweep_png(sweep, points), clocks_png(sweep, points))
        head, rows = table_cells(points, "!")
        sections.append(Section(sweep.title, TEXTS[sweep.name], pictures, head, rows))
        if sweep.name == "refresh" and (cells := refresh_cells(points, "!"))[1]:
            sections.append(
                Section("Per-bank refresh against refresh off", REFRESH_TEXT, (), *cells)
            )
        with whole_file(folder / f"{sweep.name}.csv") as temporary:
            temporary.write_text(csv_text(sweep, points))
        for name, picture in zip(("", "_clocks"), pictures, strict=True):
            with whole_file(folder / f"{sweep.name}{name}.png") as temporary:
                temporary.write_bytes(picture)
    fidelity = (
        "RTL" if base.fidelity is Fidelity.RTL else "golden model, equal to the RTL clock by clock"
    )
    notes = [
        ("figures", "% of the pin rate; behind a slash the goal, where there is one"),
        (
            "goal",
            "at or above the best public simulators on the same requests; where the JEDEC bound "
            f"forbids it, {BOUND_GOAL:.0%} of the bound",
        ),
        ("dashed lines", "the JEDEC bound where every request opens its row"),
        *((CAUSE_NAMES[cause], text) for cause, text in CAUSE_MEANINGS.items()),
    ]
    lead = (
        f"One channel (HBM: pseudo channel), {base.requests:,} requests of uniformly random rows "
        f"per point, seed {base.seed}; {fidelity}. Every command log was replayed against JEDEC's "
        "rules without a violation."
    )
    with whole_file(folder / "report.html") as temporary:
        temporary.write_text(page("DRAM front-ends", lead, sections, notes), encoding="utf-8")


def table_cells(points: Results, missed: str) -> tuple[tuple[str, ...], list[list[str]]]:
    """Head and rows of the table of a sweep: % of the pin rate, a row per memory and series."""
    ticks = sorted({case.x for case, _ in points}, key=int)
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for case, one in points:
        text = f"{100 * one.fraction_of_pin:.1f}"
        if case.goal is not None:
            text += f" / {100 * case.goal:.1f}"
            text += missed if one.fraction_of_pin < case.goal else ""
        lines.setdefault((case.point.preset.name, case.series), {})[case.x] = text
    rows = [
        [f"{name}, {series}", *(line.get(x, "") for x in ticks)]
        for (name, series), line in lines.items()
    ]
    return ("memory", *ticks), rows


def _size_table(sweep: Sweep, points: Results) -> Table:
    head, rows = table_cells(points, " missed")
    goals = " / goal" if any(case.goal is not None for case, _ in points) else ""
    table = Table(title=f"{sweep.title}: % of the pin rate{goals}", title_justify="left")
    for name in head:
        table.add_column(name, justify="left" if name == "memory" else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _refresh_table(points: Results) -> Table:
    head, rows = refresh_cells(points, " missed")
    table = Table(title="Per-bank refresh against refresh off", title_justify="left")
    for name in head:
        table.add_column(name, justify="left" if name == FIRST else "right")
    for number, row in enumerate(rows):
        table.add_row(*row, end_section=number % 3 == 2)
    table.caption = (
        f"to reach: at most {MOST:.0%} below refresh off; where the device's own timings forbid "
        f"that, {BOUND_GOAL:.0%} of the bound"
    )
    return table
