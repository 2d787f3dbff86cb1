"""An independent JEDEC checker: replays a command log against the timing table of its device.

It knows the preset, the rule table and what a bank is, and nothing of any controller. It reports
violations, and for every rule the smallest distance that was seen: a rule that a saturating run
never drives to its limit marks a controller that is too slow, or a rule that another one hides.
"""

import numpy as np

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import bus_rules, timing_rules
from recspeed.tb.checkers.bank_states import check_bank_states
from recspeed.tb.checkers.commands import among
from recspeed.tb.checkers.distances import Distances, latest_before
from recspeed.tb.checkers.refresh_counts import check_refresh_counts
from recspeed.tb.checkers.report import KEPT_PER_RULE, JedecReport, RuleReport, Violation

__all__ = [
    "KEPT_PER_RULE",
    "JedecReport",
    "RuleReport",
    "Violation",
    "check",
    "check_shared_row_bus",
]


def check(
    preset: MemoryPreset, commands: np.ndarray, *, refresh: bool = True, per_bank: bool = False
) -> JedecReport:
    """Check a command log (`COMMAND_LOG`) of a device.

    Parameters
    ----------
    refresh
        Refreshes are required: the log must keep up with tREFI within what may be postponed or
        pulled in. When False it must contain none.
    per_bank
        The refreshes that must keep up are per-bank ones; else all-bank refreshes of every rank.

    Raises
    ------
    ValueError
        For `per_bank` of a device that has no per-bank refresh.
    """
    if per_bank and not preset.per_bank_refresh:
        raise ValueError(f"{preset.name} has no per-bank refresh")
    report = JedecReport(len(commands))
    if not _check_form(preset, commands, report):
        return report
    _check_buses(preset, commands, report)
    check_bank_states(preset, commands, report)
    distances = Distances(preset, commands)
    owed = frozenset({"REFPB" if per_bank else "REF"} if refresh else ())
    report.rules += [distances.check(rule, report, owed) for rule in timing_rules(preset)]
    check_refresh_counts(preset, commands, report, refresh=refresh, per_bank=per_bank)
    return report


def check_shared_row_bus(preset: MemoryPreset, log_0: np.ndarray, log_1: np.ndarray) -> JedecReport:
    """Check that the pseudo channels of one HBM channel share its row and its column bus.

    Each log is one pseudo channel's, and legal by itself (`check`); here only the buses are judged.

    Raises
    ------
    ValueError
        For a device of one command bus: its channels share nothing.
    """
    if preset.organization.command_bus != "separate":
        raise ValueError(f"{preset.name} has no pseudo channels that share command buses")
    logs = (log_0, log_1)
    report = JedecReport(len(log_0) + len(log_1))
    for log in logs:
        _check_form(preset, log, report)
    if not report.legal:
        return report
    both = np.concatenate(logs)
    order = np.argsort(both["cycle"], kind="stable")
    owner = np.repeat((0, 1), [len(log) for log in logs])[order]
    _check_buses(preset, both[order], report, owner)
    return report


def _check_form(preset: MemoryPreset, log: np.ndarray, report: JedecReport) -> bool:
    """Fields in range and clocks in order; without that nothing else can be judged."""
    before = report.violation_count
    for name, values, limit in (
        ("command", log["command"], len(CommandCode)),
        ("bank", log["bank"], preset.banks),
        ("row", log["row"], preset.organization.rows),
        ("column", log["column"], preset.bursts_per_row),
    ):
        bad = np.flatnonzero(values >= limit)
        report.add(
            f"{name} range",
            log["cycle"][bad],
            lambda i, name=name, values=values, limit=limit, bad=bad: (
                f"{name} {values[bad[i]]}, expected less than {limit}"
            ),
        )
    if not preset.per_bank_refresh:
        bad = np.flatnonzero(among(log, {"REFPB"}))
        report.add(
            "command range", log["cycle"][bad], lambda i: "REFPB, the device has no such command"
        )
    back = np.flatnonzero(np.diff(log["cycle"]) < 0) + 1
    report.add("log order", log["cycle"][back], lambda i: "clock decreases")
    return report.violation_count == before


def _check_buses(
    preset: MemoryPreset, log: np.ndarray, report: JedecReport, owner: np.ndarray | None = None
) -> None:
    """No two commands overlap on one bus; `owner` numbers the pseudo channels that share it."""
    for rule in bus_rules(preset):
        before, after = latest_before(among(log, rule.previous), among(log, rule.next), 1)
        gaps = log["cycle"][after] - log["cycle"][before]
        bad = np.flatnonzero(gaps < rule.clocks)

        def detail(i: int, before=before, after=after, gaps=gaps, bad=bad, rule=rule) -> str:
            gap, names = gaps[bad[i]], [before[bad[i]], after[bad[i]]]
            text = "two commands in one clock"
            if gap:
                name = CommandCode(int(log["command"][names[1]])).name
                text = f"{name} {gap} clocks after a command, expected at least {rule.clocks}"
            if owner is not None:
                text += f", of pseudo channels {owner[names[0]]} and {owner[names[1]]}"
            return text

        report.add(rule.name, log["cycle"][after[bad]], detail)
