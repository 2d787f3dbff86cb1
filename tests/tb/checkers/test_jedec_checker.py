"""The JEDEC checker: legal at the limit, illegal one clock below it, for every rule; and states."""

from functools import cache

import numpy as np
import pytest
from support.cluster_runs import preset_with
from support.jedec_oracle import pairs

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterPatterns, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG, CommandCode
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names
from recspeed.models.spec.table import place_tables
from recspeed.models.spec.timing import Rule, read_path_rules, timing_rules
from recspeed.tb.checkers.jedec import JedecReport, check
from recspeed.tb.checkers.scoreboard import compare
from recspeed.tb.cluster.random_runs import random_run

ACT, RD, RDA, REF, WR, WRA, REFPB = CommandCode


def log_of(*commands: tuple[int, CommandCode, int]) -> np.ndarray:
    """A log of `(cycle, command, bank)`, all in row 0 and column 0."""
    log = np.zeros(len(commands), dtype=COMMAND_LOG)
    for place, (cycle, command, bank) in enumerate(commands):
        log[place] = (cycle, 0, 0, bank, command)
    return log


def spread_preset() -> MemoryPreset:
    """64 banks, and timings of which each binds alone wherever the preset's own rules allow."""
    return preset_with(
        "spread",
        stack_ids=4,
        tRCD=14,
        tRP=14,
        tRAS=40,
        tRC=50,
        tRTP=6,
        tCCD_S=2,
        tCCD_L=5,
        tCCD_R=4,
        tRRD_S=4,
        tRRD_L=7,
        tFAW=23,
        tREFI=3900,
        tRFC=350,
    )


PRESETS = {name: memory_preset(name) for name in memory_preset_names()}
PRESETS["spread"] = spread_preset()


def boundary_log(preset: MemoryPreset, rule: Rule, gap: int) -> np.ndarray:
    """A log in which the commands of `rule` are `gap` apart, and all others far enough."""
    t = preset.clocks
    reads = t.tRRD_L + t.tRCD
    other_stack = preset.banks - 1
    # The next flat bank of the same bank group as bank 0.
    same_group = preset.organization.bank_groups
    closed = (t.tRCD, RDA, 0)
    late = max(t.tRC, t.tRAS + t.tRP)
    logs = {
        "tRCD": [(0, ACT, 0), (gap, RDA, 0)],
        "tRC": [(0, ACT, 0), closed, (gap, ACT, 0)],
        "tRAS+tRP": [(0, ACT, 0), closed, (gap, ACT, 0)],
        "tRTP+tRP": [(0, ACT, 0), (late, RDA, 0), (late + gap, ACT, 0)],
        "tRRD_L": [(0, ACT, 0), (gap, ACT, same_group)],
        "tRRD_S": [(0, ACT, 0), (gap, ACT, 1)],
        "tFAW": [*((t.tRRD_S * bank, ACT, bank) for bank in range(4)), (gap, ACT, 4)],
        "tCCD_L": [
            (0, ACT, 0),
            (t.tRRD_L, ACT, same_group),
            (reads, RD, 0),
            (reads + gap, RD, same_group),
        ],
        "tCCD_S": [(0, ACT, 0), (t.tRRD_L, ACT, 1), (reads, RD, 0), (reads + gap, RD, 1)],
        "tCCD_R": [
            (0, ACT, 0),
            (t.tRRD_L, ACT, other_stack),
            (reads, RD, 0),
            (reads + gap, RD, other_stack),
        ],
        "tRC to REF": [(0, ACT, 0), closed, (gap, REF, 0)],
        "tRAS+tRP to REF": [(0, ACT, 0), closed, (gap, REF, 0)],
        "tRTP+tRP to REF": [(0, ACT, 0), (late, RDA, 0), (late + gap, REF, 0)],
        "tRFC": [(0, REF, 0), (gap, ACT, 0)],
        "tRFC to REF": [(0, REF, 0), (gap, REF, 0)],
    }
    return log_of(*logs[rule.name])


def broken(report: JedecReport) -> set[str]:
    return {violation.rule for violation in report.violations}


def rules_of(name: str) -> list[Rule]:
    """The rules of a preset that can be met on it: other stack IDs need more than one."""
    preset = PRESETS[name]
    several = preset.organization.stack_ids > 1
    return [rule for rule in read_path_rules(preset) if several or rule.scope != "other_stack"]


CASES = [(name, rule) for name in PRESETS for rule in rules_of(name)]
CASE_NAMES = [f"{name}-{rule.name.replace(' ', '_')}" for name, rule in CASES]


@pytest.mark.parametrize(("name", "rule"), CASES, ids=CASE_NAMES)
def test_not_at_one_clock_less_but_at_the_limit(name, rule):
    preset = PRESETS[name]
    at_limit = check(preset, boundary_log(preset, rule, rule.clocks))
    seen = {entry.name: entry for entry in at_limit.rules}[rule.name]
    assert (seen.minimum_gap, seen.limit, seen.violations) == (rule.clocks, rule.clocks, 0)
    assert seen.driven_to_limit
    assert rule.name not in at_limit.never_at_limit
    # A hidden rule breaks the one that hides it; else the whole log is legal.
    hidden = rule.name in HIDDEN.get(name, set())
    assert at_limit.legal != hidden

    log = boundary_log(preset, rule, rule.clocks - 1)
    below = check(preset, log)
    assert not below.legal
    texts = [str(violation) for violation in below.violations if violation.rule == rule.name]
    last = log[-1]
    assert texts == [
        f"{rule.name} in clock {last['cycle']}: bank {last['bank']}: {rule.clocks - 1} clocks, "
        f"expected at least {rule.clocks}"
    ]


def test_each_rule_is_needed():
    """Where timings differ, one clock too few breaks one rule alone, but where another hides it."""
    preset = PRESETS["spread"]
    for rule in read_path_rules(preset):
        found = broken(check(preset, boundary_log(preset, rule, rule.clocks - 1)))
        hiding = {"tRC": {"tRAS+tRP"}, "tRC to REF": {"tRAS+tRP to REF"}}.get(rule.name, set())
        assert found == {rule.name} | hiding


def test_a_bank_group_ends_at_its_stack_and_at_its_number():
    """tRRD_S is enough between bank groups, tCCD_S or tCCD_R between those of two stack IDs."""
    preset = PRESETS["spread"]
    for bank in range(1, preset.banks):
        same = bank < 16 and bank % 4 == 0
        report = check(preset, log_of((0, ACT, 0), (preset.clocks.tRRD_S, ACT, bank)))
        assert broken(report) == ({"tRRD_L"} if same else set()), bank
        start = preset.clocks.tRRD_L + preset.clocks.tRCD
        opened = [(0, ACT, 0), (preset.clocks.tRRD_L, ACT, bank)]
        reads = log_of(*opened, (start, RD, 0), (start + preset.clocks.tCCD_R, RD, bank))
        assert broken(check(preset, reads)) == ({"tCCD_L"} if same else set()), bank


def _log(preset: MemoryPreset, sizes: list[int], indices: np.ndarray, **given) -> np.ndarray:
    """Commands of bags of 20 over tables of `sizes` bytes, one table after another."""
    bags = len(indices) // 20
    run = ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(9000, size) for size in sizes]),
        bag_tables=np.arange(bags) * len(sizes) // bags,
        bag_lengths=np.full(bags, 20, dtype=np.int64),
        indices=indices,
        **given,
    )
    return simulate_cluster(run).commands


@cache
def real_log(name: str) -> np.ndarray:
    """The commands of a saturating run, long enough for several refreshes."""
    settings = ClusterSettings(outstanding=128, refresh_group=2)
    indices = np.random.default_rng(8).integers(0, 9000, 1200)
    return _log(PRESETS[name], [32, 64, 1024], indices, settings=settings)


def one_bank_group_log(name: str) -> np.ndarray:
    """All lookups in bank group 0, so that nothing can be activated or read in between."""
    indices = np.random.default_rng(9).integers(0, 9000 // 4, 400) * 4
    return _log(PRESETS[name], [32], indices)


def trickle_log(name: str) -> np.ndarray:
    """A lookup every eight clocks: the latest ACT before a refresh is alone on its way."""
    indices = np.random.default_rng(10).integers(0, 9000, 4000)
    settings = ClusterSettings(refresh_group=1)
    patterns = ClusterPatterns(indices=0x0101010101010101)
    return _log(PRESETS[name], [32], indices, settings=settings, patterns=patterns)


ROW_CYCLE = {"tRC", "tRC to REF"}
AUTO_PRECHARGE = {"tRAS+tRP", "tRAS+tRP to REF"}
HIDDEN = {
    "gddr6-14000": ROW_CYCLE | {"tFAW"},
    "gddr6-16000": ROW_CYCLE | {"tFAW"},
    "hbm2-2000": {"tCCD_R"},
    "hbm2-2300": {"tFAW"},
    "hbm2-2300-paper": {"tFAW"},
    "hbm3-6400": AUTO_PRECHARGE,
    "spread": ROW_CYCLE,
}
"""Rules that cannot bind: no other stack ID, four tRRD_S are longer than tFAW, or of tRC and
tRAS + tRP the shorter one. On every other preset each rule binds somewhere."""


@pytest.mark.parametrize("name", list(PRESETS))
def test_hidden_rules_follow_from_the_timings(name):
    t, org = PRESETS[name].clocks, PRESETS[name].organization
    expected = set()
    if t.tRC < t.tRAS + t.tRP:
        expected |= ROW_CYCLE
    if t.tRC > t.tRAS + t.tRP:
        expected |= AUTO_PRECHARGE
    if 4 * t.tRRD_S > t.tFAW:
        expected.add("tFAW")
    if t.tCCD_R and org.stack_ids == 1:
        expected.add("tCCD_R")
    assert HIDDEN.get(name, set()) == expected


@pytest.mark.parametrize("name", list(PRESETS))
def test_real_logs_are_legal_and_drive_every_rule_to_its_limit(name):
    preset = PRESETS[name]
    never = {rule.name for rule in read_path_rules(preset)}
    for log in (real_log(name), one_bank_group_log(name), trickle_log(name)):
        report = check(preset, log)
        assert report.violations == []
        assert report.commands == len(log) >= 800
        never &= set(report.never_at_limit)
    assert never == HIDDEN.get(name, set())


def pairs_at_limit(preset: MemoryPreset, log: np.ndarray, rule: Rule) -> list[tuple[int, int]]:
    """Pairs of commands exactly as far apart as the rule allows."""
    cycles = log["cycle"].tolist()
    return [
        (before, after)
        for before, after in pairs(preset, log, rule)
        if cycles[after] - cycles[before] == rule.clocks
    ]


def moved(log: np.ndarray, place: int, shift: int) -> np.ndarray:
    """The log with one command `shift` clocks later, again in the order of a log."""
    changed = log.copy()
    changed["cycle"][place] += shift
    column = np.isin(changed["command"], (RD, RDA))
    return changed[np.lexsort((column, changed["cycle"]))]


@pytest.mark.parametrize("most", [2, pytest.param(12, marks=pytest.mark.regression)])
@pytest.mark.parametrize("name", list(PRESETS))
def test_one_command_of_a_real_log_one_clock_below_its_limit(name, most):
    """For every rule: the later command advanced, and the earlier one delayed, by one clock."""
    preset = PRESETS[name]
    logs = (real_log(name), one_bank_group_log(name), trickle_log(name))
    for rule in rules_of(name):
        log, at_limit = next(
            ((log, found) for log in logs if (found := pairs_at_limit(preset, log, rule))),
            (None, []),
        )
        assert bool(at_limit) != (rule.name in HIDDEN.get(name, set())), rule.name
        for before, after in at_limit[:most]:
            for place, shift in ((after, -1), (before, 1)):
                report = check(preset, moved(log, place, shift))
                assert rule.name in broken(report), (rule.name, before, after, shift)


@pytest.mark.parametrize("seed", range(2 * len(PRESETS)))
def test_every_violation_and_every_gap_equals_the_pairwise_search(seed):
    """Logs that were shaken at random: same violations per rule and same smallest distances."""
    rng = np.random.default_rng(seed)
    name = list(PRESETS)[seed % len(PRESETS)]
    preset = PRESETS[name]
    log = real_log(name)
    first = int(rng.integers(0, len(log) - 400))
    log = log[first : first + 400].copy()
    log["cycle"] += rng.integers(-3, 4, len(log))
    log["cycle"] -= log["cycle"].min()
    log = log[np.argsort(log["cycle"], kind="stable")]
    report = check(preset, log)
    assert not report.legal, f"seed {seed}"
    found = {entry.name: entry for entry in report.rules}
    for rule in timing_rules(preset):
        gaps = [int(log["cycle"][b] - log["cycle"][a]) for a, b in pairs(preset, log, rule)]
        assert found[rule.name].minimum_gap == min(gaps, default=None), f"seed {seed} {rule.name}"
        too_small = sum(gap < rule.clocks for gap in gaps)
        assert found[rule.name].violations == too_small, f"seed {seed} {rule.name}"


FAR = 100
STATES = {
    "ACT to open bank 0": [(0, ACT, 0), (FAR, ACT, 0)],
    "RD to closed bank 0": [(0, RD, 0)],
    "RDA to closed bank 3": [(0, RDA, 3)],
    "RDA to closed bank 0": [(0, ACT, 0), (FAR, RDA, 0), (2 * FAR, RDA, 0)],
    "RD to closed bank 0 after RDA": [(0, ACT, 0), (FAR, RDA, 0), (2 * FAR, RD, 0)],
    "REF with 1 open banks": [(0, ACT, 0), (FAR, REF, 0)],
    "REF with 2 open banks": [(0, ACT, 0), (50, ACT, 1), (FAR, RD, 1), (2 * FAR, REF, 0)],
}


@pytest.mark.parametrize("text", list(STATES))
def test_bank_states(text):
    log = log_of(*STATES[text])
    report = check(PRESETS["hbm2-2000"], log)
    detail = text.removesuffix(" after RDA")
    assert [str(violation) for violation in report.violations] == [
        f"bank state in clock {log['cycle'][-1]}: {detail}"
    ]


def test_read_of_a_row_that_is_not_open():
    log = log_of((0, ACT, 5), (FAR, RD, 5), (2 * FAR, RDA, 5))
    log["row"] = [7, 7, 9]
    report = check(PRESETS["hbm2-2000"], log)
    assert [str(violation) for violation in report.violations] == [
        "open row in clock 200: read of row 9 in bank 5, open is 7"
    ]


def test_one_command_per_bus_and_clock():
    preset = PRESETS["hbm2-2000"]
    rows = log_of((0, ACT, 0), (0, ACT, 1))
    assert "row bus in clock 0: two commands in one clock" in map(
        str, check(preset, rows).violations
    )
    columns = log_of((0, ACT, 0), (20, ACT, 1), (FAR, RD, 0), (FAR, RD, 1))
    texts = [str(violation) for violation in check(preset, columns).violations]
    assert "column bus in clock 100: two commands in one clock" in texts
    # The two buses are apart: a row and a column command may share a clock.
    both = log_of((0, ACT, 0), (FAR, ACT, 1), (FAR, RDA, 0))
    assert check(preset, both).legal


@pytest.mark.parametrize(
    ("field", "limit"), [("command", 7), ("bank", 16), ("row", 16384), ("column", 32)]
)
def test_fields_out_of_range(field, limit):
    refuses_from(PRESETS["hbm2-2000"], field, limit)


@pytest.mark.parametrize(
    ("field", "limit"), [("command", 7), ("bank", 32), ("row", 65536), ("column", 128)]
)
def test_fields_out_of_range_of_two_ranks(field, limit):
    refuses_from(PRESETS["ddr4-3200"], field, limit)


def refuses_from(preset: MemoryPreset, field: str, limit: int) -> None:
    """`limit` is the first value of `field` that the checker refuses."""
    log = log_of((0, ACT, 0), (FAR, RD, 0), (2 * FAR, RDA, 0))
    log[field][1] = limit
    report = check(preset, log)
    assert [str(violation) for violation in report.violations] == [
        f"{field} range in clock 100: {field} {limit}, expected less than {limit}"
    ]
    if field != "command":
        log[field] = limit - 1
        assert check(preset, log).legal


def test_clock_that_decreases():
    report = check(PRESETS["hbm2-2000"], log_of((5, REF, 0), (4, REF, 0)))
    assert [str(violation) for violation in report.violations] == [
        "log order in clock 4: clock decreases"
    ]


def refreshes(*cycles: int, bank: int = 0) -> np.ndarray:
    return log_of(*((cycle, REF, bank) for cycle in cycles))


def in_rank(preset: MemoryPreset, rank: int) -> str:
    """How a text names a rank: not at all where there is only one."""
    return f" in rank {rank}" if preset.organization.ranks > 1 else ""


RANKS = [(name, rank) for name in PRESETS for rank in range(PRESETS[name].organization.ranks)]


@pytest.mark.parametrize(("name", "rank"), RANKS)
def test_eight_refreshes_postponed_but_not_nine(name, rank):
    """In one rank, while every other one is refreshed a clock earlier, just in time."""
    preset = PRESETS[name]
    interval, tRFC = preset.clocks.tREFI, preset.clocks.tRFC
    ranks = range(preset.organization.ranks)
    for late, legal in ((9 * interval - 1, True), (9 * interval, False)):
        commands = [
            (late + tRFC * place - (other != rank), REF, other * preset.banks_per_rank)
            for place in range(9)
            for other in ranks
        ]
        report = check(preset, log_of(*sorted(commands)))
        assert report.legal is legal
    assert [str(violation) for violation in report.violations] == [
        f"refresh postponed in clock {9 * interval}: 9 owed{in_rank(preset, rank)}, "
        "expected at most 8"
    ]


@pytest.mark.parametrize(("name", "rank"), RANKS)
def test_eight_refreshes_pulled_in_but_not_nine(name, rank):
    preset = PRESETS[name]
    tRFC, bank = preset.clocks.tRFC, rank * preset.banks_per_rank
    early = [tRFC * place for place in range(8)]
    assert check(preset, refreshes(*early, bank=bank)).legal
    report = check(preset, refreshes(*early, 8 * tRFC, bank=bank))
    assert [str(violation) for violation in report.violations] == [
        f"refresh pulled in in clock {8 * tRFC}: 9 ahead{in_rank(preset, rank)}, expected at most 8"
    ]
    # At tREFI one of them has become due, so that the ninth may follow: not a clock before.
    for at, legal in ((preset.clocks.tREFI - 1, False), (preset.clocks.tREFI, True)):
        assert check(preset, refreshes(*early, at, bank=bank)).legal is legal


def test_refreshes_that_stop_before_the_end_of_a_long_log():
    preset = PRESETS["hbm2-2000"]
    interval = preset.clocks.tREFI
    on_time = [interval * place for place in range(1, 21)]
    for end, legal in ((29 * interval - 1, True), (29 * interval, False)):
        log = log_of(*((cycle, REF, 0) for cycle in on_time), (end, ACT, 0))
        report = check(preset, log)
        assert report.legal is legal
    assert [str(violation) for violation in report.violations] == [
        f"refresh postponed in clock {29 * interval}: 9 owed, expected at most 8"
    ]


def test_refresh_off():
    preset = PRESETS["hbm2-2000"]
    silent = log_of((0, ACT, 0), (FAR, RDA, 0), (1_000_000, ACT, 0))
    assert check(preset, silent, refresh=False).legal
    assert broken(check(preset, silent)) == {"refresh postponed"}
    report = check(preset, refreshes(5000, 9000), refresh=False)
    assert [str(violation) for violation in report.violations] == [
        "refresh off in clock 5000: 2 refreshes"
    ]


def test_one_missing_refresh():
    """JEDEC allows to postpone it, the golden model does not; nine missing are no longer legal."""
    preset = PRESETS["hbm2-2000"]
    tables = place_tables(preset, [(9000, 64)])
    run = ClusterRun(
        preset=preset,
        tables=tables,
        bag_tables=np.zeros(160, dtype=np.int64),
        bag_lengths=np.full(160, 80, dtype=np.int64),
        indices=np.random.default_rng(1).integers(0, 9000, 160 * 80),
        settings=ClusterSettings(refresh_group=1),
    )
    golden = simulate_cluster(run)
    log = golden.commands
    places = np.flatnonzero(log["command"] == REF)
    assert len(places) >= 12
    for place in places:
        found = compare(type(golden)(**{**vars(golden), "commands": np.delete(log, place)}), golden)
        assert [difference.field for difference in found] == ["command"]
        assert found[0].golden.startswith("REF bank 0 row 0 column 0 in clock ")
    assert broken(check(preset, np.delete(log, places[-9:]))) == {"refresh postponed"}
    assert check(preset, np.delete(log, places[:1])).legal


@pytest.mark.parametrize("seed", range(6))
def test_random_runs_of_the_golden_model_are_legal(seed):
    for name in PRESETS:
        run = random_run(seed, PRESETS[name])
        log = simulate_cluster(run).commands
        report = check(
            run.preset, log, refresh=run.settings.refresh_group > 0, per_bank=run.settings.per_bank
        )
        assert report.violations == [], f"seed {seed} on {name}"


def test_only_the_first_violations_of_a_rule_are_kept_but_all_are_counted():
    preset = PRESETS["hbm2-2000"]
    log = log_of(*((cycle, REF, 0) for cycle in range(20)))
    report = check(preset, log)
    counts = {entry.name: entry.violations for entry in report.rules}
    assert counts["tRFC to REF"] == 19
    assert sum(violation.rule == "tRFC to REF" for violation in report.violations) == 8
    assert report.violation_count == 19 + 12


def test_an_empty_log_is_legal():
    assert check(PRESETS["hbm2-2000"], log_of()).legal
