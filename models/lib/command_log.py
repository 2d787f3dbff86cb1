"""The command logs of runs in lock step, gathered chunk by chunk of a clock loop."""

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.command_log import COMMAND_LOG

CHUNK_CLOCKS = 1 << 16
"""Clocks between two returns to Python, where a run can be interrupted."""

SERVED = np.dtype([("request", "<i4")])
"""Beside each entry of the log: number of a column command's request in its list; -1 of others."""


class CommandLogs:
    """Buffers for a clock loop, one row per front-end, and what it has left in them.

    Attributes
    ----------
    commands : COMMAND_LOG[front-ends, 2 CHUNK_CLOCKS]
        Two commands for each clock of a chunk.
    served : SERVED[front-ends, 2 CHUNK_CLOCKS]
        The requests of these.

    Without `wanted` there is room for the commands of one clock, and nothing is kept.
    """

    def __init__(self, front_ends: int, *, wanted: bool = True) -> None:
        entries = 2 * CHUNK_CLOCKS if wanted else 2
        self.commands = np.zeros((front_ends, entries), dtype=COMMAND_LOG)
        self.served = np.zeros((front_ends, entries), dtype=SERVED)
        self._commands: list[list[np.ndarray]] = [[] for _ in range(front_ends)]
        self._served: list[list[NDArray[np.int32]]] = [[] for _ in range(front_ends)]

    def keep(self, logged: NDArray[np.int64]) -> None:
        """Keep each row's first `logged` entries, which the next chunk overwrites."""
        for number, entries in enumerate(logged):
            self._commands[number].append(self.commands[number, :entries].copy())
            self._served[number].append(self.served["request"][number, :entries].copy())

    def until(self, number: int, done: int) -> tuple[np.ndarray, NDArray[np.int32]]:
        """What front-end `number` had on the bus before clock `done`: commands, and the numbers of
        their requests or -1.

        What was decided in the last clock would be on the bus when the run is done.
        """
        commands = np.concatenate(self._commands[number])
        before_done = commands["cycle"] < done
        return commands[before_done], np.concatenate(self._served[number])[before_done]
