"""A scheduler without queues: every command of a given order as early as the rule table permits.

It shows what the memory itself can do, apart from any front-end. Visits rotate over the banks; the
bursts of two visits alternate, so that neither waits for tCCD_L.
"""

from collections import defaultdict, deque

import numpy as np

from recspeed.models.runs.command_log import COMMAND_LOG, CommandCode
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import Rule, timing_rules


class Schedule:
    """Commands with the earliest clock that all rules and the buses permit."""

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        self.log: list[tuple[int, int, int]] = []
        rules = timing_rules(preset)
        self.before = defaultdict(list)
        self.after = defaultdict(list)
        for rule in rules:
            for command in rule.next:
                self.before[command].append(rule)
            for command in rule.previous:
                self.after[command].append(rule)
        self.seen: dict[tuple[str, int], deque[int]] = {}
        self.taken: set[tuple[str, int]] = set()

    def place(self, rule: Rule, bank: int) -> int:
        org = self.preset.organization
        stack = bank // (org.bank_groups * org.banks_per_group)
        return {
            "bank": bank,
            "bank_group": stack * org.bank_groups + bank % org.bank_groups,
            "other_stack": stack,
            "rank": stack // org.stack_ids,
            "other_rank": stack // org.stack_ids,
        }[rule.scope]

    def clocks_before(self, rule: Rule, bank: int) -> list[int]:
        """Clocks of the commands from which `rule` counts for one to `bank`."""
        own = self.place(rule, bank)
        if not rule.scope.startswith("other"):
            places = [own]
        else:
            size = self.preset.organization.stack_ids if rule.scope == "other_stack" else 4
            first = own // size * size
            places = [place for place in range(first, first + size) if place != own]
        found = [self.seen.get((rule.name, place), ()) for place in places]
        return [times[0] for times in found if len(times) == rule.window]

    def issue(self, command: str, bank: int) -> int:
        """Issues `command`, and returns its clock."""
        org = self.preset.organization
        clock = 1
        for rule in self.before[command]:
            for earlier in self.clocks_before(rule, bank):
                clock = max(clock, earlier + rule.clocks)
        bus = "all" if org.command_bus == "shared" else "row" if command == "ACT" else "column"
        length = org.activate_clocks if command == "ACT" else 1
        while any((bus, clock - back) in self.taken for back in range(length)):
            clock += 1
        self.taken.update((bus, clock - back) for back in range(length))
        for rule in self.after[command]:
            key = rule.name, self.place(rule, bank)
            self.seen.setdefault(key, deque(maxlen=rule.window)).append(clock)
        self.log.append((clock, int(CommandCode[command]), bank))
        return clock

    def commands(self) -> np.ndarray:
        """COMMAND_LOG in the order of the bus, in row and column 0."""
        act = int(CommandCode.ACT)
        log = np.zeros(len(self.log), dtype=COMMAND_LOG)
        for place, (clock, command, bank) in enumerate(
            sorted(self.log, key=lambda one: (one[0], one[1] != act))
        ):
            log[place] = (clock, 0, 0, bank, command)
        return log


def rotating_visits(
    preset: MemoryPreset, bursts: int, visits: int, *, write: bool
) -> tuple[np.ndarray, float]:
    """`(commands, clocks per visit)` of visits that rotate over the banks, all reads or writes."""
    schedule = Schedule(preset)
    burst, last = ("WR", "WRA") if write else ("RD", "RDA")
    banks = [visit % preset.banks for visit in range(visits)]
    ends = []
    for first in range(0, visits, 2):
        pair = banks[first : first + 2]
        for bank in pair:
            schedule.issue("ACT", bank)
        for number in range(bursts):
            ends += [schedule.issue(last if number == bursts - 1 else burst, b) for b in pair]
    half = len(ends) // 2
    return schedule.commands(), (ends[-1] - ends[half - 1]) / (visits - visits // 2)
