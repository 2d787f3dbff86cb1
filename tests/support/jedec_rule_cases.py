"""JEDEC's rules written down a second time, and a builder of logs that drive one to its limit.

Shares nothing with the rule table or the checker: limits are formulas of the preset's timings, the
scopes are pairs of banks by name, and `broken_by` searches a log pair by pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recspeed.models.runs.command_log import COMMAND_LOG, CommandCode
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names

Log = list[tuple[int, str, int]]
"""`(clock, command, flat bank)`, in the order of the bus."""


def devices() -> dict[str, MemoryPreset]:
    """Every preset, and a made-up device that has all at once: ranks, stack IDs, bank refresh."""
    presets = {name: memory_preset(name) for name in memory_preset_names()}
    values = presets["hbm2e-3000"].model_dump()
    values["name"] = "everything"
    values["organization"]["ranks"] = 2
    values["capacity"]["pseudo_channel_mib"] *= 2
    values["timing"]["tRTRS"] = {"clocks": 3, "source": "made up for a test, JESD235C has no ranks"}
    return presets | {"everything": MemoryPreset.model_validate(values)}


@dataclass(frozen=True)
class Expected:
    """One rule as a test expects it."""

    name: str
    scope: str
    previous: tuple[str, ...]
    next: tuple[str, ...]
    clocks: int
    window: int = 1


def expected_rules(preset: MemoryPreset) -> list[Expected]:
    """Every rule of the device, in the order of a report."""
    t, org = preset.clocks, preset.organization
    burst = org.bus_bits * org.burst_length // 128
    closing_read, written = t.tRTP + t.tRP, t.tCWL + burst + t.tWR + t.tRP
    row = t.tRAS + t.tRP
    A, F, P = ("ACT",), ("REF",), ("REFPB",)
    R, W, RA = ("RD", "RDA"), ("WR", "WRA"), ("RDA",)
    rules = [
        Expected("tRCD", "bank", A, R, t.tRCD),
        Expected("tRC", "bank", A, A, t.tRC),
        Expected("tRAS+tRP", "bank", A, A, row),
        Expected("tRTP+tRP", "bank", RA, A, closing_read),
        Expected("tRRD_L", "bank_group", A, A, t.tRRD_L),
        Expected("tRRD_S", "rank", A, A, t.tRRD_S),
        Expected("tFAW", "rank", A, A, t.tFAW, 4),
        Expected("tCCD_L", "bank_group", R, R, t.tCCD_L),
        *([Expected("tCCD_R", "other_stack", R, R, t.tCCD_R)] if t.tCCD_R else []),
        Expected("tCCD_S", "rank", R, R, t.tCCD_S),
        Expected("tRC to REF", "rank", A, F, t.tRC),
        Expected("tRAS+tRP to REF", "rank", A, F, row),
        Expected("tRTP+tRP to REF", "rank", RA, F, closing_read),
        Expected("tRFC", "rank", F, A, t.tRFC),
        Expected("tRFC to REF", "rank", F, F, t.tRFC),
        Expected("tRCD_WR", "bank", A, W, t.tRCD_WR),
        Expected("tWR+tRP", "bank", W, A, written),
        Expected("tCCD_L write", "bank_group", W, W, t.tCCD_L),
        Expected("tCCD_S write", "rank", W, W, t.tCCD_S),
        Expected("read to write", "rank", R, W, t.tCL + burst + 2 - t.tCWL),
        Expected("tWTR_L", "bank_group", W, R, t.tCWL + burst + t.tWTR_L),
        Expected("tWTR_S", "rank", W, R, t.tCWL + burst + t.tWTR_S),
        Expected("tWR+tRP to REF", "rank", W, F, written),
    ]
    if org.ranks > 1:
        gap, turn = burst + t.tRTRS, t.tCL - t.tCWL
        rules += [
            Expected("rank switch, read to read", "other_rank", R, R, gap),
            Expected("rank switch, read to write", "other_rank", R, W, gap + turn),
            Expected("rank switch, write to read", "other_rank", W, R, max(gap - turn, 1)),
            Expected("rank switch, write to write", "other_rank", W, W, gap),
        ]
    if t.tRFCpb:
        rules += [
            Expected("tRC to REFPB", "bank", A, P, t.tRC),
            Expected("tRAS+tRP to REFPB", "bank", A, P, row),
            Expected("tRTP+tRP to REFPB", "bank", RA, P, closing_read),
            Expected("tWR+tRP to REFPB", "bank", W, P, written),
            Expected("tRRD_L to REFPB", "bank_group", A, P, t.tRRD_L),
            Expected("tRRD_S to REFPB", "rank", A, P, t.tRRD_S),
            Expected("tRFC to REFPB", "rank", F, P, t.tRFC),
            Expected("tRFCpb", "bank", P, A, t.tRFCpb),
            Expected("tRFCpb to REFPB", "bank", P, P, t.tRFCpb),
            Expected("tRFCpb to REF", "rank", P, F, t.tRFCpb),
            Expected("tRREFD", "rank", P, A, t.tRREFD),
            Expected("tRREFD to REFPB", "rank", P, P, t.tRREFD),
        ]
    return rules


INSIDE = {
    "bank": {"same bank"},
    "bank_group": {"same bank", "same group"},
    "rank": {"same bank", "same group", "other group", "same group of other stack", "other stack"},
    "other_stack": {"same group of other stack", "other stack"},
    "other_rank": {"same bank of other rank", "other rank"},
}
"""How two banks that meet in a scope may lie to each other."""


def places(preset: MemoryPreset) -> dict[int, tuple[int, int, int, int]]:
    """Rank, stack ID, bank group and bank of each flat bank."""
    org = preset.organization
    flat = {}
    for rank in range(org.ranks):
        for stack in range(org.stack_ids):
            for bank in range(org.banks_per_group):
                for group in range(org.bank_groups):
                    flat[len(flat)] = (rank, stack, group, bank)
    return flat


def relation(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> str:
    """How the second bank lies to the first, in the words of `INSIDE`."""
    if one == other:
        return "same bank"
    if one[0] != other[0]:
        return "same bank of other rank" if one[1:] == other[1:] else "other rank"
    if one[1] != other[1]:
        return "same group of other stack" if one[2] == other[2] else "other stack"
    return "same group" if one[2] == other[2] else "other group"


def bank_pairs(preset: MemoryPreset) -> list[tuple[str, int, int]]:
    """One pair of banks per relation that the device has, from its first and from its last bank."""
    flat = places(preset)
    pairs = {}
    for one in (0, len(flat) - 1):
        for other in flat:
            pairs.setdefault((relation(flat[one], flat[other]), one), other)
    return [(kind, one, other) for (kind, one), other in pairs.items()]


def array(log: Log) -> np.ndarray:
    """The log as COMMAND_LOG, in row 0 and column 0."""
    result = np.zeros(len(log), dtype=COMMAND_LOG)
    for place, (cycle, command, bank) in enumerate(log):
        result[place] = (cycle, 0, 0, bank, CommandCode[command])
    return result


def pair_log(
    preset: MemoryPreset,
    rule: Expected,
    commands: tuple[str, str],
    banks: tuple[int, int],
    gap: int,
) -> Log | None:
    """A log that ends in the two `commands`, `gap` clocks apart; None where no log has them so.

    What they need (open banks, a round of per-bank refreshes) comes long before, what must be
    between them (a close, three activates) at the earliest legal clock.
    """
    t, org = preset.clocks, preset.organization
    (first, second), (one, other) = commands, banks
    burst = org.bus_bits * org.burst_length // 128
    per_rank = preset.banks // org.ranks
    step = t.tRFC + 100
    columns = {"RD", "RDA", "WR", "WRA"}
    before: list[tuple[str, int]] = []
    if first == second == "REFPB" and one == other:
        before = [("REFPB", bank) for bank in range(preset.banks) if bank != one]
    if first in columns:
        before.append(("ACT", one))
    if second in columns and other != one:
        before.append(("ACT", other))
    log: Log = [(place * step, command, bank) for place, (command, bank) in enumerate(before)]
    start = len(before) * step
    log.append((start, first, one // per_rank * per_rank if first == "REF" else one))

    same_rank = one // per_rank == other // per_rank
    closes = {"ACT": one == other, "REFPB": one == other, "REF": same_rank}.get(second, False)
    if rule.window > 1:
        # Three more banks of other bank groups (or at least of other banks) of the first's rank.
        rank = one // per_rank * per_rank
        more = [bank for bank in range(rank, rank + per_rank) if bank not in (one, other)][:3]
        spacing = t.tRRD_S if org.bank_groups >= 4 else t.tRRD_L
        log += [(start + (place + 1) * spacing, "ACT", bank) for place, bank in enumerate(more)]
    elif closes and first == "ACT":
        log.append((start + t.tRCD, "RDA", one))
    elif closes and first == "WR":
        log.append((start + t.tCWL + burst + t.tWTR_L, "RDA", one))
    elif first in ("RDA", "WRA") and second in columns and one == other:
        return None
    log.append((start + gap, second, other // per_rank * per_rank if second == "REF" else other))
    return log if log[-2][0] <= log[-1][0] else None


def variants(preset: MemoryPreset, rule: Expected) -> Iterator[tuple[str, tuple, tuple]]:
    """Every `(relation, commands, banks)` in which the two commands of a rule can meet."""
    for kind, one, other in bank_pairs(preset):
        for first in rule.previous:
            for second in rule.next:
                # tRC and tRFCpb are far above every distance between banks.
                row = first in ("ACT", "REFPB") and second in ("ACT", "REFPB")
                if row and kind == "same bank" and rule.scope != "bank":
                    continue
                yield kind, (first, second), (one, other)


def broken_by(preset: MemoryPreset, log: Log) -> set[str]:
    """Names of the rules that a log breaks: every pair of its commands, one after the other."""
    flat = places(preset)
    found = set()
    for rule in expected_rules(preset):
        inside = INSIDE[rule.scope]
        for place, (cycle, command, bank) in enumerate(log):
            if command not in rule.next:
                continue
            seen = 0
            for earlier, previous, other in reversed(log[:place]):
                if previous in rule.previous and relation(flat[other], flat[bank]) in inside:
                    seen += 1
                    if seen == rule.window:
                        if cycle - earlier < rule.clocks:
                            found.add(rule.name)
                        break
    return found
