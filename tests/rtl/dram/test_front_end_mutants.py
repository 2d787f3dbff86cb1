"""Faults in the front-end with writes, one at a time: each must be reported by its name.

The scoreboard, the JEDEC checker or the DRAM that misses write data reports it, in a run that meets
it (`front_end_runs.py`, `front_end_faults.py`). The front-end of a device is built once, with all
its faults in it (`switched_mutants.py`); what cannot be switched runs in Amaranth's own simulator.
"""

from functools import cache

import pytest
from support.amaranth_front_end import (
    FrontEndOutcome,
    Record,
    front_end_of,
    simulate_front_end_in_amaranth,
    simulate_front_end_verilated,
)
from support.amaranth_peers import Dram
from support.front_end_faults import CASES
from support.front_end_runs import RUNS, run_and_golden
from support.mutation import Mutant
from support.switched_mutants import SwitchedDesign, switched

from recspeed.models.runs.dram import DramResult, DramRun
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare_dram

DEVICE_OF = {run: RUNS[run]().preset.name for run in RUNS}
"""The preset of each run; runs of one name have one device."""

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


@cache
def switched_front_end(preset: str) -> SwitchedDesign:
    """The front-end of that device with all its faults in it."""
    cases = [(run, mutant) for run, mutant in CASES if DEVICE_OF[run] == preset]
    run, _ = run_and_golden(cases[0][0])
    return switched(lambda: front_end_of(run), [mutant for _, mutant in cases])


def faults_of(name: str, mutant: Mutant | None = None) -> list[str]:
    """What the checkers report of a run on the front-end with a switched fault in it, or none."""
    run, golden = run_and_golden(name)
    front = switched_front_end(DEVICE_OF[name])
    outcome = simulate_front_end_verilated(
        run,
        front.design,
        fault=0 if mutant is None else front.numbers[mutant],
        limit=golden.cycles + 200,
        stop=FirstDifference(golden),
    )
    return reported(run, golden, outcome)


def faults_in_amaranth(name: str) -> list[str]:
    """What they report of a run on the front-end as it is now, in Amaranth's own simulator."""
    run, golden = run_and_golden(name)
    outcome = simulate_front_end_in_amaranth(
        run, limit=golden.cycles + 200, stop=FirstDifference(golden)
    )
    return reported(run, golden, outcome)


def reported(run: DramRun, golden: DramResult, outcome: FrontEndOutcome) -> list[str]:
    """What scoreboard, JEDEC checker and DRAM say."""
    result, settings = outcome.result, run.settings
    found = [str(difference) for difference in compare_dram(result, golden)]
    if not outcome.done:
        # It was ended early, or hangs: then all counters are others.
        found = [text for text in found if not text.startswith("counter ")]
    refresh = settings.refresh_group > 0
    report = jedec.check(run.preset, result.commands, refresh=refresh, per_bank=settings.per_bank)
    found += [f"JEDEC: {violation}" for violation in report.violations]
    return found + outcome.data_faults


@pytest.mark.parametrize("run", list(RUNS))
def test_the_front_end_without_a_picked_fault_has_none(run):
    """Nor does the watch for a first difference end its simulation."""
    assert faults_of(run) == []


def test_nearly_all_faults_are_switched():
    left_out = [
        mutant.name
        for preset in sorted(set(DEVICE_OF.values()))
        for mutant in switched_front_end(preset).left_out
    ]
    print(f"{len(CASES)} faults, {len(CASES) - len(left_out)} of them switched; not: {left_out}")
    assert len(left_out) <= 2


@pytest.mark.parametrize(
    ("run", "mutant"), CASES, ids=[mutant.name.replace(" ", "_") for _, mutant in CASES]
)
def test_fault_is_reported(run, mutant, monkeypatch):
    if mutant in switched_front_end(DEVICE_OF[run]).numbers:
        found = faults_of(run, mutant)
    else:
        mutant.inject(monkeypatch)
        found = faults_in_amaranth(run)
    assert any(mutant.shows in fault for fault in found), found


@pytest.mark.parametrize("name", ["tWTR_L short", "wrong place", "REF of the wrong rank"])
def test_a_switched_fault_is_the_injected_one(name, monkeypatch):
    """To the last word of what is reported, in a simulator and with a way of its own."""
    ((run, mutant),) = ((run, mutant) for run, mutant in CASES if mutant.name == name)
    switched_one = faults_of(run, mutant)
    mutant.inject(monkeypatch)
    assert switched_one == faults_in_amaranth(run)
    assert switched_one
