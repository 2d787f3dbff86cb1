"""Every rule of every device: legal at the limit, illegal a clock below it, in its scope alone."""

from dataclasses import replace

import pytest
from support.jedec_rule_cases import (
    INSIDE,
    Expected,
    array,
    broken_by,
    devices,
    expected_rules,
    pair_log,
    variants,
)

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import Rule, timing_rules
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.jedec import JedecReport, check

PRESETS = devices()
CASES = [(name, rule) for name, preset in PRESETS.items() for rule in expected_rules(preset)]
CASE_NAMES = [f"{name}-{rule.name.replace(' ', '_')}" for name, rule in CASES]


def broken(report: JedecReport) -> set[str]:
    return {violation.rule for violation in report.violations}


def proven(preset: MemoryPreset, rule: Expected) -> int:
    """Drives `rule` to and below its limit in every way; the number of logs legal at the limit."""
    legal = inside = 0
    for kind, commands, banks in variants(preset, rule):
        context = f"{rule.name}, {commands} of banks {banks} ({kind})"
        below = pair_log(preset, rule, commands, banks, rule.clocks - 1)
        at = pair_log(preset, rule, commands, banks, rule.clocks)
        if at is None or below is None:
            continue
        if kind not in INSIDE[rule.scope]:
            report = check(preset, array(below))
            assert rule.name not in broken(report), f"{context}: outside of the scope"
            continue
        inside += 1
        report = check(preset, array(at))
        seen = {entry.name: entry for entry in report.rules}[rule.name]
        assert (seen.limit, seen.minimum_gap, seen.violations) == (rule.clocks, rule.clocks, 0)
        assert broken(report) - BUSES == broken_by(preset, at), context
        legal += report.legal

        report = check(preset, array(below))
        assert broken(report) - BUSES == broken_by(preset, below), context
        texts = [str(one) for one in report.violations if one.rule == rule.name]
        cycle, _, bank = below[-1]
        assert texts == [
            f"{rule.name} in clock {cycle}: bank {bank}: {rule.clocks - 1} clocks, "
            f"expected at least {rule.clocks}"
        ], context
    assert inside or rule.scope == "other_stack", f"{rule.name} was never tried"
    return legal


BUSES = {"row bus", "column bus", "command bus"}


def hidden(preset: MemoryPreset, rule: Expected) -> bool:
    """Other rules between the same commands always ask for more: at the limit no log is legal."""
    t = preset.clocks
    if rule.scope == "other_stack":
        return preset.organization.stack_ids == 1
    if rule.name in ("tRC", "tRC to REF", "tRC to REFPB"):
        return t.tRC < t.tRAS + t.tRP
    if rule.name.startswith("tRAS+tRP"):
        return t.tRAS + t.tRP < t.tRC
    return rule.name == "tFAW" and t.tFAW < 4 * t.tRRD_S


@pytest.mark.parametrize(("name", "rule"), CASES, ids=CASE_NAMES)
def test_not_one_clock_below_the_limit_but_at_it(name, rule):
    preset = PRESETS[name]
    assert (proven(preset, rule) == 0) == hidden(preset, rule)


@pytest.mark.parametrize("name", list(PRESETS))
def test_the_table_holds_these_rules_and_a_source_of_each(name):
    preset = PRESETS[name]
    table = timing_rules(preset)
    expected = [vars(rule) for rule in expected_rules(preset)]
    assert [
        {
            "name": rule.name,
            "scope": rule.scope,
            "previous": tuple(sorted(rule.previous)),
            "next": tuple(sorted(rule.next)),
            "clocks": rule.clocks,
            "window": rule.window,
        }
        for rule in table
    ] == expected
    assert [entry.name for entry in check(preset, array([])).rules] == [one.name for one in table]
    standard = {"hbm2": "JESD235C", "hbm3": "JESD238", "ddr4": "JESD79-4", "gddr6": "JESD250"}
    for rule in table:
        # What a bus needs between ranks is the system's affair; the preset has the source.
        assert standard[preset.family] in rule.source, rule.name


def mutants(preset: MemoryPreset, rule: Rule) -> list[tuple[str, tuple[Rule, ...]]]:
    """Tables with a fault in one rule: dropped, a clock off, or of another scope or window."""
    several_ranks, several_stacks = preset.organization.ranks > 1, preset.organization.stack_ids > 1
    scopes = {
        "bank": ["bank_group", "rank"],
        "bank_group": ["bank", "rank"],
        # REF names the first bank of its rank: for two of them that bank is as good as the rank.
        "rank": ["bank", "bank_group"] * (rule.name != "tRFC to REF") + ["channel"] * several_ranks,
        "other_stack": ["rank", "bank"],
        "other_rank": ["channel", "rank"],
    }[rule.scope]
    faults = [
        ("dropped", None),
        ("a clock less", replace(rule, clocks=rule.clocks - 1)),
        ("a clock more", replace(rule, clocks=rule.clocks + 1)),
        *((f"of scope {scope}", replace(rule, scope=scope)) for scope in scopes),
    ]
    for command in rule.previous if len(rule.previous) > 1 else ():
        faults.append((f"not from {command}", replace(rule, previous=rule.previous - {command})))
    for command in rule.next if len(rule.next) > 1 else ():
        faults.append((f"not to {command}", replace(rule, next=rule.next - {command})))
    if rule.window > 1:
        faults += [(f"window {n}", replace(rule, window=n)) for n in (3, 5)]
    if rule.scope == "other_stack" and not several_stacks:
        faults = []
    table = timing_rules(preset)
    return [
        (fault, tuple(new for one in table if (new := changed if one == rule else one)))
        for fault, changed in faults
    ]


@pytest.mark.parametrize("name", ["hbm3-6400", "ddr4-3200", "gddr6-14000", "everything"])
def test_a_fault_in_any_rule_is_found(name, monkeypatch):
    """The proof of a rule fails if the checker has it dropped, wrong, too narrow or too wide."""
    preset = PRESETS[name]
    expected = {rule.name: rule for rule in expected_rules(preset)}
    for rule in timing_rules(preset):
        for fault, table in mutants(preset, rule):
            monkeypatch.setattr(jedec, "timing_rules", lambda _, table=table: table)
            try:
                proven(preset, expected[rule.name])
            except (AssertionError, KeyError):
                continue
            pytest.fail(f"{rule.name} {fault}: not found")


LATER = 2000
STATES = {
    "ACT to open bank 0": [(0, "ACT", 0), (LATER, "ACT", 0)],
    "WR to closed bank 0": [(0, "WR", 0)],
    "WRA to closed bank 3": [(0, "WRA", 3)],
    "RD to closed bank 5": [(0, "ACT", 5), (LATER, "WRA", 5), (2 * LATER, "RD", 5)],
    "WR to closed bank 5": [(0, "ACT", 5), (LATER, "RDA", 5), (2 * LATER, "WR", 5)],
    "REFPB to open bank 7": [(0, "ACT", 7), (LATER, "REFPB", 7)],
    "RD to closed bank 2": [(0, "REFPB", 2), (LATER, "RD", 2)],
    "REF with 1 open banks": [(0, "ACT", 31), (LATER, "WR", 31), (2 * LATER, "REF", 0)],
    "ACT to open bank 1": [
        (0, "ACT", 1),
        (LATER, "REFPB", 2),
        (2 * LATER, "WR", 1),
        (3 * LATER, "ACT", 1),
    ],
}


@pytest.mark.parametrize("text", list(STATES))
def test_bank_states(text):
    log = STATES[text]
    report = check(PRESETS["hbm2e-3000"], array(log))
    assert [str(one) for one in report.violations] == [f"bank state in clock {log[-1][0]}: {text}"]


def test_a_bank_stays_open_and_closed_over_refreshes_of_others():
    log = [
        (0, "ACT", 7),
        (LATER, "REFPB", 6),
        (2 * LATER, "WR", 7),
        (3 * LATER, "RD", 7),
        (4 * LATER, "WRA", 7),
        (5 * LATER, "REFPB", 7),
        (6 * LATER, "REF", 0),
        (7 * LATER, "ACT", 7),
    ]
    assert check(PRESETS["hbm2e-3000"], array(log)).violations == []


def test_reads_and_writes_of_a_row_that_is_not_open():
    log = array([(0, "ACT", 5), (LATER, "WR", 5), (2 * LATER, "RD", 5), (3 * LATER, "WRA", 5)])
    log["row"] = [7, 9, 7, 8]
    assert [str(one) for one in check(PRESETS["hbm2e-3000"], log).violations] == [
        "open row in clock 2000: write of row 9 in bank 5, open is 7",
        "open row in clock 6000: write of row 8 in bank 5, open is 7",
    ]


def test_all_bank_refresh_needs_its_own_rank_closed():
    preset = PRESETS["ddr4-3200"]
    assert check(preset, array([(0, "ACT", 3), (LATER, "REF", 16)])).violations == []
    report = check(preset, array([(0, "ACT", 3), (LATER, "REF", 0), (2 * LATER, "REF", 17)]))
    assert sorted(str(one) for one in report.violations) == [
        "REF bank in clock 4000: bank 17, expected the first bank of a rank",
        "bank state in clock 2000: REF with 1 open banks in rank 0",
    ]


def test_commands_that_a_device_does_not_have():
    preset = PRESETS["ddr4-3200-x16"]
    assert [str(one) for one in check(preset, array([(7, "REFPB", 1)])).violations] == [
        "command range in clock 7: REFPB, the device has no such command"
    ]
    with pytest.raises(ValueError, match=r"^ddr4-3200-x16 has no per-bank refresh$"):
        check(preset, array([]), per_bank=True)
    log = array([(7, "ACT", 1)])
    log["command"] = 7
    assert [str(one) for one in check(preset, log).violations] == [
        "command range in clock 7: command 7, expected less than 7"
    ]


def test_never_at_limit_names_only_rules_of_expected_commands():
    preset = PRESETS["hbm2e-3000"]
    log = array([(0, "ACT", 0), (preset.clocks.tRCD, "RD", 0)])
    reads = ["tRC", "tRAS+tRP", "tRRD_L", "tRRD_S", "tFAW", "tCCD_L", "tCCD_R", "tCCD_S"]
    assert check(preset, log, refresh=False).never_at_limit == reads
    # Refreshes of the mode are expected in a log that has none.
    all_bank = {"tRC to REF", "tRAS+tRP to REF", "tRFC", "tRFC to REF"}
    assert set(check(preset, log).never_at_limit) - set(reads) == all_bank
    per_bank = {
        rule.name for rule in expected_rules(preset) if "REFPB" in rule.previous + rule.next
    }
    per_bank -= {"tRTP+tRP to REFPB", "tWR+tRP to REFPB", "tRFC to REFPB", "tRFCpb to REF"}
    assert set(check(preset, log, per_bank=True).never_at_limit) - set(reads) == per_bank
    late = array([(0, "ACT", 0), (preset.clocks.tRCD + 1, "RD", 0)])
    assert check(preset, late, refresh=False).never_at_limit == ["tRCD", *reads]
