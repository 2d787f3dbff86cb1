"""An independent JEDEC checker: replays a command log against the timing table of its device.

It knows the preset, the rule table and what a bank is, and nothing of any controller. It reports
violations, and for every rule the smallest distance that was seen: a rule that a saturating run
never drives to its limit marks a controller that is too slow, or a rule that another one hides.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.run import CommandCode
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT, Rule, read_path_rules

ACT, RD, RDA, REF = (int(code) for code in CommandCode)


@dataclass(frozen=True)
class Violation:
    """One broken rule: what, in which clock, and how it was broken."""

    rule: str
    cycle: int
    detail: str

    def __str__(self) -> str:
        return f"{self.rule} in clock {self.cycle}: {self.detail}"


@dataclass(frozen=True)
class RuleReport:
    """The smallest distance of a rule in the log; None if the pair of commands never occurred."""

    name: str
    limit: int
    minimum_gap: int | None
    violations: int

    @property
    def driven_to_limit(self) -> bool:
        return self.minimum_gap is not None and self.minimum_gap <= self.limit


@dataclass
class JedecReport:
    """Everything the checker found in a log. `violations` holds the first few of each rule."""

    commands: int
    rules: list[RuleReport] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    violation_count: int = 0

    @property
    def legal(self) -> bool:
        return self.violation_count == 0

    @property
    def never_at_limit(self) -> list[str]:
        """Rules that the log never drives to their limit, or never exercises."""
        return [rule.name for rule in self.rules if not rule.driven_to_limit]

    def add(self, rule: str, cycles: NDArray[np.int64], details: list[str]) -> None:
        """Record violations of `rule`; `details` belong to the first of `cycles`."""
        self.violation_count += len(cycles)
        self.violations += [
            Violation(rule, int(cycle), detail)
            for cycle, detail in zip(cycles, details, strict=False)
        ]


KEPT_PER_RULE = 8


def check(preset: MemoryPreset, commands: np.ndarray, *, refresh: bool = True) -> JedecReport:
    """Check a command log (`COMMAND_LOG`) of a device.

    Parameters
    ----------
    refresh
        Refreshes are required: the log must keep up with tREFI within what may be postponed or
        pulled in. When False it must contain none.
    """
    report = JedecReport(len(commands))
    if not _check_form(preset, commands, report):
        return report
    _check_buses(commands, report)
    _check_bank_states(preset, commands, report)
    for rule in read_path_rules(preset):
        _check_rule(preset, commands, rule, report)
    _check_refresh_count(preset, commands, refresh, report)
    return report


def _check_form(preset: MemoryPreset, log: np.ndarray, report: JedecReport) -> bool:
    """Fields in range and clocks in order; without that nothing else can be judged."""
    org = preset.organization
    for name, values, limit in (
        ("command", log["command"], len(CommandCode)),
        ("bank", log["bank"], preset.banks),
        ("row", log["row"], org.rows),
        ("column", log["column"], preset.bursts_per_row),
    ):
        bad = np.flatnonzero(values >= limit)
        details = [f"{name} {values[i]}, expected less than {limit}" for i in bad[:KEPT_PER_RULE]]
        report.add(f"{name} range", log["cycle"][bad], details)
    back = np.flatnonzero(np.diff(log["cycle"]) < 0) + 1
    report.add("log order", log["cycle"][back], ["clock decreases"] * min(len(back), KEPT_PER_RULE))
    return report.legal


def _check_buses(log: np.ndarray, report: JedecReport) -> None:
    """One row command and one column command per clock at most."""
    row = np.isin(log["command"], (ACT, REF))
    for name, mask in (("row bus", row), ("column bus", ~row)):
        cycles = log["cycle"][mask]
        twice = cycles[1:][np.diff(cycles) == 0]
        report.add(name, twice, ["two commands in one clock"] * min(len(twice), KEPT_PER_RULE))


def _check_bank_states(preset: MemoryPreset, log: np.ndarray, report: JedecReport) -> None:
    """ACT only to a closed bank, reads only of the open row, REF only with all banks closed."""
    for bank in range(preset.banks):
        own = log[(log["bank"] == bank) & (log["command"] != REF)]
        opens = own["command"] == ACT
        closes = own["command"] == RDA
        open_before = np.concatenate(([False], ~closes[:-1]))[: len(own)]
        wrong = np.flatnonzero(opens == open_before)
        report.add(
            "bank state",
            own["cycle"][wrong],
            [
                f"{CommandCode(int(own['command'][i])).name} to "
                f"{'open' if open_before[i] else 'closed'} bank {bank}"
                for i in wrong[:KEPT_PER_RULE]
            ],
        )
        latest_act = np.maximum.accumulate(np.where(opens, np.arange(len(own)), -1))
        reads = np.flatnonzero(~opens & (latest_act >= 0))
        other = reads[own["row"][reads] != own["row"][latest_act[reads]]]
        report.add(
            "open row",
            own["cycle"][other],
            [
                f"read of row {own['row'][i]} in bank {bank}, open is {own['row'][latest_act[i]]}"
                for i in other[:KEPT_PER_RULE]
            ],
        )
    open_banks = np.cumsum((log["command"] == ACT).astype(int) - (log["command"] == RDA))
    bad = np.flatnonzero((log["command"] == REF) & (open_banks != 0))
    report.add(
        "bank state",
        log["cycle"][bad],
        [f"REF with {open_banks[i]} open banks" for i in bad[:KEPT_PER_RULE]],
    )


def _scopes(
    preset: MemoryPreset, log: np.ndarray, rule: Rule
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """For each place of the rule's scope: which commands count as previous, and which as next."""
    org = preset.organization
    previous = np.isin(log["command"], [int(CommandCode[name]) for name in rule.previous])
    following = np.isin(log["command"], [int(CommandCode[name]) for name in rule.next])
    bank = log["bank"].astype(int)
    stack = bank // (org.bank_groups * org.banks_per_group)
    if rule.scope == "pseudo_channel":
        yield previous, following
    elif rule.scope == "bank":
        for number in range(preset.banks):
            yield previous & (bank == number), following & (bank == number)
    elif rule.scope == "bank_group":
        group = stack * org.bank_groups + bank % org.bank_groups
        for number in range(org.stack_ids * org.bank_groups):
            yield previous & (group == number), following & (group == number)
    elif rule.scope == "other_stack":
        for number in range(org.stack_ids):
            yield previous & (stack != number), following & (stack == number)


def _check_rule(preset: MemoryPreset, log: np.ndarray, rule: Rule, report: JedecReport) -> None:
    """Distances of one rule over the whole log, in the order of the log."""
    minimum: int | None = None
    count = 0
    for previous, following in _scopes(preset, log, rule):
        previous_places = np.flatnonzero(previous)
        places = np.flatnonzero(following)
        latest = np.searchsorted(previous_places, places, side="left") - rule.window
        known = latest >= 0
        places, latest = places[known], latest[known]
        if not len(places):
            continue
        gaps = log["cycle"][places] - log["cycle"][previous_places[latest]]
        smallest = int(gaps.min())
        minimum = smallest if minimum is None else min(minimum, smallest)
        bad = np.flatnonzero(gaps < rule.clocks)
        count += len(bad)
        report.add(
            rule.name,
            log["cycle"][places[bad]],
            [
                f"bank {log['bank'][places[i]]}: {gaps[i]} clocks, expected at least {rule.clocks}"
                for i in bad[:KEPT_PER_RULE]
            ],
        )
    report.rules.append(RuleReport(rule.name, rule.clocks, minimum, count))


def _check_refresh_count(
    preset: MemoryPreset, log: np.ndarray, refresh: bool, report: JedecReport
) -> None:
    """One REF per tREFI on average, at most eight postponed and at most eight pulled in."""
    cycles = log["cycle"][log["command"] == REF]
    if not refresh:
        report.add("refresh off", cycles[:1], [f"{len(cycles)} refreshes"] if len(cycles) else [])
        return
    interval = preset.clocks.tREFI
    issued_before = np.arange(len(cycles))
    due = cycles // interval
    early = np.flatnonzero(issued_before + 1 - due > MAXIMUM_REFRESH_DEBT)
    report.add(
        "refresh pulled in",
        cycles[early],
        [
            f"{issued_before[i] + 1 - due[i]} ahead, expected at most {MAXIMUM_REFRESH_DEBT}"
            for i in early[:KEPT_PER_RULE]
        ],
    )
    end = int(log["cycle"][-1]) if len(log) else 0
    moments = np.append(cycles, end)
    owed = moments // interval - np.append(issued_before, len(cycles))
    late = np.flatnonzero(owed > MAXIMUM_REFRESH_DEBT)
    report.add(
        "refresh postponed",
        moments[late],
        [f"{owed[i]} owed, expected at most {MAXIMUM_REFRESH_DEBT}" for i in late[:KEPT_PER_RULE]],
    )
