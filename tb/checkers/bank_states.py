"""Bank states: what a command finds open or closed."""

import numpy as np

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import AUTO_PRECHARGE, COLUMN_COMMANDS, READS
from recspeed.tb.checkers.commands import among, rank_of, suffix
from recspeed.tb.checkers.report import JedecReport


def check_bank_states(preset: MemoryPreset, log: np.ndarray, report: JedecReport) -> None:
    """ACT and REFPB find their bank closed, reads and writes its row open, REF its rank closed."""
    _check_banks(log, report)
    _check_all_bank_refresh(preset, log, report)


def _check_banks(log: np.ndarray, report: JedecReport) -> None:
    log = log[~among(log, {"REF"})]
    log = log[np.argsort(log["bank"], kind="stable")]
    count = len(log)
    numbers = np.arange(count)
    bank = log["bank"]
    opens, closes = among(log, {"ACT"}), among(log, AUTO_PRECHARGE)
    # A per-bank refresh neither opens nor closes.
    changes = np.maximum.accumulate(np.where(among(log, {"REFPB"}), -1, numbers))
    latest = np.concatenate(([-1], changes[:-1]))[:count]
    open_before = (latest >= 0) & (bank[latest] == bank) & ~closes[latest]
    wrong = np.flatnonzero(among(log, COLUMN_COMMANDS) != open_before)
    report.add(
        "bank state",
        log["cycle"][wrong],
        lambda i: (
            f"{CommandCode(int(log['command'][wrong[i]])).name} to "
            f"{'open' if open_before[wrong[i]] else 'closed'} bank {bank[wrong[i]]}"
        ),
    )
    latest_act = np.maximum.accumulate(np.where(opens, numbers, -1))
    column = among(log, COLUMN_COMMANDS) & (latest_act >= 0) & (bank[latest_act] == bank)
    other = np.flatnonzero(column & (log["row"] != log["row"][latest_act]))
    read = among(log, READS)
    report.add(
        "open row",
        log["cycle"][other],
        lambda i: (
            f"{'read' if read[other[i]] else 'write'} of row {log['row'][other[i]]} in bank "
            f"{bank[other[i]]}, open is {log['row'][latest_act[other[i]]]}"
        ),
    )


def _check_all_bank_refresh(preset: MemoryPreset, log: np.ndarray, report: JedecReport) -> None:
    refresh = among(log, {"REF"})
    if not refresh.any():
        return
    odd = np.flatnonzero(refresh & (log["bank"] % preset.banks_per_rank != 0))
    report.add(
        "REF bank",
        log["cycle"][odd],
        lambda i: f"bank {log['bank'][odd[i]]}, expected the first bank of a rank",
    )
    change = among(log, {"ACT"}).astype(np.int64) - among(log, AUTO_PRECHARGE)
    ranks = rank_of(preset, log)
    for rank in range(preset.organization.ranks):
        open_banks = np.cumsum(np.where(ranks == rank, change, 0))
        bad = np.flatnonzero(refresh & (ranks == rank) & (open_banks != 0))
        report.add(
            "bank state",
            log["cycle"][bad],
            lambda i, bad=bad, open_banks=open_banks, rank=rank: (
                f"REF with {open_banks[bad[i]]} open banks{suffix(preset, rank)}"
            ),
        )
