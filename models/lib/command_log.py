"""The command log of a run, gathered chunk by chunk of the clock loop."""

import numpy as np
from numpy.typing import NDArray

from recspeed.models.dram.sourced_front_end import SERVED
from recspeed.models.runs.command_log import COMMAND_LOG

CHUNK_CLOCKS = 1 << 16
"""Clocks between two returns to Python, where a run can be interrupted."""


class RunLog:
    """Buffers for the clock loop, and what it has left in them.

    Attributes
    ----------
    commands : COMMAND_LOG[2 CHUNK_CLOCKS]
        Two commands for each clock of a chunk.
    served : SERVED[2 CHUNK_CLOCKS]
        The requests of these.
    """

    def __init__(self) -> None:
        self.commands = np.zeros(2 * CHUNK_CLOCKS, dtype=COMMAND_LOG)
        self.served = np.zeros(len(self.commands), dtype=SERVED)
        self._commands: list[np.ndarray] = []
        self._served: list[NDArray[np.int32]] = []

    def keep(self, logged: int) -> None:
        """Keep the first `logged` entries of the buffers, which the next chunk overwrites."""
        self._commands.append(self.commands[:logged].copy())
        self._served.append(self.served["request"][:logged].copy())

    def until(self, done: int) -> tuple[np.ndarray, NDArray[np.int32]]:
        """What was on the bus before clock `done`: commands, numbers of their requests or -1.

        What was decided in the last clock would be on the bus when the run is done.
        """
        commands = np.concatenate(self._commands)
        before_done = commands["cycle"] < done
        return commands[before_done], np.concatenate(self._served)[before_done]
