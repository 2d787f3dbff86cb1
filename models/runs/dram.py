"""One run of a DRAM front-end alone: requests and settings in, commands and beats back."""

from dataclasses import dataclass, field

import numpy as np

from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter

REQUESTS = np.dtype([("bank", "<i4"), ("row", "<i4"), ("column", "<i4"), ("bursts", "<i4")])
"""One request: flat bank, DRAM row, first burst, number of bursts (1 to 32, all within the row)."""


BEATS = np.dtype(
    [("cycle", "<i8"), ("tag", "<i4"), ("burst", "<i2"), ("beat", "<i2"), ("data", "<u8", (2,))]
)
"""One beat that came back: clock, tag, burst of the request, beat of it, 16 B as two words."""


WRITTEN = np.dtype([("cycle", "<i8"), ("tag", "<i4")])
"""One completed write: clock of its last beat on the bus, and its tag."""


TAG_LIMIT = 1 << 16


@dataclass(frozen=True)
class DramPatterns:
    """64-bit patterns of the sources: bit `t mod 64` permits an offer."""

    reads: int = ALWAYS
    writes: int = ALWAYS
    write_data: int = ALWAYS


@dataclass(frozen=True, eq=False)
class DramRun:
    """The input of a run; `reads` and `writes` are REQUESTS[n]."""

    preset: MemoryPreset
    reads: np.ndarray
    writes: np.ndarray
    settings: FrontEndSettings = field(default_factory=FrontEndSettings)
    queue_depth: int = 16
    patterns: DramPatterns = field(default_factory=DramPatterns)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.settings.per_bank and not self.preset.per_bank_refresh:
            raise ValueError(f"{self.preset.name} has no per-bank refresh")


@dataclass(frozen=True, eq=False)
class DramResult:
    """The outcome of a run; two fidelities agree if every field does.

    Attributes
    ----------
    commands : COMMAND_LOG[n]
    beats : BEATS[n]
        Beats of the reads, in order of return.
    written : WRITTEN[n]
        Completed writes, in order.
    counters : dict of Counter to int
        CYCLES, DATA, the idle causes, ACTIVATES, READS, WRITES, REFRESHES.
    """

    commands: np.ndarray
    beats: np.ndarray
    written: np.ndarray
    counters: dict[Counter, int]

    @property
    def cycles(self) -> int:
        return self.counters[Counter.CYCLES]
