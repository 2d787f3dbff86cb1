"""A channel built for a device with one wrong timing, judged by the rules of the right one."""

from dataclasses import replace

import numpy as np
import pytest
from support.cluster_runs import preset_with

from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.table import place_tables
from recspeed.tb.checkers import jedec
from recspeed.tb.cluster.simulation import simulate_clusters
from recspeed.tb.regression.verdict import judge

TRUE = memory_preset("hbm2-2000")
LOOKUPS = 4000


def saturating_run(preset: MemoryPreset) -> ClusterRun:
    """Uniform lookups of 32 B, more than the DRAM can serve, through several refreshes."""
    return ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(100_000, 32)]),
        bag_tables=np.zeros(LOOKUPS // 20, dtype=np.int64),
        bag_lengths=np.full(LOOKUPS // 20, 20, dtype=np.int64),
        indices=np.random.default_rng(2).integers(0, 100_000, LOOKUPS),
        settings=ClusterSettings(outstanding=128, refresh_group=2),
    )


def judged(preset: MemoryPreset) -> tuple[list[str], jedec.JedecReport]:
    """Faults of the RTL that was built for `preset`, against golden model and rules of `TRUE`."""
    run = saturating_run(preset)
    (rtl,) = simulate_clusters([run])
    true_run = replace(run, preset=TRUE)
    return list(judge("mutant", true_run, rtl).faults), jedec.check(TRUE, rtl.commands)


def test_the_right_timings_have_no_fault_and_are_driven_to_their_limits():
    faults, report = judged(TRUE)
    assert faults == []
    assert not {"tRRD_S", "tFAW", "tRFC", "tRFC to REF"} & set(report.never_at_limit)


@pytest.mark.parametrize(
    ("timing", "clocks", "rule"), [("tRRD_S", 3, "tRRD_S"), ("tRFC", 349, "tRFC")]
)
def test_one_clock_too_few(timing, clocks, rule):
    """Both judges object: the golden model to the first early command, the checker to its gap."""
    faults, report = judged(
        preset_with(f"fast-{timing.lower()}".replace("_", "-"), **{timing: clocks})
    )
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
    faults, report = judged(preset_with("slow-trrd-s", tRRD_S=5))
    assert report.legal
    assert not any(fault.startswith("JEDEC") for fault in faults)
    assert any(fault.startswith("command at entry ") for fault in faults)
    assert any(fault.startswith("counter CYCLES: RTL ") for fault in faults)
    # Four activates now take longer than tFAW, so that tFAW is not met either.
    assert {"tRRD_S", "tFAW"} <= set(report.never_at_limit)
