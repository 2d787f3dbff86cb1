"""How long a request may wait: a bound for every request, and saturating runs held against it.

The wait counts from acceptance until the last burst is decided. Let a request of direction d have
n older ones of d in the front-end (at most as many as bursts fit, L = `outstanding` or
`write_buffer`, and one request), p of them in its own bank (at most `queue_depth`, and the active
one).

- A command that is the oldest of its slot and whose bank permits waits for the timers of commands
  decided before it permitted, and of what slipped in until then: an ACT for A = tRRD_L + tRRD_S +
  tFAW, a column command for C = tCCD_L + visit gap + burst (and tCCD_R or a rank switch). On a
  shared command bus it also waits for the other slot, which has its own timers in between.
- Older requests take at most n ACTs and L + 32 bursts before it; its bank is opened p + 1 times,
  each time after B = max(tRC, tRAS + tRP, close to activate) and tRCD. So it needs
  own = (p + 2) (B + A + tRCD) + n A + (L + 32) C clocks of its own direction. Row hits do not
  lengthen this: a bank's queue is served in order, and the oldest goes first among the banks.
- A direction is opened for at least `turnaround_limit` clocks in turn, and the other one moves for
  at most that long and a drain: turn = `turnaround_limit` + drains of both + both turnarounds,
  where a drain is tRCD + L C. It takes own / `turnaround_limit` + 2 turns, if there are requests of
  the other direction (`turnaround_limit` of at least A, so that each turn opens a row).
- All-bank refresh takes R tRFC + B + two drains from every R tREFI clocks. Per-bank refresh takes
  tRFCpb + B of every round from a bank, and tRREFD + A from the row slot per interval.

Bursts of one rank or stack ID that follow each other without a gap keep pushing the turn of the
others away; banks that are wanted again, groups with more active banks and requests with fewer
bursts left go before others in the column slot, and banks with two or more requests in the row
slot: until 512 requests were accepted after one. Then it is overdue, and so are all older ones, so
that nothing younger goes before it: 512 requests more, an ACT and as many bursts for each as the
run's longest has.
"""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from support.cluster_runs import preset_with
from support.dram_oracle import READ, WRITE, LiteralDram
from support.dram_runs import random_requests

from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.dram import REQUESTS, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.scripts.measurements.dram_workload import random_run
from recspeed.tb.checkers import jedec

NONE = np.zeros(0, dtype=REQUESTS)
OVERDUE = 512
"""Requests accepted after one from which on it goes before all others (docs/dram.md)."""


def wait_bound(run: DramRun, direction: str) -> int:
    """The bound of this page's docstring, in clocks."""
    preset, settings, t = run.preset, run.settings, run.preset.clocks
    org = preset.organization
    limits = {READ: max(settings.outstanding, 32), WRITE: max(settings.write_buffer, 32)}
    limit = limits[direction]
    switch = max(
        preset.rank_switch(write_before=before, write_after=after)
        for before in (False, True)
        for after in (False, True)
    )
    act = t.tRRD_L + t.tRRD_S + t.tFAW
    column = t.tCCD_L + t.visit_gap + preset.burst_clocks
    column += max(t.tCCD_R if org.stack_ids > 1 else 0, switch if org.ranks > 1 else 0)
    if org.command_bus == "shared":
        act, column = act + 2, column + 2
    rcd = max(t.tRCD, t.tRCD_WR)
    bank = max(t.tRC, t.tRAS + t.tRP, t.tRTP + t.tRP, preset.write_to_precharge + t.tRP)
    own = (run.queue_depth + 2) * (bank + act + rcd) + limit * act + (limit + 32) * column
    longest = max(run.reads["bursts"].max(initial=1), run.writes["bursts"].max(initial=1))
    own += OVERDUE * (act + int(longest) * column)
    drains = 2 * rcd + sum(limits.values()) * column
    if len(run.reads) and len(run.writes):
        assert settings.turnaround_limit >= act
        turn = settings.turnaround_limit + drains
        turn += preset.read_to_write + preset.write_to_read(same_group=True)
        own += (ceil(own / settings.turnaround_limit) + 2) * turn
    if not settings.refresh_group:
        return own
    if settings.per_bank:
        interval = preset.per_bank_interval
        lost = Fraction(t.tRREFD + act, interval)
        lost += Fraction(t.tRFCpb + bank, preset.banks * interval)
        once = t.tRFCpb + bank + 8 * (t.tRREFD + act)
    else:
        period = settings.refresh_group * t.tREFI
        once = settings.refresh_group * t.tRFC + bank + drains
        lost = Fraction(once, period)
    assert lost < 1
    return ceil((own + once) / (1 - lost))


def longest_waits(run: DramRun, oracle=LiteralDram) -> dict[str, int]:
    """Longest wait of the requests of each direction."""
    literal = oracle(run)
    literal.run_to_end()
    return {
        direction: max((r.last_in - r.accepted_in for r in some), default=0)
        for direction, some in ((READ, literal.reads), (WRITE, literal.writes))
    }


def check(run: DramRun, oracle=LiteralDram) -> None:
    for direction, wait in longest_waits(run, oracle).items():
        bound = wait_bound(run, direction)
        print(f"{run.preset.name} {direction}: {wait} of at most {bound} clocks")
        assert wait <= bound, direction


@pytest.mark.parametrize("name", ["hbm2-2000", "hbm3-6400", "ddr4-3200", "gddr6-14000"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(2))
def test_saturating_mixes(name, share, seed):
    preset = memory_preset(name)
    rng = np.random.default_rng([7, seed, int(10 * share)])
    print(f"seed {seed}")
    count, hot = 900, seed % 2 == 1
    places = {"banks": 3, "rows": 2} if hot else {}
    settings = FrontEndSettings(
        outstanding=int(rng.choice([16, 64])),
        write_buffer=int(rng.choice([16, 64])),
        per_bank=preset.per_bank_refresh and bool(rng.integers(2)),
        turnaround_limit=int(rng.choice([96, 256])),
        row_hits=255 if hot else int(rng.choice([0, 4])),
    )
    check(
        DramRun(
            preset,
            random_requests(rng, preset, int(count * (1 - share)), 2, **places),
            random_requests(rng, preset, int(count * share), 2, **places),
            settings,
            queue_depth=int(rng.choice([4, 16])),
        )
    )


def stream_with_one_other(preset, count, other_bank):
    """Reads of 8 bursts that rotate over 16 banks without a gap, and one to another bank."""
    reads = np.zeros(count, dtype=REQUESTS)
    number = np.arange(count)
    reads["bank"], reads["row"], reads["bursts"] = number % 16, number // 16 % 1000, 8
    reads["bank"][50], reads["row"][50] = other_bank, 5000
    return reads


@pytest.mark.parametrize(
    ("name", "other_bank"), [("hbm2-2000", 3), ("gddr6-14000", 3), ("ddr4-3200-x8-1r", 3)]
)
def test_row_against_a_stream_without_refresh(name, other_bank):
    preset = memory_preset(name)
    reads = stream_with_one_other(preset, 600, other_bank)
    check(DramRun(preset, reads, NONE, FrontEndSettings(refresh_group=0)))


@pytest.mark.parametrize(
    ("base", "counts"), [("ddr4-3200", {"ranks": 2}), ("hbm2-2000", {"stack_ids": 2})]
)
def test_a_stream_yields_to_what_is_overdue_in_the_other_rank(base, counts):
    """No refresh, no gap: 2000 requests of one rank must not keep the one of the other waiting."""
    preset = preset_with("no-refresh", base=base, **counts)
    reads = stream_with_one_other(preset, 2000, 16)
    run = DramRun(preset, reads, NONE, FrontEndSettings(refresh_group=0))
    wait = longest_waits(run)[READ]
    # 8 bursts a request: without the rule it waits for all 1900 that follow.
    bursts = (OVERDUE + 64) * 8
    assert OVERDUE * 8 * preset.burst_clocks / 2 < wait < 2 * bursts * preset.burst_clocks
    check(run)


def two_wait_at_all_banks_but_one(count):
    """Reads of one burst for 15 banks of 16, among them one for the last."""
    reads = np.zeros(count, dtype=REQUESTS)
    number = np.arange(count)
    reads["bank"], reads["row"], reads["bursts"] = number % 15, number // 15 % 1000, 1
    reads["bank"][60], reads["row"][60] = 15, 5000
    return reads


def test_banks_with_two_requests_yield_to_what_is_overdue():
    preset = memory_preset("hbm2-2000")
    reads = two_wait_at_all_banks_but_one(3000)
    run = DramRun(preset, reads, NONE, FrontEndSettings(refresh_group=0))
    wait = longest_waits(run)[READ]
    # An ACT takes 4 clocks: without the rule it waits for all 2900 that follow.
    assert 0.9 * OVERDUE * 4 < wait < 1.1 * OVERDUE * 4
    check(run)


class LowestBankFirst(LiteralDram):
    """A scheduler that the bound must catch."""

    def __init__(self, run):
        super().__init__(run)
        put = self.front.put

        def by_bank(t, direction, request):
            put(t, direction, request)
            request.age += request.bank << 32

        self.front.put = by_bank


def test_bound_catches_lowest_bank_first():
    """Fifteen banks take every turn of the row slot, so that a request of the last one starves."""
    preset = memory_preset("hbm2-2000")
    reads = np.zeros(6000, dtype=REQUESTS)
    number = np.arange(len(reads))
    reads["bank"], reads["row"], reads["bursts"] = number % 15, number // 15, 1
    reads["bank"][40] = 15
    run = DramRun(preset, reads, NONE, FrontEndSettings(refresh_group=0))
    check(run)
    with pytest.raises(AssertionError, match="read"):
        check(run, LowestBankFirst)


def test_row_hits_do_not_keep_a_bank_from_its_refresh():
    """Nearly every request hits the open row, and per-bank refresh is owed no more than it may."""
    run = random_run(
        memory_preset("hbm2-2000"),
        64,
        20_000,
        settings=FrontEndSettings(per_bank=True, row_hits=255),
        hit_rate=0.98,
    )
    result = simulate_dram(run, record_beats=False)
    report = jedec.check(run.preset, result.commands, refresh=True, per_bank=True)
    assert report.legal, report.violations
    due = result.cycles // run.preset.per_bank_interval
    assert abs(due - result.counters[Counter.REFRESHES]) <= MAXIMUM_REFRESH_DEBT
