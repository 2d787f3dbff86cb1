"""What the report adds to the paper: assumptions, variants beyond it, energy, placements."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.ticker import PercentFormatter

from recspeed.models.performance import presets
from recspeed.models.performance.beyond import VARIANTS, beyond_rows, energy_rows
from recspeed.models.performance.energy import (
    ACTIVATE_NJ,
    COMPUTE_PJ_PER_MAC,
    LINK_PJ_PER_BIT,
    MEMORY_PJ_PER_BIT,
)
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.paper import CASES, evaluate_case
from recspeed.models.performance.sensitivity import Sensitivity, sensitivities
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.exhibit import Cell, Exhibit
from recspeed.scripts.reports.paper_figures import QPS_FORMAT


def _cell_name(sensitivity: Sensitivity, index: int) -> str:
    row = sensitivity.rows[index]
    mode = "inference" if row.table == "XVI" else "training"
    return f"{row.system} {mode} {row.case} {row.quantity}"


def sensitivity(folder: Path) -> Exhibit:
    """How each cell of Tables XVI and XVII moves when one assumption is changed."""
    found = sensitivities()
    names = [_cell_name(found[0], index) for index in range(len(found[0].rows))]
    exhibit = Exhibit(
        "sensitivity",
        "How every cell moves when one assumption is changed",
        "assumptions",
        "Change of the model's cell in percent; the columns beside the assumption give the "
        "largest and the mean error against the paper, which the default keeps at 4 % and 1 %.",
        ["assumption", "standing", "changed to", "largest error", "mean error", *names],
        [
            [
                one.assumption.name,
                one.assumption.standing,
                one.alternative.label,
                one.largest_error,
                one.mean_error,
                *one.change,
            ]
            for one in found
        ],
        preview=0,
    )
    changes = np.array([one.change for one in found])
    order = [
        (system, table, quantity)
        for table, quantities in (
            ("XVI", ("qps", "memory_utilisation")),
            ("XVII", ("qps", "all_reduce_share")),
        )
        for system in ("recspeed-16", "dgx-2")
        for quantity in quantities
    ]
    columns = [
        index
        for key in order
        for index, row in enumerate(found[0].rows)
        if (row.system, row.table, row.quantity) == key
    ]
    with drawing.figure(size=(15, 9.5)) as (sheet, ax):
        shades = TwoSlopeNorm(0, -0.6, 0.6)
        image = ax.imshow(changes[:, columns], cmap="RdBu", norm=shades, aspect="auto")
        for (y, x), value in np.ndenumerate(changes[:, columns]):
            if abs(value) >= 0.005:
                colour = "white" if abs(value) > 0.35 else "black"
                ax.text(x, y, f"{value:+.0%}", ha="center", va="center", fontsize=7, color=colour)
        labels = [
            f"{one.assumption.name}: {one.alternative.label} [{one.assumption.standing}]"
            for one in found
        ]
        ax.set_yticks(range(len(labels)), labels, fontsize=8)
        ax.set_xticks(range(32), [found[0].rows[index].case for index in columns], fontsize=8)
        short = {
            "qps": "QPS",
            "memory_utilisation": "memory util.",
            "all_reduce_share": "all-reduce",
        }
        for group, (system, table, quantity) in enumerate(order):
            name = f"{system}\n{'inference' if table == 'XVI' else 'training'}\n{short[quantity]}"
            ax.text(group * 4 + 1.5, -1.0, name, ha="center", va="bottom", fontsize=8)
            ax.axvline(group * 4 - 0.5, color="black", linewidth=0.8)
        ax.grid(visible=False)
        ax.set_title(exhibit.title, pad=52)
        bar = sheet.colorbar(image, ax=ax, format=PercentFormatter(1, decimals=0), shrink=0.6)
        bar.set_label("change of the cell")
        exhibit.picture = folder / "sensitivity.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def beyond(folder: Path) -> Exhibit:
    """RecSpeed with other memory timings, schedules, exchanges and latencies."""
    rows = beyond_rows()
    exhibit = Exhibit(
        "beyond",
        "Beyond the paper: RecSpeed under other rules, next to the printed throughput",
        "VII",
        "Each row changes only what its name says.",
        ["table", "variant", "case", "paper (QPS)", "model (QPS)", "against the paper"],
        [
            [
                row.table.removeprefix("beyond "),
                row.system.removeprefix("recspeed-16-"),
                row.case,
                row.paper,
                row.model,
                f"{row.relative_error:+.0%}",
            ]
            for row in rows
        ],
        notes=[f"{one.name}: {one.title}" for one in VARIANTS],
    )
    names = [one.name for one in VARIANTS]
    with drawing.figure(2, 4, (15, 7.5)) as (sheet, axes):
        for line, table in zip(axes, ("beyond XVI", "beyond XVII"), strict=True):
            for ax, case in zip(line, CASES, strict=True):
                chosen = {
                    row.system.removeprefix("recspeed-16-"): row
                    for row in rows
                    if row.table == table and row.case == case.name
                }
                printed = next(iter(chosen.values())).paper
                bars = ax.barh(
                    ["paper", *names],
                    [printed, *(chosen[n].model if n in chosen else 0 for n in names)],
                    color=[drawing.PAPER] + [drawing.COLOURS[0]] * len(names),
                )
                texts = [f"{printed / 1e3:.0f}K"] + [
                    f"{chosen[n].model / 1e3:.0f}K" if n in chosen else "-" for n in names
                ]
                ax.bar_label(bars, texts, fontsize=8, padding=3)
                ax.axvline(printed, color="black", linewidth=0.7, linestyle=":")
                ax.invert_yaxis()
                ax.xaxis.set_major_formatter(QPS_FORMAT)
                ax.margins(x=0.2)
                ax.tick_params(axis="x", labelsize=8)
                ax.set_title(f"{'inference' if table.endswith('XVI') else 'training'}, {case.name}")
                if case is not CASES[0]:
                    ax.set_yticklabels([])
        sheet.suptitle(exhibit.title + " (batches per second)")
        exhibit.picture = folder / "beyond.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


def energy(folder: Path) -> Exhibit:
    """Energy per query with its range."""
    rows = energy_rows()
    exhibit = Exhibit(
        "energy",
        "Energy of data movement and arithmetic per query (batch)",
        "VII",
        "Bits moved and multiply-adds times published energies; ranges where sources differ. Idle, "
        "clock and leakage power are not in it, so a slow system's real energy is far higher.",
        [
            *("system", "case", "mode", "memory (mJ)", "network (mJ)", "compute (mJ)"),
            *("total low (mJ)", "total (mJ)", "total high (mJ)", "power at full rate (W)"),
        ],
        [
            [
                row.system,
                row.case,
                "training" if row.training else "inference",
                *(part[1] * 1e3 for part in (row.energy.memory, row.energy.network)),
                row.energy.compute[1] * 1e3,
                *(part * 1e3 for part in row.energy.total),
                row.watts[1],
            ]
            for row in rows
        ],
        notes=[
            f"{kind} {name}: {one.low:g} / {one.typical:g} / {one.high:g} {unit}. {one.source}"
            for name, unit, figures in (
                ("memory", "pJ/bit", MEMORY_PJ_PER_BIT),
                ("row activate", "nJ", ACTIVATE_NJ),
                ("link", "pJ/bit", LINK_PJ_PER_BIT),
                ("dense layers", "pJ per multiply-add", {"FP16": COMPUTE_PJ_PER_MAC}),
            )
            for kind, one in figures.items()
        ],
    )
    with drawing.figure(1, 2, (12, 4.4)) as (sheet, axes):
        for ax, training in zip(axes, (False, True), strict=True):
            for index, system in enumerate(dict.fromkeys(row.system for row in rows)):
                chosen = [r for r in rows if r.system == system and r.training == training]
                low, typical, high = (
                    np.array([row.energy.total[i] * 1e3 for row in chosen]) for i in range(3)
                )
                at = np.arange(len(chosen)) + (index - 1) * 0.27
                ax.bar(at, typical, 0.25, label=system)
                span = [typical - low, high - typical]
                ax.errorbar(at, typical, span, fmt="none", ecolor="black", capsize=3, linewidth=1)
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.set_xticks(range(len(CASES)), [case.name for case in CASES])
            ax.set(ylabel="mJ per query", title="training" if training else "inference")
            ax.legend()
        sheet.suptitle(exhibit.title)
        exhibit.picture = folder / "energy.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


CLASS_TITLES = {
    "memory": "memory",
    "bandwidth": "link transfer",
    "latency": "link latency",
    "compute": "dense compute",
}


def roofline(folder: Path) -> Exhibit:
    """The generalized roofline: the QPS that each class alone would allow, and what is reached."""
    points = [
        (system, case, training, evaluate_case(case, system, training))
        for system in ("recspeed-16", "dgx-2")
        for training in (False, True)
        for case in CASES
    ]
    exhibit = Exhibit(
        "roofline",
        "Generalized roofline: what each resource alone would allow",
        "V",
        "Memory, link transfer, link latency and dense compute as roofs of the throughput (the "
        "paper's roofline with communication in it); the line is what all of them together reach. "
        "The bottleneck is the class with the largest share of the critical path.",
        [
            *("system", "mode", "case", "QPS"),
            *(f"{title} alone (QPS)" for title in CLASS_TITLES.values()),
            *("bottleneck", "its share"),
        ],
        [
            [
                system,
                "training" if training else "inference",
                case.name,
                result.qps,
                *(result.bounds[name] for name in CLASS_TITLES),
                result.bottleneck,
                f"{result.critical_shares[result.bottleneck]:.0%}",
            ]
            for system, case, training, result in points
        ],
    )
    with drawing.figure(1, 4, (15, 4.6)) as (sheet, axes):
        for index, ax in enumerate(axes):
            group = points[4 * index : 4 * index + 4]
            system, _, training, _ = group[0]
            for offset, (name, title) in enumerate(CLASS_TITLES.items()):
                at = np.arange(4) + (offset - 1.5) * 0.19
                ax.bar(at, [point[3].bounds[name] for point in group], 0.18, label=title)
            reached = [point[3].qps for point in group]
            ax.hlines(reached, np.arange(4) - 0.42, np.arange(4) + 0.42, color="black", lw=2)
            ax.set_yscale("log")
            ax.set_ylim(1e3, 1e8)
            ax.yaxis.set_major_formatter(QPS_FORMAT)
            ax.set_xticks(range(4), [point[1].name for point in group])
            ax.set_title(f"{system}, {'training' if training else 'inference'}")
        axes[0].set_ylabel("batches per second")
        sheet.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        sheet.suptitle(exhibit.title + " (black: reached)")
        exhibit.picture = folder / "roofline.png"
        drawing.save(sheet, exhibit.picture)
    return exhibit


PLACEMENTS = (
    ("unsharded", "unpooled"),
    ("table-wise", "unpooled"),
    ("column-wise/2", "unpooled"),
    ("row-wise:8,table-wise:32", "fp32"),
    ("row-wise", "fp32"),
    ("fully-sharded", "unpooled"),
)


def placements() -> Exhibit:
    """Placements of the two workloads on recspeed-16, with balance from real table counts."""
    system = presets.system("recspeed-16")
    rows: list[list[Cell]] = []
    for name in ("rm2-small", "rm2-large"):
        for text, wire in PLACEMENTS:
            result = evaluate(presets.workload(name), system, parse_placement(text, wire))
            exchange = result.messages["embedding_exchange"] / 1e3
            rows.append([name, text, result.balance, exchange, result.qps, result.bottleneck])
    return Exhibit(
        "placements",
        "Placements between the paper's two extremes, recspeed-16, inference",
        "V",
        "The paper expects reality between unsharded and fully sharded. Whole tables cannot "
        "spread 40 tables on 16 chips; rows pooled on their chip before the exchange nearly keep "
        "the unsharded rate (FP32 partial sums). A mixture pays for two collectives in a row, "
        "which small batches feel.",
        ["workload", "placement", "balance", "exchange per chip (kB)", "QPS", "bottleneck"],
        rows,
    )


DRAWN: tuple[Callable[[Path], Exhibit], ...] = (roofline, beyond, energy, sensitivity)
"""Each draws one plot into a folder and returns it."""
