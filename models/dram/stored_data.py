"""Functional model of the DRAM's data: hashed contents, and what writes leave in their place.

Source of every rule: docs/dram.md, "A run of the front-end alone", and
models/spec/hashed_contents.py.
"""

import numpy as np
from numpy.typing import NDArray

from recspeed.models.lib.hashed_contents import WORD_BYTES, hashed_words
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import DramRun

_COLUMN_COMMANDS = (CommandCode.RD, CommandCode.RDA, CommandCode.WR, CommandCode.WRA)


def returned_words(
    run: DramRun, commands: np.ndarray, served: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """What each read of the log returns: uint64[reads, words of a burst], in the log's order.

    A read sees the latest write to its burst before it in the log, else what the DRAM held.
    `served`: number of each column command's request in its list.
    """
    preset = run.preset
    column = np.flatnonzero(np.isin(commands["command"], _COLUMN_COMMANDS))
    log, number = commands[column], served[column]
    writes = np.isin(log["command"], (CommandCode.WR, CommandCode.WRA))
    place = (log["row"].astype(np.int64) * preset.banks + log["bank"]) * preset.bursts_per_row
    place += log["column"]
    source = _latest_write(place, writes)[~writes]

    burst_words = preset.burst_bytes // WORD_BYTES
    word = np.arange(burst_words)
    words = hashed_words(place[~writes][:, None] * burst_words + word, run.seed)
    written = np.flatnonzero(source >= 0)
    by = number[source[written]]
    bursts = run.writes["bursts"].astype(np.int64)
    first = np.cumsum(bursts) - bursts
    burst = first[by] + log["column"][source[written]] - run.writes["column"][by]
    words[written] = hashed_words(burst[:, None] * burst_words + word, run.seed + 1)
    return words


def _latest_write(place: NDArray[np.int64], writes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Position of the latest write to the same place before each command, or -1."""
    order = np.argsort(place, kind="stable")
    ordered = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(writes[order], ordered, -1))
    sorted_place = place[order]
    same = (latest >= 0) & (sorted_place[np.maximum(latest, 0)] == sorted_place)
    found = np.full(len(order), -1, dtype=np.int64)
    found[order[same]] = order[latest[same]]
    return found
