"""Everything that `recspeed reproduce` writes: CSV, PNG, `tables.csv` and the report page."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from recspeed.models.performance import paper, presets
from recspeed.models.performance.beyond import beyond_rows
from recspeed.models.performance.figures import AxisCheck, axis_checks
from recspeed.models.performance.paper import Row
from recspeed.models.performance.sensitivity import ASSUMPTIONS
from recspeed.scripts.console import progress, whole_file
from recspeed.scripts.reports import paper_extras, paper_figures, paper_tables
from recspeed.scripts.reports.exhibit import Exhibit
from recspeed.scripts.reports.serving_plot import serving
from recspeed.scripts.reports.tabular import write_csv

SECTIONS = (
    ("II", "Related work: the systems that the paper compares"),
    ("III", "Overview of recommender systems"),
    ("IV", "DLRM from a hardware architecture perspective"),
    ("V", "Performance model"),
    ("VI", "Evaluation of system performance"),
    ("VII", "RecSpeed, and beyond the paper"),
    ("assumptions", "Assumptions: forced, likely, free"),
)


@dataclass(frozen=True)
class Summary:
    """The figures of merit of a reproduction."""

    cells: list[Row]
    speedups: list[Row]
    prose: list[Row]
    axes: list[AxisCheck]

    @property
    def largest_error(self) -> float:
        """Largest relative error over the 32 cells."""
        return max(abs(row.relative_error) for row in self.cells)

    @property
    def mean_error(self) -> float:
        """Mean relative error over the 32 cells."""
        return sum(abs(row.relative_error) for row in self.cells) / len(self.cells)

    @property
    def rounding(self) -> int:
        """How many of the 32 cells round to the printed value."""
        return sum(paper.rounds_to_printed(row) for row in self.cells)

    @property
    def failures(self) -> list[str]:
        """What is not reached, one line each."""
        lines = [
            f"Table {row.table} {row.system} {row.case} {row.quantity}: paper {row.paper:g},"
            f" model {row.model:.4g}"
            for row in self.cells
            if abs(row.relative_error) > paper.DIVERGENT
        ]
        lines += [
            f"speed-up {row.table} {row.case}: paper {row.paper:g}, model {row.model:.1f}"
            for row in self.speedups
            if row.quantity == "speedup" and abs(round(row.model) - row.paper) > 1
        ]
        lines += [
            f"Fig. {check.figure}: {check.lowest:,.0f} to {check.highest:,.0f} is off the axis"
            for check in self.axes
            if not check.fits
        ]
        return lines


def summarise() -> Summary:
    """Evaluate all cells, speed-ups, prose figures and axes."""
    return Summary(paper.table_rows(), paper.speedup_rows(), paper.prose_rows(), axis_checks())


def write_tables_csv(path: Path, summary: Summary) -> None:
    """`tables.csv`: one line per cell, speed-up, prose figure and variant beyond the paper."""
    rows = [*summary.cells, *summary.speedups, *summary.prose, *beyond_rows()]
    write_csv(
        path,
        ["table", "system", "case", "quantity", "paper", "model", "relative_error"],
        [
            [
                row.table,
                row.system,
                row.case,
                row.quantity,
                f"{row.paper:g}" if row.paper < 1000 else f"{row.paper:.0f}",
                f"{row.model:.6g}",
                f"{row.relative_error:.4f}",
            ]
            for row in rows
        ],
    )


def _axis_exhibit(checks: list[AxisCheck]) -> Exhibit:
    return Exhibit(
        "axis-ranges",
        "Throughput axes of Figs. 8, 9, 11 and 12 against the model's range",
        "VI",
        "A line plot's axis must hold every value. Of a surface plot some labels survive: they "
        "must lie on the surface, which must end less than one step beyond them.",
        ["figure", "first label", "last label", "step", "model lowest", "model highest", "fits"],
        [
            [
                f"Fig. {check.figure}",
                check.first,
                check.last,
                check.step,
                check.lowest,
                check.highest,
                "yes" if check.fits else "no",
            ]
            for check in checks
        ],
    )


def _prose_exhibit(summary: Summary) -> Exhibit:
    rows = [*summary.prose, *(r for r in summary.speedups if r.table == "abstract")]
    return Exhibit(
        "prose",
        "Figures in the paper's text",
        "VII",
        "",
        ["where", "system", "case", "quantity", "paper", "model", "error"],
        [
            [
                row.table,
                row.system,
                row.case,
                row.quantity,
                row.paper,
                row.model,
                f"{row.relative_error:+.1%}",
            ]
            for row in rows
        ],
    )


def _presets() -> list[dict[str, Any]]:
    """Every system preset with its sources and what is unknown, for the page's last part."""
    return [
        {"name": s.name, "title": s.title, "sources": s.sources, "unknown": s.unknown}
        for s in (presets.system(name) for name in presets.names("systems"))
    ]


def _paper_order(exhibit: Exhibit) -> tuple[bool, str]:
    """The paper's tables, then its figures, then what the report adds."""
    own = exhibit.key.startswith(("table-", "figure-"))
    return not own, exhibit.key.replace("table-", " ")


def _page(summary: Summary, exhibits: list[Exhibit]) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = [
        {
            "key": key,
            "title": title,
            "exhibits": [exhibit for exhibit in exhibits if exhibit.section == key],
        }
        for key, title in SECTIONS
    ]
    return environment.get_template("paper_report.html.j2").render(
        summary=summary,
        sections=parts,
        assumptions=ASSUMPTIONS,
        presets=_presets(),
    )


def reproduce(folder: Path) -> Summary:
    """Write everything into `folder` and return the figures of merit.

    Pictures and CSV files appear one by one as they are finished; the page comes last.
    """
    jobs: list[Callable[[], Exhibit]] = [
        *paper_tables.QUOTED,
        paper_extras.placements,
        *(
            partial(draw, folder)
            for draw in (
                *paper_figures.FIGURES,
                *paper_tables.PLOTTED,
                *paper_extras.DRAWN,
                serving,
            )
        ),
    ]
    exhibits = []
    with progress() as bar:
        task = bar.add_task("tables and figures", total=len(jobs) + 2)
        summary = summarise()
        jobs += [partial(_axis_exhibit, summary.axes), partial(_prose_exhibit, summary)]
        for job in jobs:
            exhibit = job()
            exhibit.write(folder)
            exhibits.append(exhibit)
            bar.advance(task)
    write_tables_csv(folder / "tables.csv", summary)
    exhibits.sort(key=_paper_order)
    with whole_file(folder / "report.html") as temporary:
        temporary.write_text(_page(summary, exhibits), encoding="utf-8")
    return summary
