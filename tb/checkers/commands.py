"""Where the commands of a log go, as arrays: membership in sets of commands, and places."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset


def among(log: np.ndarray, names: Collection[str]) -> NDArray[np.bool_]:
    """bool[commands]: which commands of the log are one of `names`."""
    table = np.zeros(256, dtype=bool)
    table[[int(CommandCode[name]) for name in names]] = True
    return table[log["command"]]


def rank_of(preset: MemoryPreset, log: np.ndarray) -> NDArray[np.uint8]:
    """uint8[commands]: the rank of each command."""
    return log["bank"] // preset.banks_per_rank


def stack_of(preset: MemoryPreset, log: np.ndarray) -> NDArray[np.uint8]:
    """uint8[commands]: stack ID of each command, counted over all ranks."""
    return log["bank"] // preset.banks_per_stack


def bank_group_of(preset: MemoryPreset, log: np.ndarray) -> NDArray[np.uint8]:
    """uint8[commands]: bank group of each command, counted over all stack IDs and ranks."""
    groups = preset.organization.bank_groups
    return stack_of(preset, log) * groups + log["bank"] % groups


def suffix(preset: MemoryPreset, rank: int) -> str:
    """Words that name a rank in a violation, where the device has several."""
    return f" in rank {rank}" if preset.organization.ranks > 1 else ""
