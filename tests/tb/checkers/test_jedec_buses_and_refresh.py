"""The JEDEC checker beyond distances: command buses, their sharing, refresh counts, random logs."""

import numpy as np
import pytest
from support.jedec_rule_cases import array, broken_by, devices, expected_rules

from recspeed.models.spec.memory import MemoryPreset
from recspeed.tb.checkers.jedec import check, check_shared_row_bus

PRESETS = devices()
PER_BANK = [name for name, preset in PRESETS.items() if preset.per_bank_refresh]
SHARED = [name for name, one in PRESETS.items() if one.organization.command_bus == "shared"]
SEPARATE = [name for name in PRESETS if name not in SHARED]


def texts(report, rule: str) -> list[str]:
    return [str(violation) for violation in report.violations if violation.rule == rule]


ROW, COLUMN = ["ACT", "REF", "REFPB"], ["RD", "RDA", "WR", "WRA"]


@pytest.mark.parametrize("name", list(PRESETS))
def test_commands_that_overlap_on_a_bus(name):
    """Every pair of commands: in one clock, and as near as the buses allow."""
    preset = PRESETS[name]
    one_bus = preset.organization.command_bus == "shared"
    last = preset.banks - 1
    commands = [one for one in ROW + COLUMN if one != "REFPB" or preset.per_bank_refresh]
    for first in commands:
        for second in commands:
            row = second in ROW
            apart = not one_bus and (first in ROW) != row
            bus = "command bus" if one_bus else "row bus" if row else "column bus"
            limit = preset.organization.activate_clocks if second == "ACT" else 1
            bank = last // preset.banks_per_rank * preset.banks_per_rank
            for gap in range(3):
                log = [(50, first, 0), (50 + gap, second, bank if second == "REF" else last)]
                found = texts(check(preset, array(log)), bus)
                if apart or gap >= limit:
                    assert found == [], (first, second, gap)
                elif gap == 0:
                    assert found == [f"{bus} in clock 50: two commands in one clock"]
                else:
                    assert found == [
                        f"{bus} in clock 51: ACT 1 clocks after a command, expected at least 2"
                    ]


@pytest.mark.parametrize("name", SEPARATE)
def test_pseudo_channels_share_the_buses_of_their_channel(name):
    preset = PRESETS[name]
    assert preset.organization.activate_clocks == 2
    refresh, bank = ("REFPB", 3) if preset.per_bank_refresh else ("REF", 0)
    row_0 = [(10, "ACT", 0), (20, refresh, bank), (30, "ACT", 1)]
    column_0 = [(40, "RD", 0), (42, "WR", 1)]
    for shift, broken in (
        (0, {"row bus": [10, 20, 30], "column bus": [40, 42]}),
        (1, {"row bus": [11, 31]}),
        (-1, {"row bus": [10, 30]}),
        (2, {"column bus": [42]}),
        (3, {}),
    ):
        other = [(cycle + shift, command, bank) for cycle, command, bank in row_0 + column_0]
        report = check_shared_row_bus(preset, array(row_0 + column_0), array(other))
        assert report.commands == 10
        found: dict[str, list[int]] = {}
        for violation in report.violations:
            found.setdefault(violation.rule, []).append(violation.cycle)
        assert {rule: sorted(cycles) for rule, cycles in found.items()} == broken, shift
    report = check_shared_row_bus(preset, array(row_0), array([(31, "ACT", 5), (60, "RD", 1)]))
    assert [str(one) for one in report.violations] == [
        "row bus in clock 31: ACT 1 clocks after a command, expected at least 2, "
        "of pseudo channels 0 and 1"
    ]
    report = check_shared_row_bus(preset, array(row_0), array([(20, refresh, bank)]))
    assert [str(one) for one in report.violations] == [
        "row bus in clock 20: two commands in one clock, of pseudo channels 0 and 1"
    ]


def test_sharing_is_refused_where_nothing_is_shared_or_a_log_is_no_log():
    empty = array([])
    with pytest.raises(ValueError, match=r"^gddr6-14000 has no pseudo channels that share command"):
        check_shared_row_bus(PRESETS["gddr6-14000"], empty, empty)
    preset = PRESETS["hbm2-2000"]
    assert check_shared_row_bus(preset, empty, empty).legal
    report = check_shared_row_bus(preset, empty, array([(5, "ACT", 16), (4, "ACT", 0)]))
    assert [str(one) for one in report.violations] == [
        "bank range in clock 5: bank 16, expected less than 16",
        "log order in clock 4: clock decreases",
    ]


def rank_banks(preset: MemoryPreset) -> list[int]:
    return list(range(0, preset.banks, preset.banks_per_rank))


def in_rank(preset: MemoryPreset, rank: int) -> str:
    return f" in rank {rank}" if preset.organization.ranks > 1 else ""


@pytest.mark.parametrize("name", list(PRESETS))
def test_all_bank_refreshes_of_every_rank_postponed_and_pulled_in(name):
    """One rank at a time is eight and then nine behind or ahead; the others are on time."""
    preset = PRESETS[name]
    interval, tRFC = preset.clocks.tREFI, preset.clocks.tRFC
    for rank, bank in enumerate(rank_banks(preset)):
        words = in_rank(preset, rank)

        def others(intervals: int, bank: int = bank) -> list[tuple[int, str, int]]:
            return [
                (interval * place + 50, "REF", other)
                for other in rank_banks(preset)
                if other != bank
                for place in range(1, intervals + 1)
            ]

        def found(log: list[tuple[int, str, int]]) -> list[str]:
            return [str(one) for one in check(preset, array(sorted(log))).violations]

        for first, expected in (
            (9 * interval - 1, []),
            (
                9 * interval,
                [f"refresh postponed in clock {9 * interval}: 9 owed{words}, expected at most 8"],
            ),
        ):
            own = [(first + tRFC * place, "REF", bank) for place in range(9)]
            assert found(own + others(9)) == expected
        early = [(tRFC * place + 7, "REF", bank) for place in range(8)]
        assert found(early + others(1)) == []
        for ninth, expected in (
            (interval - 1, [f"refresh pulled in in clock {interval - 1}: 9 ahead{words}, "]),
            (interval, []),
        ):
            assert found([*early, (ninth, "REF", bank), *others(1)]) == [
                text + "expected at most 8" for text in expected
            ]


def test_a_rank_that_is_never_refreshed():
    preset = PRESETS["ddr4-3200"]
    interval = preset.clocks.tREFI
    log = [(interval * place, "REF", 16) for place in range(1, 10)]
    assert [str(one) for one in check(preset, array(log)).violations] == [
        f"refresh postponed in clock {9 * interval}: 9 owed in rank 0, expected at most 8"
    ]


@pytest.mark.parametrize("name", list(PRESETS))
def test_nine_intervals_between_refreshes_but_not_more(name):
    """Pulled in and then postponed: the count permits sixteen, the pause of nine tREFI does not."""
    preset = PRESETS[name]
    interval, tRFC = preset.clocks.tREFI, preset.clocks.tRFC
    early = [(tRFC * place, "REF", bank) for place in range(8) for bank in rank_banks(preset)]
    last = 7 * tRFC
    for late, legal in ((last + 9 * interval, True), (last + 9 * interval + 1, False)):
        log = [*early, *((late, "REF", bank) for bank in rank_banks(preset))]
        # Ranks share a bus on which their commands follow each other.
        log = sorted((cycle + bank, command, bank) for cycle, command, bank in log)
        report = check(preset, array(log))
        expected = [
            f"refresh interval in clock {late + bank}: {9 * interval + 1} clocks"
            f"{in_rank(preset, rank)}, expected at most {9 * interval}"
            for rank, bank in enumerate(rank_banks(preset))
        ]
        assert [str(one) for one in report.violations] == ([] if legal else expected)


def test_ddr4_allows_sixteen_refreshes_in_two_intervals():
    preset = PRESETS["ddr4-3200-x8-1r"]
    interval, tRFC = preset.clocks.tREFI, preset.clocks.tRFC
    start = 9 * interval - 1
    for count, legal in ((16, True), (17, False)):
        log = [(start + tRFC * place, "REF", 0) for place in range(count)]
        report = check(preset, array(log))
        assert report.legal is legal
    assert [str(one) for one in report.violations] == [
        f"refresh burst in clock {start + 16 * tRFC}: 17 refreshes in {16 * tRFC + 1} clocks, "
        f"expected at most 16 in {2 * interval}"
    ]
    log = [(start + tRFC * place, "REF", 0) for place in range(16)]
    for end, legal in ((start + 2 * interval - 1, False), (start + 2 * interval, True)):
        assert check(preset, array([*log, (end, "REF", 0)])).legal is legal


def rounds(preset: MemoryPreset, cycles: list[int]) -> list[tuple[int, str, int]]:
    return [(cycle, "REFPB", place % preset.banks) for place, cycle in enumerate(cycles)]


@pytest.mark.parametrize("name", [name for name in PER_BANK if name != "everything"])
def test_per_bank_refreshes_postponed_and_pulled_in(name):
    preset = PRESETS[name]
    interval, apart = preset.clocks.tREFI // preset.banks, preset.clocks.tRREFD
    on_time = [interval * (place + 1) for place in range(3 * preset.banks)]

    def found(cycles: list[int], **mode: bool) -> list[str]:
        report = check(preset, array(rounds(preset, cycles)), **(mode or {"per_bank": True}))
        return [str(one) for one in report.violations]

    assert found(on_time) == []
    # Counted as all-bank refreshes they are none: the same log is far behind.
    far = [interval * (place + 1) for place in range(9 * preset.banks + preset.banks)]
    assert len(found(far, per_bank=False)) == preset.organization.ranks
    assert found(far) == []
    for first, text in (
        (9 * interval - 1, []),
        (
            9 * interval,
            [f"refresh postponed in clock {9 * interval}: 9 owed, expected at most 8"],
        ),
    ):
        late = [first + apart * place for place in range(8)]
        assert found(late + [cycle for cycle in on_time if cycle > late[-1]]) == text
    early = [apart * place for place in range(8)]
    assert found(early) == []
    for ninth, text in (
        (interval, []),
        (
            interval - 1,
            [f"refresh pulled in in clock {interval - 1}: 9 ahead, expected at most 8"],
        ),
    ):
        assert found([*early, ninth]) == text
    end = on_time[-1]
    for pause, legal in ((9 * interval - 1, True), (9 * interval, False)):
        log = [*rounds(preset, on_time), (end + pause, "ACT", 0)]
        report = check(preset, array(log), per_bank=True)
        assert [str(one) for one in report.violations] == [
            f"refresh postponed in clock {end + pause}: 9 owed, expected at most 8"
        ] * (not legal)


def test_each_rank_has_rounds_of_its_own():
    preset = PRESETS["everything"]
    log = [(400 * bank, "REFPB", bank) for bank in range(32)]
    log += [(20_000, "REFPB", 40), (21_000, "REFPB", 5)]
    assert texts(check(preset, array(log)), "refresh round") == []
    assert texts(check(preset, array([*log, (22_000, "REFPB", 40)])), "refresh round") == [
        "refresh round in clock 22000: bank 40 again, while 31 banks of the round are missing"
    ]
    # An all-bank refresh of the other rank changes nothing, one of its own does.
    for bank, legal in ((0, False), (32, True)):
        refreshed = [*log, (22_000, "REF", bank), (23_000, "REFPB", 40)]
        assert (texts(check(preset, array(refreshed)), "refresh round") == []) is legal


@pytest.mark.parametrize("name", [name for name in PER_BANK if name != "everything"])
def test_every_bank_once_in_a_round(name):
    preset = PRESETS[name]
    interval = preset.clocks.tREFI // preset.banks
    orders = [np.random.default_rng(3).permutation(preset.banks).tolist() for _ in range(2)]
    order = orders[0] + orders[1][::-1]
    cycles = [interval * (place + 1) for place in range(len(order))]
    log = [(cycle, "REFPB", bank) for cycle, bank in zip(cycles, order, strict=True)]
    report = check(preset, array(log), per_bank=True)
    # The last bank of the first round leads the second one, which only tRFCpb forbids.
    assert {one.rule for one in report.violations} <= {"tRFCpb to REFPB"}
    twice = log.copy()
    place = preset.banks - 3
    twice[place] = (cycles[place], "REFPB", order[0])
    assert texts(check(preset, array(twice), per_bank=True), "refresh round")[0] == (
        f"refresh round in clock {cycles[place]}: bank {order[0]} again, "
        "while 3 banks of the round are missing"
    )
    # An all-bank refresh begins a new round.
    half = [(1000 * bank, "REFPB", bank) for bank in range(4)]
    again = [(8000 + 1000 * bank, "REFPB", bank) for bank in range(4)]
    assert texts(check(preset, array(half + again)), "refresh round") != []
    assert texts(check(preset, array([*half, (5000, "REF", 0), *again])), "refresh round") == []


@pytest.mark.parametrize("name", PER_BANK)
def test_refresh_off_means_neither_command(name):
    preset = PRESETS[name]
    log = [(0, "REFPB", 1), (3000, "ACT", 5), (90_000, "REF", 0)]
    for per_bank in (False, True):
        found = texts(check(preset, array(log), refresh=False, per_bank=per_bank), "refresh off")
        assert found == ["refresh off in clock 0: 2 refreshes"]
        quiet = check(preset, array(log[1:2]), refresh=False, per_bank=per_bank)
        assert quiet.legal


@pytest.mark.parametrize("seed", range(26))
def test_random_logs_break_the_rules_that_a_pairwise_search_finds(seed):
    rng = np.random.default_rng(seed)
    name = list(PRESETS)[seed % len(PRESETS)]
    preset = PRESETS[name]
    commands = [one for one in ROW + COLUMN if one != "REFPB" or preset.per_bank_refresh]
    cycles = np.sort(rng.integers(0, int(rng.integers(40, 4000)), 60)).tolist()
    log = []
    for cycle in cycles:
        command, bank = str(rng.choice(commands)), int(rng.integers(preset.banks))
        log.append((cycle, command, bank - bank % preset.banks_per_rank * (command == "REF")))
    report = check(preset, array(log))
    distances = {rule.name for rule in expected_rules(preset)}
    found = {one.rule for one in report.violations} & distances
    assert found == broken_by(preset, log), f"seed {seed} on {name}"
    assert found == {entry.name for entry in report.rules if entry.violations}
