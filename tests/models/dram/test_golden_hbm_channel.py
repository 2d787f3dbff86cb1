"""The golden model of an HBM channel: against the literal oracle, the buses, laws, and by hand.

The arbitration by itself, and other orders than the page's: test_hbm_arbitration.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.cluster_runs import ALL_PRESETS, preset_with
from support.dram_oracle import LiteralDram
from support.dram_runs import (
    dense_pair,
    dram_differences,
    pair_that_remembers,
    preset_of_refreshes_alone,
    random_dram_run,
    random_pair,
    random_requests,
    saturated_pair,
)
from support.hbm_channel_oracle import LiteralHbmChannel

from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.lib.endless_run import EndlessRunError
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.tb.checkers.jedec import check as jedec_check
from recspeed.tb.checkers.jedec import check_shared_row_bus

RANDOM_PAIRS = 60
HBM = [name for name in ALL_PRESETS if memory_preset(name).organization.activate_clocks == 2]
NONE = np.zeros(0, dtype=REQUESTS)
OFF = FrontEndSettings(refresh_group=0)


def requests(*entries):
    """REQUESTS of `(bank, row, column, bursts)`."""
    return np.array(list(entries), dtype=REQUESTS)


def differences(some, others):
    return [dram_differences(one, other) for one, other in zip(some, others, strict=True)]


def violations(runs, results):
    """What JEDEC's rules find in each log, and in both together."""
    reports = [
        jedec_check(
            run.preset,
            result.commands,
            refresh=run.settings.refresh_group > 0,
            per_bank=run.settings.per_bank,
        )
        for run, result in zip(runs, results, strict=True)
    ]
    reports.append(check_shared_row_bus(runs[0].preset, *(one.commands for one in results)))
    return [[str(violation) for violation in report.violations] for report in reports]


def check(runs):
    """Compare every field of both results with the oracle's, and judge the logs; return them."""
    results = simulate_hbm_channel(runs)
    assert differences(results, LiteralHbmChannel(runs).run_to_end()) == [[], []]
    for result in results:
        causes = (Counter.DATA, *IDLE_CAUSES)
        assert result.cycles == sum(result.counters[cause] for cause in causes)
    assert violations(runs, results) == [[], [], []]
    return results


@pytest.mark.parametrize("place", [0, 1])
def test_rarer_pairs_equal_the_oracle_and_are_legal(place):
    check(dense_pair()[:: 1 - 2 * place])
    check(pair_that_remembers(place))


@pytest.mark.parametrize("seed", range(RANDOM_PAIRS))
def test_random_pairs_equal_the_oracle_and_are_legal(seed):
    print(f"seed {seed}")
    check(random_pair(seed))


@pytest.mark.parametrize("name", HBM)
def test_every_preset_equals_the_oracle(name):
    seed = 1000 + HBM.index(name)
    print(f"seed {seed}")
    check(random_pair(seed, preset=memory_preset(name), busy=True))


class WatchedChannel(LiteralHbmChannel):
    """Notes what the arbitration has met."""

    def __init__(self, runs):
        super().__init__(runs)
        self.met = set()

    def grant(self, t, proposals):
        kinds = ["refresh" if p.refresh else "ACT" if p.activate else "" for p in proposals]
        blocked = [self.is_blocked(t, number, p) for number, p in enumerate(proposals)]
        tie = all(kinds) and not any(blocked)
        if tie:
            self.met.add(("tie", *sorted(kinds)))
            before = self.history["row"][-1] if self.history["row"] else None
            lost = self.lost[-1] if self.lost else None
        for number in range(2):
            if blocked[number]:
                self.met.add(("blocked beside", kinds[1 - number], number))
        if all(p.column for p in proposals):
            self.met.add("tie of columns")
        decided = super().grant(t, proposals)
        if tie:
            number = self.history["row"][-1][1]
            if before is None:
                self.met.add(("tie before the first command", number))
            elif before[1] == number:
                self.met.add(("tie keeps the row bus", number))
            else:
                self.met.add(("tie to the loser of a tie", number))
                if lost[0] < before[0]:
                    self.met.add(("though the other one's commands came between", number))
        for number, (proposal, one) in enumerate(zip(proposals, decided, strict=True)):
            if proposal.column and not one.column:
                self.met.add(("column lost", number))
            if proposal.refresh and not one.refresh:
                self.met.add(("refresh lost", proposal.refresh[0], number))
            if one.refresh and self.channels[number].is_done(t):
                self.met.add(("refresh after done", number))
        return decided


@pytest.mark.slow
def test_pairs_meet_every_case_of_the_arbitration():
    """The pairs are worth something only if they reach all that there is."""
    met, counters = set(), set()
    pairs = [random_pair(seed) for seed in range(RANDOM_PAIRS)]
    for runs in [*pairs, dense_pair(), *(pair_that_remembers(place) for place in (0, 1))]:
        channel = WatchedChannel(runs)
        results = channel.run_to_end()
        met |= channel.met
        counters |= {name for one in results for name, value in one.counters.items() if value}
    assert met == {
        *(("tie", *kinds) for kinds in (("ACT", "ACT"), ("ACT", "refresh"))),
        ("tie", "refresh", "refresh"),
        ("tie before the first command", 0),
        *(("tie keeps the row bus", n) for n in (0, 1)),
        *(("tie to the loser of a tie", n) for n in (0, 1)),
        *(("though the other one's commands came between", n) for n in (0, 1)),
        *(("blocked beside", "", n) for n in (0, 1)),
        "tie of columns",
        *(("column lost", n) for n in (0, 1)),
        *(("refresh lost", kind, n) for kind in ("REF", "REFPB") for n in (0, 1)),
        *(("refresh after done", n) for n in (0, 1)),
    }
    assert counters == set(results[0].counters) - {Counter.IDLE_BACK_PRESSURE}


# The buses are judged by a checker that sees what a faulty arbitration does.


class IgnoresBlocked(LiteralHbmChannel):
    def is_blocked(self, t, number, proposal):
        return False


class BlockedTooShort(LiteralHbmChannel):
    def __init__(self, runs):
        super().__init__(runs)
        self.activate_clocks -= 1


class GrantsBoth(LiteralHbmChannel):
    def grant(self, t, proposals):
        return proposals


@pytest.mark.parametrize(
    ("fault", "rules"),
    [
        (IgnoresBlocked, {"row bus"}),
        (BlockedTooShort, {"row bus"}),
        (GrantsBoth, {"row bus", "column bus"}),
    ],
)
def test_faulty_arbitration_is_caught(fault, rules):
    runs = saturated_pair(memory_preset("hbm2-2000"))
    assert violations(runs, LiteralHbmChannel(runs).run_to_end()) == [[], [], []]
    results = fault(runs).run_to_end()
    report = check_shared_row_bus(runs[0].preset, *(one.commands for one in results))
    assert {one.rule for one in report.violations} == rules
    # Only together are they illegal.
    assert violations(runs, results)[:2] == [[], []]


def test_logs_of_two_runs_alone_clash():
    runs = saturated_pair(memory_preset("hbm2-2000"))
    assert violations(runs, [simulate_dram(run) for run in runs])[2]


# Laws.


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("seed", range(12))
def test_beside_an_idle_pseudo_channel_all_is_as_alone(seed, place):
    run = random_pair(seed)[0]
    idle = DramRun(run.preset, NONE, NONE, OFF, queue_depth=run.queue_depth)
    runs = (idle, run) if place else (run, idle)
    results = simulate_hbm_channel(runs)
    assert differences(results, [simulate_dram(one) for one in runs]) == [[], []]
    assert results[1 - place].cycles == len(results[1 - place].commands) == 0


@pytest.mark.parametrize("per_bank", [False, True])
def test_one_that_is_done_goes_on_refreshing(per_bank):
    """Its refreshes cost the other one clocks of the row bus, and are not its own result's.

    tREFI is no multiple of tRRD_S, so that some come in the clock before an ACT, which they block;
    in a tie they wait for the ACT.
    """
    preset = preset_with("odd-refresh", tREFI=3901)
    settings = FrontEndSettings(per_bank=per_bank, refresh_group=1)
    reads = random_requests(np.random.default_rng(1), preset, 40_000, 1)
    run = DramRun(preset, reads, NONE, OFF)
    idle = DramRun(preset, NONE, NONE, settings)
    check((idle, replace(run, reads=reads[:2000])))
    results = simulate_hbm_channel((idle, run))
    assert results[0].cycles == len(results[0].commands) == 0
    assert results[0].counters[Counter.REFRESHES] == 0
    assert violations((DramRun(preset, NONE, NONE, OFF), run), results) == [[], [], []]
    assert not np.array_equal(results[1].commands, simulate_dram(run).commands)


def test_alone_logs_that_do_not_clash_are_the_logs_together():
    """Sparse runs without refresh: together as alone if, and only if, their logs fit the buses."""
    fits = {True: 0, False: 0}
    for seed in range(150):
        rng = np.random.default_rng([3, seed])
        pair = random_pair(seed, 20)
        runs = tuple(
            replace(
                run,
                reads=run.reads[: int(rng.integers(1, 6))],
                writes=run.writes[: int(rng.integers(1, 4))],
                settings=run.settings.model_copy(update={"refresh_group": 0, "per_bank": False}),
            )
            for run in pair
        )
        alone = [simulate_dram(run) for run in runs]
        report = check_shared_row_bus(runs[0].preset, *(one.commands for one in alone))
        same = differences(simulate_hbm_channel(runs), alone) == [[], []]
        assert same == report.legal, f"seed {seed}"
        fits[same] += 1
    assert min(fits.values()) > 20, fits


@pytest.mark.parametrize("name", HBM)
def test_exchanged_runs_exchange_their_results(name):
    """Pseudo channel 0 is preferred before the first command of a bus only."""
    preset = memory_preset(name)
    rng = np.random.default_rng(HBM.index(name))
    late = DramPatterns(*(0xFFFF_FFFF_0000_0000,) * 3)
    one, other = (
        DramRun(preset, random_requests(rng, preset, 400), NONE, FrontEndSettings(row_hits=2)),
        DramRun(
            preset,
            random_requests(rng, preset, 300, 1),
            random_requests(rng, preset, 200, 2),
            patterns=late,
        ),
    )
    alone = [simulate_dram(run) for run in (one, other)]
    for codes in ((CommandCode.ACT,), (CommandCode.RD, CommandCode.RDA)):
        first = [log.commands["cycle"][np.isin(log.commands["command"], codes)][0] for log in alone]
        assert first[0] + 1 < first[1]
    results = simulate_hbm_channel((one, other))
    assert differences(results, simulate_hbm_channel((other, one))[::-1]) == [[], []]
    assert all(differences(results, alone))


@pytest.mark.parametrize("seed", range(12))
def test_sharing_moves_the_same_data_and_opens_the_same_rows(seed):
    """Without row hits and with one direction, only the clocks may differ from the run alone."""
    direction = ("reads", "writes")[seed % 2]
    pair = random_pair(seed, busy=True)
    preset = pair[0].preset
    runs = tuple(
        DramRun(
            preset,
            **{"reads": NONE, "writes": NONE}
            | {direction: random_requests(np.random.default_rng([4, seed, n]), preset, 200)},
            settings=run.settings.model_copy(update={"row_hits": 0}),
            seed=run.seed,
        )
        for n, run in enumerate(pair)
    )

    def moved(result):
        refreshes = np.isin(result.commands["command"], (CommandCode.REF, CommandCode.REFPB))
        log = result.commands[~refreshes][["command", "bank", "row", "column"]]
        beats = result.beats[["tag", "burst", "beat", "data"]]
        return (
            sorted(log.tolist()),
            sorted((*one[:3], *one[3].tolist()) for one in beats.tolist()),
            sorted(result.written["tag"].tolist()),
            [result.counters[name] for name in (Counter.ACTIVATES, Counter.READS, Counter.WRITES)],
        )

    for result, run in zip(simulate_hbm_channel(runs), runs, strict=True):
        assert moved(result) == moved(simulate_dram(run))


def test_without_beats_all_else_is_the_same():
    runs = random_pair(0)
    results = simulate_hbm_channel(runs)
    assert all(len(result.beats) for result in results)
    without = simulate_hbm_channel(runs, record_beats=False)
    assert differences(results, without) == [["beats"], ["beats"]]


# By hand.


def test_two_first_reads_clock_by_clock():
    preset = memory_preset("hbm2-2000")
    reads = requests((3, 7, 5, 2))
    results = check((DramRun(preset, reads, NONE), DramRun(preset, reads, NONE)))
    # Both ACTs are proposed in 2; pseudo channel 0 has it, on the bus in 2 and 3. In 3 the other
    # one is blocked, in 4 its ACT is decided, on the bus in 4 and 5. Reads as alone: tRCD = 14.
    # Clocks 2 and 3 then count as TRRD, and 4, in which its ACT is decided, by the row cause.
    for result, start, waits in zip(results, (3, 5), (0, 3), strict=True):
        assert result.commands["cycle"].tolist() == [start, start + 14, start + 18]
        assert result.beats["cycle"].tolist() == [start + 34, start + 35, start + 38, start + 39]
        assert result.cycles == start + 40
        assert result.counters[Counter.IDLE_TRRD] == waits
        assert result.counters[Counter.IDLE_TCCD_L] == 2


@pytest.mark.parametrize("place", [0, 1])
def test_a_stretch_of_acts_keeps_the_row_bus(place):
    """The one that has it wins the tie, whichever it is; the other one's ACTs go between."""
    preset = memory_preset("hbm2-2000")
    has = DramRun(preset, requests(*((bank, 7, 5, 1) for bank in range(4))), NONE, OFF)
    # Permitted from 4 on, the first ACT of the other one is proposed in 6, with the second of this.
    comes = replace(has, patterns=DramPatterns(reads=(1 << 64) - (1 << 4)))
    results = check((comes, has) if place else (has, comes))
    activates = [
        log.commands["cycle"][log.commands["command"] == CommandCode.ACT].tolist()
        for log in (results[place], results[1 - place])
    ]
    # tRRD_S = 4: on the bus in 3, 7, ... as alone, and from 7 + 2 on.
    assert activates == [[3, 7, 11, 15], [9, 13, 17, 21]]


def test_who_has_lost_a_tie_wins_the_next():
    """Two that want every second clock: each loses once, and then has it."""
    preset = dense_pair()[0].preset
    run = DramRun(preset, requests(*((bank, 7, 5, 1) for bank in range(4))), NONE, OFF)
    for result, first in zip(check((run, run)), (3, 5), strict=True):
        activates = result.commands["cycle"][result.commands["command"] == CommandCode.ACT]
        assert activates.tolist() == [first + 4 * n for n in range(4)]


@pytest.mark.parametrize("place", [0, 1])
def test_a_lost_tie_is_remembered_until_the_next_row_command(place):
    """Twelve ACTs of one pseudo channel beside an ACT, a lost ACT and a REF of the other one."""
    results = check(pair_that_remembers(place))
    stretch, other = results[place].commands, results[1 - place].commands
    # Proposed in 48, and in 55 beside the second of the stretch, which keeps the bus. In 56 the
    # refresh is due; in 48 + tRC = 95 its REF is proposed, beside the last ACT of the stretch.
    row = other[np.isin(other["command"], (CommandCode.ACT, CommandCode.REF))]
    # The next one is due in 112, before tRFC permits; then its lost ACT is decided.
    assert row["cycle"].tolist() == [49, 96, 96 + 20, 96 + 40]
    codes = [CommandCode.ACT, CommandCode.REF, CommandCode.REF, CommandCode.ACT]
    assert row["command"].tolist() == codes
    activates = stretch["cycle"][stretch["command"] == CommandCode.ACT]
    # In 96 the last one is blocked, in 97 it is decided.
    assert activates.tolist() == [*range(52, 96, 4), 98]


def test_a_lost_column_slot_counts_as_tccd_l():
    """A read and a write, whose ACT is two clocks later; tRCD_WR says when its burst may go."""
    preset = preset_with("writes-catch-up", tRCD=14, tRCD_WR=10)
    one = requests((0, 0, 0, 1))
    runs = (DramRun(preset, one, NONE, OFF), DramRun(preset, NONE, one, OFF))
    alone = [simulate_dram(run) for run in runs]
    # Alone: ACT in 3, RDA in 17; two beats taken in 1 and 2, `act_mode` in 4, ACT in 5, WRA in 15.
    assert [log.commands["cycle"].tolist() for log in alone] == [[3, 17], [5, 15]]
    assert differences(check(runs), alone) == [[], []]
    preset = preset_with("writes-tie", tRCD=14, tRCD_WR=12)
    runs = tuple(replace(run, preset=preset) for run in runs)
    results = check(runs)
    # Both bursts are proposed in 16, and no column command was before: pseudo channel 0 goes first.
    assert [log.commands["cycle"].tolist() for log in results] == [[3, 17], [5, 18]]
    alone = [simulate_dram(run) for run in runs]
    assert [log.counters[Counter.IDLE_TCCD_L] for log in alone] == [0, 0]
    assert [log.counters[Counter.IDLE_TCCD_L] for log in results] == [0, 1]
    assert results[1].cycles == alone[1].cycles + 1


# What is refused.


def test_refused():
    preset = memory_preset("hbm2-2000")
    run = DramRun(preset, NONE, NONE)

    def refuses(message, *runs, error=ValueError):
        with pytest.raises(error, match=f"^{message}$"):
            simulate_hbm_channel(runs)

    other = DramRun(memory_preset("hbm3-6400"), NONE, NONE)
    refuses("pseudo channels of hbm2-2000 and hbm3-6400; expected one preset", run, other)
    altered = replace(run, preset=preset_with("hbm2-2000", tRRD_S=5))
    refuses("pseudo channels of hbm2-2000 and hbm2-2000; expected one preset", run, altered)
    refuses("queues of 16 and 8 requests; expected one depth", run, replace(run, queue_depth=8))
    for name in ("gddr6-14000", "ddr4-3200"):
        one_bus = DramRun(memory_preset(name), NONE, NONE)
        refuses(f"{name} has no pseudo channels that share command buses", one_bus, one_bus)
    outside = replace(run, reads=requests((16, 0, 0, 1)))
    refuses("pseudo channel 0: read 0: bank 16; expected 0 to 15", outside, run)
    refuses("pseudo channel 1: read 0: bank 16; expected 0 to 15", run, outside)
    deep = replace(run, queue_depth=65)
    refuses("pseudo channel 0: queues of 65 requests; expected 1 to 64", deep, deep)
    stuck = replace(run, reads=requests((0, 0, 0, 1)), patterns=DramPatterns(reads=0))
    refuses(
        "pseudo channel 1: the run cannot end: the pattern of reads has no 1",
        run,
        stuck,
        error=EndlessRunError,
    )


@pytest.mark.parametrize("place", [0, 1])
def test_no_clock_between_per_bank_refreshes(place):
    preset = preset_of_refreshes_alone()
    reads = random_requests(np.random.default_rng(1), preset, 60)
    ends = DramRun(preset, reads, NONE, OFF)
    endless = DramRun(preset, reads, NONE, FrontEndSettings(per_bank=True))
    runs = (ends, endless) if place else (endless, ends)
    with pytest.raises(
        EndlessRunError,
        match=rf"^pseudo channel {place}: the run cannot end: nothing has moved from clock \d+ to",
    ):
        simulate_hbm_channel(runs)


def test_oracle_alone_is_still_the_oracle():
    """The pair's oracle is made of two of the single one; beside nothing it is that one."""
    run = random_dram_run(3, preset=memory_preset("hbm2-2000"))
    idle = DramRun(run.preset, NONE, NONE, OFF, queue_depth=run.queue_depth)
    one, _ = LiteralHbmChannel((run, idle)).run_to_end()
    assert dram_differences(one, LiteralDram(run).run_to_end()) == []
