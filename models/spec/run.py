"""One run of a memory channel: what goes in, and what every fidelity gives back."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.engine import EngineParameters, RunSettings, Table
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.registers import Counter

ALWAYS = (1 << 64) - 1
"""The pattern of a source or sink that is never idle."""


class CommandCode(IntEnum):
    """Commands of the log."""

    ACT = 0
    RD = 1
    RDA = 2
    REF = 3


COMMAND_LOG = np.dtype(
    [("cycle", "<i8"), ("row", "<u4"), ("column", "<u2"), ("bank", "u1"), ("command", "u1")]
)
"""One command: bus clock, DRAM row (of a read: the open row), burst, flat bank, `CommandCode`.

Fields that a command does not have are 0: ACT has no column, REF has none of the three. Sorted by
clock; in one clock the row command (ACT, REF) comes before the column command.
"""


@dataclass(frozen=True)
class Patterns:
    """64-bit patterns of the harness: bit `t mod 64` permits an offer or a transfer."""

    bags: int = ALWAYS
    indices: int = ALWAYS
    pooled: int = ALWAYS


@dataclass(frozen=True, eq=False)
class ChannelRun:
    """The input of a run.

    Attributes
    ----------
    bag_tables, bag_lengths : int64[bags]
        Table number and number of lookups of each bag.
    indices : int64[sum of bag_lengths]
        Row numbers, bag by bag; may be out of range.
    contents : tuple of uint16[rows, elements], or None
        Bit patterns of every table's FP16 elements; None for hashed content (`spec.content`).
    seed : int
        Seed of the hashed content.
    """

    preset: MemoryPreset
    tables: tuple[Table, ...]
    bag_tables: NDArray[np.int64]
    bag_lengths: NDArray[np.int64]
    indices: NDArray[np.int64]
    settings: RunSettings = field(default_factory=RunSettings)
    parameters: EngineParameters = field(default_factory=EngineParameters)
    patterns: Patterns = field(default_factory=Patterns)
    contents: tuple[NDArray[np.uint16], ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.bag_tables) != len(self.bag_lengths):
            raise ValueError("bag_tables and bag_lengths differ in length")
        if int(self.bag_lengths.sum()) != len(self.indices):
            raise ValueError("bag_lengths do not sum to the number of indices")


@dataclass(frozen=True, eq=False)
class ChannelResult:
    """The outcome of a run; two fidelities agree if every field does.

    Attributes
    ----------
    bag, beat : int64[beats]
        Bag and beat number of each transfer on `pooled`, in order of transfer.
    lanes : uint32[beats, 8]
        Bit patterns of the results: FP16 in the low half, or FP32.
    transfer_cycle : int64[beats]
        Clock of each transfer.
    commands : COMMAND_LOG[commands]
        The command bus. May be empty when the caller did not ask for it.
    counters : dict of Counter to int
        Every performance counter and status word.
    """

    bag: NDArray[np.int64]
    beat: NDArray[np.int64]
    lanes: NDArray[np.uint32]
    transfer_cycle: NDArray[np.int64]
    commands: np.ndarray
    counters: dict[Counter, int]

    @property
    def cycles(self) -> int:
        return self.counters[Counter.CYCLES]
