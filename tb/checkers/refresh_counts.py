"""Refresh counts: enough of them, not too many ahead of time, and every bank in its round."""

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import (
    DDR4_REFRESHES_IN_TWO_INTERVALS,
    MAXIMUM_REFRESH_DEBT,
    MAXIMUM_REFRESH_INTERVAL,
)
from recspeed.tb.checkers.commands import among, rank_of, suffix
from recspeed.tb.checkers.report import JedecReport

LIMIT = f"expected at most {MAXIMUM_REFRESH_DEBT}"


def check_refresh_counts(
    preset: MemoryPreset, log: np.ndarray, report: JedecReport, *, refresh: bool, per_bank: bool
) -> None:
    """Refreshes keep up with their interval within what may be postponed or pulled in.

    Which command must keep up is the mode: REF in every rank, or REFPB (`per_bank`). The other one
    is legal besides (it refreshes more than needed) and does not count; a REF begins a new round
    of per-bank refreshes. Without `refresh` the log must hold neither.
    """
    every, single = among(log, {"REF"}), among(log, {"REFPB"})
    if not refresh:
        places = np.flatnonzero(every | single)
        report.add("refresh off", log["cycle"][places[:1]], lambda i: f"{len(places)} refreshes")
        return
    _check_rounds(preset, log[every | single], report)
    end = int(log["cycle"][-1]) if len(log) else 0
    if per_bank:
        _check_debt(log["cycle"][single], preset.per_bank_interval, end, "", report)
        return
    ranks = rank_of(preset, log)
    for rank in range(preset.organization.ranks):
        cycles = log["cycle"][every & (ranks == rank)]
        words = suffix(preset, rank)
        _check_debt(cycles, preset.clocks.tREFI, end, words, report)
        _check_spacing(preset, cycles, words, report)


def _check_debt(
    cycles: NDArray[np.int64], interval: int, end: int, words: str, report: JedecReport
) -> None:
    """One refresh per interval on average, at most eight postponed and at most eight pulled in."""
    issued_before = np.arange(len(cycles))
    ahead = issued_before + 1 - cycles // interval
    early = np.flatnonzero(ahead > MAXIMUM_REFRESH_DEBT)
    report.add(
        "refresh pulled in", cycles[early], lambda i: f"{ahead[early[i]]} ahead{words}, {LIMIT}"
    )
    moments = np.append(cycles, end)
    owed = moments // interval - np.append(issued_before, len(cycles))
    late = np.flatnonzero(owed > MAXIMUM_REFRESH_DEBT)
    report.add(
        "refresh postponed", moments[late], lambda i: f"{owed[late[i]]} owed{words}, {LIMIT}"
    )


def _check_spacing(
    preset: MemoryPreset, cycles: NDArray[np.int64], words: str, report: JedecReport
) -> None:
    """Pulling in does not lengthen the pause between two refreshes; DDR4 limits a burst too."""
    longest = MAXIMUM_REFRESH_INTERVAL * preset.clocks.tREFI
    gaps = np.diff(cycles)
    bad = np.flatnonzero(gaps > longest)
    report.add(
        "refresh interval",
        cycles[bad + 1],
        lambda i: f"{gaps[bad[i]]} clocks{words}, expected at most {longest}",
    )
    most = DDR4_REFRESHES_IN_TWO_INTERVALS
    if preset.family == "ddr4" and len(cycles) > most:
        window = 2 * preset.clocks.tREFI
        spans = cycles[most:] - cycles[:-most]
        dense = np.flatnonzero(spans < window)
        report.add(
            "refresh burst",
            cycles[most:][dense],
            lambda i: (
                f"{most + 1} refreshes in {spans[dense[i]] + 1} clocks{words}, "
                f"expected at most {most} in {window}"
            ),
        )


def _check_rounds(preset: MemoryPreset, refreshes: np.ndarray, report: JedecReport) -> None:
    """Per-bank refreshes reach every bank of a rank once before any of them twice."""
    done: list[set[int]] = [set() for _ in range(preset.organization.ranks)]
    cycles: list[int] = []
    details: list[str] = []
    single = among(refreshes, {"REFPB"}).tolist()
    for cycle, bank, one in zip(
        refreshes["cycle"].tolist(), refreshes["bank"].tolist(), single, strict=True
    ):
        rank = bank // preset.banks_per_rank
        if not one:
            done[rank].clear()
        elif bank in done[rank]:
            missing = preset.banks_per_rank - len(done[rank])
            cycles.append(cycle)
            details.append(f"bank {bank} again, while {missing} banks of the round are missing")
        else:
            done[rank].add(bank)
            if len(done[rank]) == preset.banks_per_rank:
                done[rank].clear()
    report.add("refresh round", np.array(cycles, dtype=np.int64), details.__getitem__)
