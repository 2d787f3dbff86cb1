"""What `recspeed dram` prints of one run: throughput, cost of shared buses, distances."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from recspeed.models.runs.dram import DramResult
from recspeed.models.spec.register_map import Counter
from recspeed.scripts.measurements.dram_points import DramMeasured, DramPoint
from recspeed.scripts.measurements.fidelities import channel_word
from recspeed.scripts.reports.attribution import CAUSE_NAMES, shares

if TYPE_CHECKING:
    from recspeed.tb.checkers.jedec import JedecReport


def throughput_table(one: DramMeasured) -> Table:
    """What a run reached, and what its clocks went to."""
    point, counters = one.point, one.counters
    preset, bound = point.preset, one.point.bound
    table = Table(
        title=f"{point.requests} requests of {point.size} B on {preset.name} ({point.fidelity})",
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


def sharing_table(
    point: DramPoint, results: Sequence[DramResult], alone: Sequence[DramResult]
) -> Table:
    """What the shared command buses cost each pseudo channel."""
    table = Table(title="On shared command buses", title_justify="left")
    table.add_column("pseudo channel", justify="right")
    for column in ("cycles", "of the pin rate", "alone", "of the pin rate", "cost of sharing"):
        table.add_column(column, justify="right")
    pins = point.preset.pin_gb_per_s / point.preset.clock_ghz
    for number, (shared, own) in enumerate(zip(results, alone, strict=True)):
        fractions = [point.requests * point.size / one.cycles / pins for one in (shared, own)]
        table.add_row(
            str(number),
            str(shared.cycles),
            f"{fractions[0]:.1%}",
            str(own.cycles),
            f"{fractions[1]:.1%}",
            f"{1 - fractions[0] / fractions[1]:.2%}",
        )
    return table


def gaps_table(checks: "Sequence[JedecReport]") -> Table:
    """JEDEC's rules and the smallest distance of each, over all given logs."""
    table = Table(title="JEDEC rules", title_justify="left")
    table.add_column("rule")
    for column in ("at least", "minimum seen", "violations"):
        table.add_column(column, justify="right")
    for rules in zip(*(check.rules for check in checks), strict=True):
        gaps = [rule.minimum_gap for rule in rules if rule.minimum_gap is not None]
        table.add_row(
            rules[0].name,
            str(rules[0].limit),
            str(min(gaps)) if gaps else "never met",
            str(sum(rule.violations for rule in rules)),
        )
    never = [
        name
        for name in checks[0].never_at_limit
        if all(name in check.never_at_limit for check in checks)
    ]
    table.caption = "clocks; never driven to the limit: " + (", ".join(never) or "none")
    return table
