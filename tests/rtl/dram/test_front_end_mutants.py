"""Faults in the front-end with writes, one at a time: each must be reported by its name.

The scoreboard, the JEDEC checker or the DRAM that misses write data reports it. A run in Amaranth's
own simulator meets each (`front_end_runs.py`, `front_end_faults.py`); that none of these runs has
anything to report without a fault is tested in `test_amaranth_front_end.py`.
"""

import pytest
from support.amaranth_front_end import Record, simulate_front_end_in_amaranth
from support.amaranth_peers import Dram
from support.front_end_faults import CASES
from support.front_end_runs import run_and_golden

from recspeed.models.runs.dram import DramResult
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare_dram

CLOCKS_AFTER = 100
"""Clocks of a simulation after the first thing in it that is not golden."""


class FirstDifference:
    """Ends a simulation soon after a command, a beat or a completion that the golden run lacks.

    What follows is of no use: the faults are told by what they change first.
    """

    def __init__(self, golden: DramResult):
        self.expected = [golden.commands.tolist(), golden.beats.tolist(), golden.written.tolist()]
        self.seen = [0, 0, 0]
        self.clock: int | None = None

    def __call__(self, clock: int, dram: Dram, record: Record) -> bool:
        if self.clock is None:
            for kind, found in enumerate((dram.log, record.beats, record.written)):
                new = found[self.seen[kind] :]
                start, self.seen[kind] = self.seen[kind], len(found)
                expected = self.expected[kind][start : len(found)]
                if [_plain(entry) for entry in new] != [_plain(entry) for entry in expected]:
                    self.clock = clock
        return self.clock is not None and clock - self.clock >= CLOCKS_AFTER


def _plain(entry: tuple) -> tuple:
    """An entry of a log, its two words of data as a tuple."""
    return tuple(tuple(part) if hasattr(part, "__len__") else part for part in entry)


def faults_of(name: str) -> list[str]:
    """What the checkers report of a run on the front-end as it is now."""
    run, golden = run_and_golden(name)
    difference = FirstDifference(golden)
    outcome = simulate_front_end_in_amaranth(run, limit=golden.cycles + 200, stop=difference)
    result, settings = outcome.result, run.settings
    found = [str(difference) for difference in compare_dram(result, golden)]
    if not outcome.done:
        # It was ended early, or hangs: then all counters are others.
        found = [text for text in found if not text.startswith("counter ")]
    refresh = settings.refresh_group > 0
    report = jedec.check(run.preset, result.commands, refresh=refresh, per_bank=settings.per_bank)
    found += [f"JEDEC: {violation}" for violation in report.violations]
    return found + outcome.data_faults


@pytest.mark.parametrize("run", ["HBM", "DDR4"])
def test_the_front_end_as_it_is_has_no_fault(run):
    """Nor does the watch for a first difference end its simulation."""
    assert faults_of(run) == []


@pytest.mark.parametrize(
    ("run", "mutant"), CASES, ids=[mutant.name.replace(" ", "_") for _, mutant in CASES]
)
def test_fault_is_reported(run, mutant, monkeypatch):
    mutant.inject(monkeypatch)
    found = faults_of(run)
    assert any(mutant.shows in fault for fault in found), found
