"""JEDEC's command-to-command rules as one data table per device.

A rule reads: from a command in `previous` to a later one in `next`, both in the same `scope`, at
least `clocks` must pass; with `window` w the distance is taken from the w-th latest `previous`
command.

The table is complete for closed-page reads with auto-precharge and all-bank refresh. An
auto-precharge starts at the later of RDA + tRTP and ACT + tRAS (JESD235C, auto precharge), so every
rule "from precharge" appears twice, once from each of the two.
"""

from dataclasses import dataclass
from typing import Literal

from recspeed.models.spec.memory import MemoryPreset

Scope = Literal["bank", "bank_group", "other_stack", "pseudo_channel"]
Command = Literal["ACT", "RD", "RDA", "REF"]

ROW_COMMANDS: frozenset[str] = frozenset({"ACT", "REF"})
"""Commands on HBM's row bus; the others use its column bus, and both may carry one per clock."""

READS: frozenset[Command] = frozenset({"RD", "RDA"})
ACTIVATE: frozenset[Command] = frozenset({"ACT"})
READ_AUTO_PRECHARGE: frozenset[Command] = frozenset({"RDA"})
REFRESH: frozenset[Command] = frozenset({"REF"})

MAXIMUM_REFRESH_DEBT = 8
"""All-bank refreshes that may be postponed, or issued ahead of time (JESD235C, refresh command)."""


@dataclass(frozen=True)
class Rule:
    """One minimum distance in clocks. `other_stack`: same pseudo channel, another stack ID."""

    name: str
    scope: Scope
    previous: frozenset[Command]
    next: frozenset[Command]
    clocks: int
    window: int = 1


def read_path_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    """Every rule that closed-page reads and all-bank refresh of `preset` must meet."""
    t = preset.clocks
    return (
        Rule("tRCD", "bank", ACTIVATE, READS, t.tRCD),
        Rule("tRC", "bank", ACTIVATE, ACTIVATE, t.tRC),
        Rule("tRAS+tRP", "bank", ACTIVATE, ACTIVATE, t.tRAS + t.tRP),
        Rule("tRTP+tRP", "bank", READ_AUTO_PRECHARGE, ACTIVATE, t.tRTP + t.tRP),
        Rule("tRRD_L", "bank_group", ACTIVATE, ACTIVATE, t.tRRD_L),
        Rule("tRRD_S", "pseudo_channel", ACTIVATE, ACTIVATE, t.tRRD_S),
        Rule("tFAW", "pseudo_channel", ACTIVATE, ACTIVATE, t.tFAW, window=4),
        Rule("tCCD_L", "bank_group", READS, READS, t.tCCD_L),
        Rule("tCCD_R", "other_stack", READS, READS, t.tCCD_R),
        Rule("tCCD_S", "pseudo_channel", READS, READS, t.tCCD_S),
        Rule("tRC to REF", "pseudo_channel", ACTIVATE, REFRESH, t.tRC),
        Rule("tRAS+tRP to REF", "pseudo_channel", ACTIVATE, REFRESH, t.tRAS + t.tRP),
        Rule("tRTP+tRP to REF", "pseudo_channel", READ_AUTO_PRECHARGE, REFRESH, t.tRTP + t.tRP),
        Rule("tRFC", "pseudo_channel", REFRESH, ACTIVATE, t.tRFC),
        Rule("tRFC to REF", "pseudo_channel", REFRESH, REFRESH, t.tRFC),
    )
