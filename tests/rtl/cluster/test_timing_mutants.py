"""A channel with one wrong timing, judged by the rules of its device.

The channel is built once, with every wrong timing in it (`switched_mutants.py`).
"""

from functools import cache

import numpy as np
import pytest
from support.amaranth_channel import channel_of, simulate_verilated
from support.mutation import Mutant
from support.switched_mutants import SwitchedDesign, switched

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.table import place_tables
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.tb.checkers import jedec
from recspeed.tb.regression.verdict import judge

TRUE = memory_preset("hbm2-2000")
LOOKUPS = 4000
ROWS = 100_000


def wrong(owner: type, timing: str, old: str, change: int) -> Mutant:
    """One timer set to `change` clocks more."""
    new = old.replace(f"t.{timing}", f"t.{timing} + {change}")
    return Mutant(f"{timing} {change:+}", owner, "elaborate", old, new, timing)


FAST_TRRD = wrong(RowScheduler, "tRRD_S", "spacing.set(hit, t.tRRD_S)", -1)
SLOW_TRRD = wrong(RowScheduler, "tRRD_S", "spacing.set(hit, t.tRRD_S)", 1)
FAST_TRFC = wrong(AllBankRefresher, "tRFC", "cycle_time.set(refresh, t.tRFC)", -1)


@cache
def saturating_run() -> ClusterRun:
    """Uniform lookups of 32 B, more than the DRAM can serve, through several refreshes."""
    rng = np.random.default_rng(2)
    return ClusterRun(
        preset=TRUE,
        tables=place_tables(TRUE, [(ROWS, 32)]),
        bag_tables=np.zeros(LOOKUPS // 20, dtype=np.int64),
        bag_lengths=np.full(LOOKUPS // 20, 20, dtype=np.int64),
        indices=rng.integers(0, ROWS, LOOKUPS),
        settings=ClusterSettings(outstanding=128, refresh_group=2),
        parameters=ClusterParameters(queue_depth=8, accumulator_words=64, bag_slots=16),
        contents=(rng.integers(0, 0x7C00, (ROWS, 16), dtype=np.uint16),),
    )


@cache
def channel() -> SwitchedDesign:
    """The channel with every wrong timing in it."""
    return switched(lambda: channel_of(saturating_run()), [FAST_TRRD, SLOW_TRRD, FAST_TRFC])


def judged(mutant: Mutant | None) -> tuple[list[str], jedec.JedecReport]:
    """Faults of the RTL with the wrong timing, against golden model and rules of `TRUE`."""
    run = saturating_run()
    fault = 0 if mutant is None else channel().numbers[mutant]
    limit = simulate_cluster(run).cycles * 2
    outcome = simulate_verilated(run, channel().design, fault=fault, limit=limit)
    assert outcome.done
    return list(judge("mutant", run, outcome.result).faults), jedec.check(
        TRUE, outcome.result.commands
    )


def test_the_right_timings_have_no_fault_and_are_driven_to_their_limits():
    faults, report = judged(None)
    assert faults == []
    assert not {"tRRD_S", "tFAW", "tRFC", "tRFC to REF"} & set(report.never_at_limit)


@pytest.mark.parametrize(
    ("mutant", "clocks"), [(FAST_TRRD, 3), (FAST_TRFC, 349)], ids=["tRRD_S", "tRFC"]
)
def test_one_clock_too_few(mutant, clocks):
    """Both judges object: the golden model to the first early command, the checker to its gap."""
    faults, report = judged(mutant)
    rule = mutant.shows
    assert any(fault.startswith("command at entry ") for fault in faults)
    assert any(fault.startswith("clock of transfer at entry ") for fault in faults)
    assert any(fault.startswith("counter CYCLES: RTL ") for fault in faults)
    expected = f"{clocks} clocks, expected at least {clocks + 1}"
    texts = [fault for fault in faults if fault.startswith(f"JEDEC: {rule} in clock ")]
    assert texts
    assert all(text.endswith(expected) for text in texts)
    assert {entry.name: entry.minimum_gap for entry in report.rules}[rule] == clocks


def test_one_clock_too_many():
    """Legal, but the golden model objects, and the rule is never driven to its limit."""
    faults, report = judged(SLOW_TRRD)
    assert report.legal
    assert not any(fault.startswith("JEDEC") for fault in faults)
    assert any(fault.startswith("command at entry ") for fault in faults)
    assert any(fault.startswith("counter CYCLES: RTL ") for fault in faults)
    # Four activates now take longer than tFAW, so that tFAW is not met either.
    assert {"tRRD_S", "tFAW"} <= set(report.never_at_limit)
