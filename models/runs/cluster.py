"""One run of a cluster: what goes in, and what every fidelity gives back."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import Table


@dataclass(frozen=True)
class ClusterPatterns:
    """64-bit patterns of the harness: bit `t mod 64` permits an offer or a transfer."""

    bags: int = ALWAYS
    indices: int = ALWAYS
    pooled: int = ALWAYS


@dataclass(frozen=True, eq=False)
class ClusterRun:
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
    settings: ClusterSettings = field(default_factory=ClusterSettings)
    parameters: ClusterParameters = field(default_factory=ClusterParameters)
    patterns: ClusterPatterns = field(default_factory=ClusterPatterns)
    contents: tuple[NDArray[np.uint16], ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.bag_tables) != len(self.bag_lengths):
            raise ValueError("bag_tables and bag_lengths differ in length")
        if int(self.bag_lengths.sum()) != len(self.indices):
            raise ValueError("bag_lengths do not sum to the number of indices")


@dataclass(frozen=True, eq=False)
class ClusterResult:
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
