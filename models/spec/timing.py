"""JEDEC's command-to-command rules as one data table per device.

A rule reads: from a command in `previous` to a later one in `next`, both in the same `scope`, at
least `clocks` must pass; with `window` w the distance is taken from the w-th latest `previous`
command.

The tables are complete for rows that close by auto-precharge, in every family: reads, writes,
all-bank and per-bank refresh, ranks, and stack IDs. An auto-precharge starts at the latest of the
ACT + tRAS, a read with it + tRTP, and the data of any write to the row + tWR (JESD235C, JESD79-4,
auto precharge), so every rule "from precharge" appears once for each of these. Explicit precharges
are no command of the log, and have no rules here.

All distances from and to an ACT count from the clock that the log gives it. HBM sends an ACT in two
clocks and times it from the second (JESD235C, JESD238, row commands), so that is the one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from recspeed.models.spec.memory import MemoryPreset

Scope = Literal["bank", "bank_group", "other_stack", "rank", "other_rank", "channel"]
Command = Literal["ACT", "RD", "RDA", "REF", "WR", "WRA", "REFPB"]

ROW_COMMANDS: frozenset[Command] = frozenset({"ACT", "REF", "REFPB"})
"""Commands on HBM's row bus."""
READS: frozenset[Command] = frozenset({"RD", "RDA"})
WRITES: frozenset[Command] = frozenset({"WR", "WRA"})
COLUMN_COMMANDS: frozenset[Command] = READS | WRITES
"""Commands on HBM's column bus."""
AUTO_PRECHARGE: frozenset[Command] = frozenset({"RDA", "WRA"})
ACTIVATE: frozenset[Command] = frozenset({"ACT"})
READ_AUTO_PRECHARGE: frozenset[Command] = frozenset({"RDA"})
REFRESH: frozenset[Command] = frozenset({"REF"})
BANK_REFRESH: frozenset[Command] = frozenset({"REFPB"})

STANDARDS = {"hbm2": "JESD235C", "hbm3": "JESD238", "ddr4": "JESD79-4", "gddr6": "JESD250"}
"""The standard of each family."""

MAXIMUM_REFRESH_DEBT = 8
"""Refreshes that may be postponed, or issued ahead of time (JESD235C, refresh command)."""
MAXIMUM_REFRESH_INTERVAL = 9
"""tREFI that may pass between two all-bank refreshes at most (JESD79-4, refresh command)."""
DDR4_REFRESHES_IN_TWO_INTERVALS = 16
"""All-bank refreshes within two tREFI at most (JESD79-4, refresh command)."""


@dataclass(frozen=True)
class Rule:
    """One minimum distance in clocks.

    `bank_group` is one of its own stack ID, `rank` holds all its stack IDs. `other_stack`: the same
    rank, another stack ID. `other_rank`: the same channel, another rank. `source` is the standard
    and its parameter or section.
    """

    name: str
    scope: Scope
    previous: frozenset[Command]
    next: frozenset[Command]
    clocks: int
    window: int = 1
    source: str = ""


def timing_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    """Every distance that commands of `preset` must keep, buses aside (`bus_rules`).

    Rules of what the device does not have are left out: stack IDs (tCCD_R), a second rank,
    per-bank refresh.
    """
    return (
        _read_rules(preset)
        + _write_rules(preset)
        + _rank_switch_rules(preset)
        + _per_bank_refresh_rules(preset)
    )


def distance(
    rules: Iterable[Rule], scope: Scope, previous: Command, following: Command, *, window: int = 1
) -> int:
    """Clocks that all of `rules` together ask for from `previous` to `following`; 0 for none."""
    return max(
        (
            rule.clocks
            for rule in rules
            if rule.scope == scope
            and rule.window == window
            and previous in rule.previous
            and following in rule.next
        ),
        default=0,
    )


def read_path_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    """The rules of `timing_rules` that bind closed-page reads with all-bank refresh in one rank."""
    return _read_rules(preset)


def bus_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    """What the command buses of a channel allow: one command at a time.

    An ACT takes the bus in `activate_clocks` clocks, the last of which is the one in the log.
    """
    org = preset.organization
    standard = STANDARDS[preset.family]

    def bus(name: str, commands: frozenset[Command]) -> tuple[Rule, ...]:
        activates, others = commands & ACTIVATE, commands - ACTIVATE
        source = f"{standard}, command truth table"
        one = Rule(name, "channel", commands, others, 1, source=source)
        if not activates:
            return (one,)
        return (Rule(name, "channel", commands, activates, org.activate_clocks, 1, source), one)

    if org.command_bus == "shared":
        return bus("command bus", ROW_COMMANDS | COLUMN_COMMANDS)
    return bus("row bus", ROW_COMMANDS) + bus("column bus", COLUMN_COMMANDS)


def _read_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    t, standard = preset.clocks, STANDARDS[preset.family]

    def rule(name, scope, previous, following, clocks, parameter, window=1):
        source = f"{standard}, {parameter}"
        return Rule(name, scope, previous, following, clocks, window, source)

    rda = READ_AUTO_PRECHARGE
    other_stack = (
        (rule("tCCD_R", "other_stack", READS, READS, t.tCCD_R, "tCCDR: reads of two stack IDs"),)
        if t.tCCD_R
        else ()
    )
    return (
        rule("tRCD", "bank", ACTIVATE, READS, t.tRCD, "tRCD, HBM and GDDR6: tRCDRD"),
        rule("tRC", "bank", ACTIVATE, ACTIVATE, t.tRC, "tRC"),
        rule("tRAS+tRP", "bank", ACTIVATE, ACTIVATE, t.tRAS + t.tRP, "auto precharge"),
        rule("tRTP+tRP", "bank", rda, ACTIVATE, t.tRTP + t.tRP, "auto precharge"),
        rule("tRRD_L", "bank_group", ACTIVATE, ACTIVATE, t.tRRD_L, "tRRD_L"),
        rule("tRRD_S", "rank", ACTIVATE, ACTIVATE, t.tRRD_S, "tRRD_S"),
        rule("tFAW", "rank", ACTIVATE, ACTIVATE, t.tFAW, "tFAW: four activates", window=4),
        rule("tCCD_L", "bank_group", READS, READS, t.tCCD_L, "tCCD_L"),
        *other_stack,
        rule("tCCD_S", "rank", READS, READS, t.tCCD_S, "tCCD_S"),
        rule("tRC to REF", "rank", ACTIVATE, REFRESH, t.tRC, "refresh command"),
        rule("tRAS+tRP to REF", "rank", ACTIVATE, REFRESH, t.tRAS + t.tRP, "refresh command"),
        rule("tRTP+tRP to REF", "rank", rda, REFRESH, t.tRTP + t.tRP, "refresh command"),
        rule("tRFC", "rank", REFRESH, ACTIVATE, t.tRFC, "tRFC"),
        rule("tRFC to REF", "rank", REFRESH, REFRESH, t.tRFC, "tRFC"),
    )


def _write_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    t, standard = preset.clocks, STANDARDS[preset.family]
    recovery = preset.write_to_precharge + t.tRP
    same_group = preset.write_to_read(same_group=True)
    same_rank = preset.write_to_read(same_group=False)

    def rule(name, scope, previous, following, clocks, parameter):
        source = f"{standard}, {parameter}"
        return Rule(name, scope, previous, following, clocks, source=source)

    return (
        rule("tRCD_WR", "bank", ACTIVATE, WRITES, t.tRCD_WR, "tRCD, HBM and GDDR6: tRCDWR"),
        rule("tWR+tRP", "bank", WRITES, ACTIVATE, recovery, "tWR, write recovery"),
        rule("tCCD_L write", "bank_group", WRITES, WRITES, t.tCCD_L, "tCCD_L"),
        rule("tCCD_S write", "rank", WRITES, WRITES, t.tCCD_S, "tCCD_S"),
        rule("read to write", "rank", READS, WRITES, preset.read_to_write, "read to write"),
        rule("tWTR_L", "bank_group", WRITES, READS, same_group, "tWTR_L"),
        rule("tWTR_S", "rank", WRITES, READS, same_rank, "tWTR_S"),
        rule("tWR+tRP to REF", "rank", WRITES, REFRESH, recovery, "refresh command"),
    )


def _rank_switch_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    if preset.organization.ranks == 1:
        return ()
    source = preset.timing.tRTRS.source if preset.timing.tRTRS else ""
    kinds = (("read", READS), ("write", WRITES))
    return tuple(
        Rule(
            f"rank switch, {before} to {after}",
            "other_rank",
            previous,
            following,
            preset.rank_switch(write_before=before == "write", write_after=after == "write"),
            source=source,
        )
        for before, previous in kinds
        for after, following in kinds
    )


def _per_bank_refresh_rules(preset: MemoryPreset) -> tuple[Rule, ...]:
    if not preset.per_bank_refresh:
        return ()
    t, standard = preset.clocks, STANDARDS[preset.family]
    recovery = preset.write_to_precharge + t.tRP
    pb, rda = BANK_REFRESH, READ_AUTO_PRECHARGE

    def rule(name, scope, previous, following, clocks, parameter):
        source = f"{standard}, per-bank refresh: {parameter}"
        return Rule(name, scope, previous, following, clocks, source=source)

    return (
        rule("tRC to REFPB", "bank", ACTIVATE, pb, t.tRC, "tRC"),
        rule("tRAS+tRP to REFPB", "bank", ACTIVATE, pb, t.tRAS + t.tRP, "tRP"),
        rule("tRTP+tRP to REFPB", "bank", rda, pb, t.tRTP + t.tRP, "tRP"),
        rule("tWR+tRP to REFPB", "bank", WRITES, pb, recovery, "tRP"),
        rule("tRRD_L to REFPB", "bank_group", ACTIVATE, pb, t.tRRD_L, "tRRD_L"),
        rule("tRRD_S to REFPB", "rank", ACTIVATE, pb, t.tRRD_S, "tRRD_S"),
        rule("tRFC to REFPB", "rank", REFRESH, pb, t.tRFC, "tRFC"),
        rule("tRFCpb", "bank", pb, ACTIVATE, t.tRFCpb, "tRFCpb"),
        rule("tRFCpb to REFPB", "bank", pb, pb, t.tRFCpb, "tRFCpb"),
        rule("tRFCpb to REF", "rank", pb, REFRESH, t.tRFCpb, "tRFCpb"),
        rule("tRREFD", "rank", pb, ACTIVATE, t.tRREFD, "tRREFD"),
        rule("tRREFD to REFPB", "rank", pb, pb, t.tRREFD, "tRREFD"),
    )
