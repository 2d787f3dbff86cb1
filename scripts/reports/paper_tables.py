"""The paper's Tables I to XVII: as data where it quotes, by the model where it computes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.ticker import PercentFormatter

from recspeed.models.performance import paper, paper_tables
from recspeed.models.performance.paper import CASES, Row
from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.exhibit import Cell, Exhibit
from recspeed.scripts.reports.paper_figures import QPS_FORMAT

ROMAN: tuple[str, ...] = (
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"),
    *("X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII"),
)


def _key(number: str) -> str:
    return f"table-{ROMAN.index(number) + 1:02d}"


def quoted(number: str, section: str, caption: str) -> Exhibit:
    """A table that the paper quotes: as printed, with values and the preset that uses each."""
    table = paper.tables()[number]
    rows: list[list[Cell]] = []
    for row in table["rows"]:
        used = row.get("used")
        rows.append(
            [
                row["item"],
                row["printed"],
                row.get("value"),
                row.get("unit", ""),
                "" if used is None else used.replace(":", ": "),
                None if used is None else paper.preset_value(used),
            ]
        )
    header = ["item", "as printed", "value", "unit", "preset that uses it", "preset's value"]
    title = f"Table {number}: {table['title']}"
    return Exhibit(_key(number), title, section, caption, header, rows)


def _numbers(rows: list[list[str | float]]) -> list[list[Cell]]:
    return [list(row) for row in rows]


def table_4() -> Exhibit:
    """Recommender systems against other models, with DLRM-RM2's own numbers."""
    exhibit = quoted("IV", "III", "")
    rows: list[list[Cell]] = [[row[0], row[1], None] for row in exhibit.rows]
    rows += [
        [label, f"{count:,.0f} parameters", intensity]
        for label, count, intensity in paper_tables.model_sizes()
    ]
    exhibit.header = ["model", "size", "operations per weight (model)"]
    exhibit.rows = rows
    exhibit.caption = (
        "Other models as printed; the rows of DLRM-RM2 are computed and fall where the paper puts "
        "embedding layers: above 10 billion parameters, 1 to 2 operations per weight."
    )
    return exhibit


def table_5() -> Exhibit:
    """Collective factors by numbers."""
    return Exhibit(
        _key("V"),
        "Table V: hardware factors of collectives, by numbers",
        "IV",
        "Equal bandwidth per chip: a ring keeps up in all-reduce and falls behind in all-to-all, "
        "as the table says. A ring of 8 needs 2.3 times the fully connected transfer time.",
        ["topology", "operation", "64 kB per chip (us)", "1 MB per chip (us)"],
        _numbers(paper_tables.collective_times()),
    )


def table_10() -> Exhibit:
    """On-chip memory by use."""
    return Exhibit(
        _key("X"),
        "Table X: uses of on-chip buffer memory, bytes per chip, training on recspeed-16",
        "IV",
        "The paper leaves these sizes open; they follow from the workload and the placement.",
        ["case", "weights", "gradients", "kept rows", "transfer buffers", "activations", "sum"],
        _numbers(paper_tables.buffer_bytes()),
    )


def table_11() -> Exhibit:
    """Changes to existing accelerators by numbers."""
    exhibit = quoted("XI", "IV", "The printed changes, as what-if presets.")
    exhibit.notes = [
        f"{row[0]}: {row[1]:,.1f} GB; SU {row[2]:,.0f}, SS {row[3]:,.0f}, LU {row[4]:,.0f},"
        f" LS {row[5]:,.0f} batches/s"
        for row in paper_tables.what_if()
    ]
    return exhibit


def table_12() -> Exhibit:
    """The workload's configuration and what follows from it."""
    exhibit = quoted("XII", "V", "")
    exhibit.notes = [
        f"{name}: top MLP takes {width:,} inputs, {parameters:,} dense parameters, "
        f"{flops:.2f} MFLOP per inference, {lookups:,.0f} lookups and {megabytes:.1f} MB per batch"
        for name, _, width, parameters, flops, lookups, megabytes in paper_tables.configuration()
    ]
    exhibit.caption = "The digits of FLOPS per inference are lost; the model's are in the notes."
    return exhibit


def _bars(folder: Path, exhibit: Exhibit, rows: list[Row], quantity: str, label: str) -> None:
    """Paper beside model for both systems: throughput (logarithmic) and a share."""
    with drawing.figure(2, 2, (12, 7)) as (sheet, axes):
        for line, system in zip(axes, ("recspeed-16", "dgx-2"), strict=True):
            for ax, name in zip(line, ("qps", quantity), strict=True):
                chosen = [r for r in rows if r.system == system and r.quantity == name]
                at = np.arange(len(chosen))
                for offset, colour, who, values in (
                    (-0.2, drawing.PAPER, "paper", [row.paper for row in chosen]),
                    (0.2, drawing.COLOURS[0], "model", [row.model for row in chosen]),
                ):
                    bars = ax.bar(at + offset, values, 0.38, color=colour, label=who)
                    texts = (
                        [f"{v / 1e3:.3g}K" for v in values]
                        if name == "qps"
                        else [f"{v:.1%}" for v in values]
                    )
                    ax.bar_label(bars, texts, fontsize=8, padding=2)
                ax.set_xticks(at, [row.case for row in chosen])
                if name == "qps":
                    ax.yaxis.set_major_formatter(QPS_FORMAT)
                    ax.set(ylabel="batches per second", title=f"{system}: throughput")
                    ax.set_ylim(0, max(row.paper for row in chosen) * 1.2)
                else:
                    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
                    ax.set(ylabel=label, title=f"{system}: {label}")
                    ax.set_ylim(0, max(row.paper for row in chosen) * 1.2)
                ax.legend(loc="upper right")
        sheet.suptitle(exhibit.title)
        exhibit.picture = folder / f"{exhibit.key}.png"
        drawing.save(sheet, exhibit.picture)


def _results(folder: Path, number: str, quantity: str, label: str) -> Exhibit:
    """Table XVI or XVII: paper against model, cell by cell."""
    rows = [row for row in paper.table_rows() if row.table == number]
    speedups = [row for row in paper.speedup_rows() if row.table == number]
    errors = [abs(row.relative_error) for row in rows]
    exact = sum(paper.rounds_to_printed(row) for row in rows)
    mode = "inference" if number == "XVI" else "training"
    cells: list[list[Cell]] = [
        [
            row.system,
            row.case,
            row.quantity,
            row.paper,
            row.model,
            f"{row.relative_error:+.1%}",
            ("yes" if paper.rounds_to_printed(row) else "no") if row.quantity != "speedup" else "",
        ]
        for row in [*rows, *speedups]
    ]
    exhibit = Exhibit(
        _key(number),
        f"Table {number}: RecSpeed and DGX-2 {mode} upper bounds",
        "VII",
        f"{len(rows)} cells: largest error {max(errors):.1%}, mean {np.mean(errors):.1%}, "
        f"{exact} round to the printed value. The speed-ups are ratios of the model's own rates.",
        ["system", "case", "quantity", "paper", "model", "error", "rounds to print"],
        cells,
    )
    _bars(folder, exhibit, rows, quantity, label)
    return exhibit


def table_16(folder: Path) -> Exhibit:
    """Inference."""
    return _results(folder, "XVI", "memory_utilisation", "memory utilisation")


def table_17(folder: Path) -> Exhibit:
    """Training."""
    return _results(folder, "XVII", "all_reduce_share", "share of reduction and update")


def what_fits() -> Exhibit:
    """Chips without DRAM: what fits."""
    return Exhibit(
        "chips-without-dram",
        "Chips without DRAM: what fits, and what added DRAM would change",
        "II",
        "Rows per RM2 table (40 tables of 64 B rows) that fill the memory; public models at 200 "
        "samples per batch, unsharded or row-wise, whichever is faster.",
        ["system", "memory (GB)", "rows per table", *paper_tables.FITTED],
        _numbers(paper_tables.what_fits()),
    )


def all_systems(folder: Path) -> Exhibit:
    """Every preset system side by side."""
    rows = paper_tables.all_systems()
    exhibit = Exhibit(
        "systems",
        "Every system of the paper on its four cases, inference",
        "II",
        "Batches per second, upper bounds. Systems differ in capacity by five orders of magnitude: "
        "the tables are taken to fit, as in the paper. Where a value is not public, the preset "
        "says so.",
        [
            "system",
            "chips",
            "memory (GB)",
            *(case.name for case in CASES),
            "SU bound by",
            "LS bound by",
        ],
        _numbers(rows),
    )
    order = sorted(rows, key=lambda row: float(row[3]))
    with drawing.figure(size=(10, 8)) as (sheet, ax):
        for index, case in enumerate(CASES):
            at = np.arange(len(order)) + (1.5 - index) * 0.2
            values = [float(row[3 + index]) for row in order]
            ax.barh(at, values, 0.19, label=case.name, color=drawing.COLOURS[index])
        ax.set_yticks(range(len(order)), [str(row[0]) for row in order])
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(QPS_FORMAT)
        ax.set(xlabel="batches per second", title=exhibit.title)
        ax.legend(title="case", loc="lower right")
        exhibit.picture = folder / "systems.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


QUOTED: tuple[Callable[[], Exhibit], ...] = (
    lambda: quoted("I", "II", "Values that the Zion preset uses."),
    lambda: quoted("II", "II", "Values that the DGX-A100 preset uses."),
    lambda: quoted("III", "II", "Values that the HLS-1 preset uses."),
    table_4,
    table_5,
    lambda: quoted("VI", "IV", "Lost digits that the result tables determine are recovered."),
    lambda: quoted("VII", "IV", "Peak communication bandwidth."),
    lambda: quoted("VIII", "IV", "Memory systems of the presets."),
    lambda: quoted("IX", "IV", "Peak compute of the presets."),
    table_10,
    table_11,
    table_12,
    lambda: quoted("XIII", "VI", "The ranges of the sweeps in Figs. 8 to 13."),
    lambda: quoted("XIV", "VII", "RecSpeed as the model evaluates it."),
    lambda: quoted("XV", "VII", "The DGX-2 as the model evaluates it."),
    what_fits,
)
"""Tables that are drawn as tables."""

PLOTTED: tuple[Callable[[Path], Exhibit], ...] = (table_16, table_17, all_systems)
"""Tables that come with a plot, drawn into a folder."""
