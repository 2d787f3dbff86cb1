"""Runs of front-ends of small devices, short enough for Amaranth's own simulator.

Eight banks each and short refresh intervals, so that some hundred requests meet every mechanism:
HBM with two stack IDs, DDR4 with two ranks, GDDR6 with the visit gap of a calibrated preset.
"""

from functools import cache

import numpy as np

from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramResult, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from support.cluster_runs import preset_with
from support.dram_runs import random_requests

MOSTLY = 0xFFFF_0FFF_FFF7_FFFF
"""The pattern of a source that is idle for a clock or four now and then."""


def small_hbm() -> MemoryPreset:
    """Two stack IDs, per-bank refresh, separate command buses; tCCD_R well beyond tCCD_S."""
    return preset_with(
        "small-hbm",
        base="hbm2-2000",
        stack_ids=2,
        bank_groups=2,
        banks_per_group=2,
        tREFI=400,
        tRFC=40,
        tRFCpb=40,
        tRREFD=8,
        tCCD_R=4,
    )


def small_ddr4() -> MemoryPreset:
    """Two ranks on one command bus; every rank switch takes longer than tCCD_S."""
    return preset_with(
        "small-ddr4",
        base="ddr4-3200",
        ranks=2,
        bank_groups=2,
        banks_per_group=2,
        tCL=14,
        tCWL=12,
        tRCD=14,
        tRCD_WR=16,
        tRP=14,
        tRAS=30,
        tRC=44,
        tWR=16,
        tRTRS=3,
        tFAW=30,
        tREFI=400,
        tRFC=40,
    )


def small_gddr6() -> MemoryPreset:
    """One command bus, per-bank refresh, and a visit gap."""
    return preset_with(
        "small-gddr6",
        base="gddr6-14000",
        bank_groups=4,
        banks_per_group=2,
        tRRD_S=4,
        tRRD_L=6,
        tREFI=640,
        tRFC=40,
        tRFCpb=40,
        tRREFD=10,
        visit_gap=3,
    )


def mixed_run(
    preset: MemoryPreset,
    requests: int,
    *,
    seed: int,
    bursts: int | None = None,
    rows: int = 1,
    patterns: DramPatterns | None = None,
    **settings,
) -> DramRun:
    """As many reads as writes at random, in few places, so that what is written is read again."""
    rng = np.random.default_rng(seed)
    reads, writes = (
        random_requests(rng, preset, requests // 2, bursts, rows=rows) for _ in range(2)
    )
    return DramRun(
        preset,
        reads,
        writes,
        FrontEndSettings(**settings),
        queue_depth=4,
        patterns=patterns or DramPatterns(),
        seed=seed,
    )


def _overdue() -> DramRun:
    """Reads of one DRAM row per bank without end, and one to a bank that nobody else wants."""
    reads = np.zeros(600, dtype=REQUESTS)
    number = np.arange(len(reads))
    reads["bank"], reads["column"], reads["bursts"] = number % 4, number // 4 % 32, 1
    reads["bank"][24] = 6
    settings = FrontEndSettings(outstanding=24, refresh_group=0, row_hits=255)
    writes = np.zeros(0, dtype=REQUESTS)
    return DramRun(small_hbm(), reads, writes, settings, queue_depth=4, seed=9)


def _overdue_row() -> DramRun:
    """Two requests or more wait at each bank but the last: its request, alone, is opened late.

    Rows are opened and closed so fast that there is always another bank to open.
    """
    preset = preset_with(
        "fast-rows",
        stack_ids=2,
        bank_groups=2,
        banks_per_group=2,
        tRCD=3,
        tRP=3,
        tRAS=7,
        tRC=10,
        tRTP=2,
        tRRD_S=2,
        tRRD_L=2,
        tFAW=8,
        tCCD_L=2,
        tCCD_R=2,
    )
    reads = np.zeros(640, dtype=REQUESTS)
    number = np.arange(len(reads))
    reads["bank"], reads["row"], reads["bursts"] = number % 7, number, 1
    reads["bank"][60] = 7
    settings = FrontEndSettings(refresh_group=0)
    writes = np.zeros(0, dtype=REQUESTS)
    return DramRun(preset, reads, writes, settings, queue_depth=4, seed=10)


def _ddr4(seed: int) -> DramRun:
    return mixed_run(
        small_ddr4(),
        60,
        seed=seed,
        outstanding=32,
        write_buffer=32,
        refresh_group=1,
        turnaround_limit=30,
        row_hits=2,
    )


def _idle() -> DramRun:
    """A trickle of reads: refresh finds both ranks idle."""
    preset = small_ddr4()
    return DramRun(
        preset,
        random_requests(np.random.default_rng(8), preset, 8, 1),
        np.zeros(0, dtype=REQUESTS),
        FrontEndSettings(refresh_group=1),
        queue_depth=4,
        patterns=DramPatterns(reads=1 << 20),
        seed=8,
    )


def _writes_alone() -> DramRun:
    """More writes than the ring of the write buffer has numbers, and queues that fill up."""
    rng = np.random.default_rng(7)
    return DramRun(
        small_hbm(),
        np.zeros(0, dtype=REQUESTS),
        random_requests(rng, small_hbm(), 150, 1, rows=1),
        FrontEndSettings(write_buffer=40, refresh_group=0, row_hits=8),
        queue_depth=4,
        seed=7,
    )


RUNS = {
    "HBM": lambda: mixed_run(
        small_hbm(),
        90,
        seed=1,
        patterns=DramPatterns(write_data=MOSTLY),
        outstanding=24,
        write_buffer=12,
        refresh_group=1,
        turnaround_limit=24,
    ),
    "HBM, per-bank refresh": lambda: mixed_run(
        small_hbm(),
        140,
        seed=2,
        bursts=1,
        patterns=DramPatterns(reads=MOSTLY, writes=0x0000_FFFF_0000_FFFF),
        outstanding=24,
        write_buffer=24,
        per_bank=True,
        turnaround_limit=40,
    ),
    "HBM, row hits": lambda: mixed_run(
        small_hbm(),
        160,
        seed=3,
        bursts=2,
        rows=2,
        outstanding=48,
        write_buffer=40,
        refresh_group=2,
        turnaround_limit=60,
        row_hits=3,
    ),
    "DDR4": lambda: _ddr4(4),
    "DDR4, nine bursts left": lambda: _ddr4(15),
    "GDDR6": lambda: mixed_run(
        small_gddr6(),
        90,
        seed=5,
        outstanding=32,
        write_buffer=32,
        per_bank=True,
        turnaround_limit=40,
    ),
    "DDR4, idle": _idle,
    "overdue": _overdue,
    "overdue row": _overdue_row,
    "writes alone": _writes_alone,
}


@cache
def run_and_golden(name: str) -> tuple[DramRun, DramResult]:
    """One of RUNS, and what it must give."""
    run = RUNS[name]()
    return run, simulate_dram(run)
