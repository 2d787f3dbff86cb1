"""A front-end whose command buses are withheld at random: legal commands, and all is served."""

from functools import cache

import numpy as np
import pytest
from support.amaranth_front_end import FrontEndOutcome, hashed_beat, simulate_front_end_in_amaranth
from support.front_end_runs import run_and_golden
from support.mutation import Mutant

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.register_map import Counter
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.tb.checkers import jedec

RUNS = ("HBM", "HBM, per-bank refresh", "HBM, row hits")
ROW = (CommandCode.ACT, CommandCode.REF, CommandCode.REFPB)
REFRESHES = (CommandCode.REF, CommandCode.REFPB)
COLUMN_READS = (CommandCode.RD, CommandCode.RDA)
COLUMN_WRITES = (CommandCode.WR, CommandCode.WRA)


@cache
def random_grants(share: float, seed: int) -> np.ndarray:
    """bool[clocks, 2]: row and column bus; 64 clocks without either now and then."""
    rng = np.random.default_rng(seed)
    grants = rng.random((50_000, 2)) < share
    for start in rng.integers(0, len(grants), 60):
        grants[start : start + 64] = False
    return grants


def simulate(run: DramRun, cycles: int, share: float, seed: int) -> FrontEndOutcome:
    """`cycles`: of the run with all grants."""
    grants = random_grants(share, seed).tolist()
    limit = int(cycles * 2 / share) + 1000
    return simulate_front_end_in_amaranth(
        run, limit=limit, grants=lambda clock: tuple(grants[clock])
    )


def places(run: DramRun, requests: np.ndarray) -> list[tuple[int, int, int]]:
    """`(bank, row, burst address)` of every burst of all requests, sorted."""
    return sorted(
        (int(request["bank"]), int(request["row"]), int(request["column"]) + burst)
        for request in requests
        for burst in range(request["bursts"])
    )


def check_served(run: DramRun, outcome: FrontEndOutcome) -> None:
    """Every burst of every request moved once, every beat and completion came once."""
    result, beats = outcome.result, run.preset.burst_clocks
    assert outcome.done
    assert outcome.data_faults == []
    log = result.commands
    for codes, requests in ((COLUMN_READS, run.reads), (COLUMN_WRITES, run.writes)):
        moved = log[np.isin(log["command"], codes)]
        found = sorted(
            zip(*(moved[name].tolist() for name in ("bank", "row", "column")), strict=True)
        )
        assert found == places(run, requests)
    assert sorted(result.written["tag"].tolist()) == list(range(len(run.writes)))
    came = sorted(
        zip(*(result.beats[name].tolist() for name in ("tag", "burst", "beat")), strict=True)
    )
    assert came == [
        (tag, burst, beat)
        for tag, request in enumerate(run.reads)
        for burst in range(request["bursts"])
        for beat in range(beats)
    ]


def check_data(run: DramRun, outcome: FrontEndOutcome) -> None:
    """Every beat is what its place held at first, or what some write put there."""
    preset, beats = run.preset, run.preset.burst_clocks
    written: dict[tuple[int, int, int, int], set[int]] = {}
    number = 0
    for request in run.writes:
        for burst in range(request["bursts"]):
            for beat in range(beats):
                place = (request["bank"], request["row"], request["column"] + burst, beat)
                written.setdefault(place, set()).add(hashed_beat(number, run.seed + 1))
                number += 1
    fresh, again = 0, 0
    for entry in outcome.result.beats:
        request = run.reads[entry["tag"]]
        column = request["column"] + entry["burst"]
        place = (request["bank"], request["row"], column, entry["beat"])
        burst = int(
            (request["row"] * preset.banks + request["bank"]) * preset.bursts_per_row + column
        )
        data = int(entry["data"][0]) | int(entry["data"][1]) << 64
        if data == hashed_beat(burst * beats + int(entry["beat"]), run.seed):
            fresh += 1
        else:
            assert data in written[place]
            again += 1
    assert fresh
    assert again


def check_grants(run: DramRun, outcome: FrontEndOutcome, grants: np.ndarray) -> None:
    """No command is decided in a clock without a grant; refreshes are counted when they are."""
    log = outcome.result.commands
    is_row = np.isin(log["command"], ROW)
    decided = log["cycle"] - 1
    assert grants[decided[is_row], 0].all()
    assert grants[decided[~is_row], 1].all()
    counters, settings = outcome.result.counters, run.settings
    refreshes = int(np.isin(log["command"], REFRESHES).sum())
    # The run may end in the clock in which one is decided that is not on the bus yet.
    assert 0 <= counters[Counter.REFRESHES] - refreshes <= 1
    report = jedec.check(run.preset, log, per_bank=settings.per_bank)
    assert report.legal, report.violations
    if not settings.per_bank:
        intervals = outcome.result.cycles // run.preset.clocks.tREFI
        assert 0 <= intervals + settings.refresh_group - refreshes <= 2 * settings.refresh_group


def check(name: str, share: float, seed: int) -> None:
    run, golden = run_and_golden(name)
    outcome = simulate(run, golden.cycles, share, seed)
    assert outcome.result.cycles > golden.cycles
    check_grants(run, outcome, random_grants(share, seed))
    check_served(run, outcome)
    check_data(run, outcome)


@pytest.mark.parametrize("share", [0.25, 0.6])
@pytest.mark.parametrize("name", RUNS)
def test_withheld_grants(name, share):
    check(name, share, seed=int(100 * share))


def test_all_grants_are_the_buses_alone():
    run, golden = run_and_golden("HBM, row hits")
    outcome = simulate_front_end_in_amaranth(
        run, limit=golden.cycles + 200, grants=lambda clock: (True, True)
    )
    assert outcome.result.commands.tolist() == golden.commands.tolist()


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        (
            "_schedule",
            "rows.slot_free.eq(~refreshes.wanted & buses.row_grant)",
            "rows.slot_free.eq(~refreshes.wanted)",
        ),
        ("_schedule", "columns.slot_free.eq(buses.burst_grant)", "columns.slot_free.eq(1)"),
        ("_refresh", "refreshes.slot_free.eq(self.buses.row_grant)", "refreshes.slot_free.eq(1)"),
        ("_drive_bus", "self.refreshes.wanted & self.buses.row_grant", "self.refreshes.wanted"),
    ],
)
@pytest.mark.parametrize("name", ["HBM", "HBM, per-bank refresh"])
def test_ignored_grants_are_caught(name, method, old, new, monkeypatch):
    Mutant("grant ignored", DramFrontEnd, method, old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check(name, 0.6, seed=60)
