"""Points that do what the tests of the executors ask for."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from recspeed.scripts.measurements.point import Point


@dataclass(frozen=True)
class Measured(Point):
    """Sleeps, and leaves a file per measurement in `folder` with the process that made it.

    `deaths`: so many of its measurements kill their process.
    """

    folder: str
    number: int
    deaths: int = 0
    seconds: float = 0.0
    fault: str = ""
    simulator: str = ""

    @property
    def key(self) -> str:
        return f"point-{self.number}"

    @property
    def build(self) -> str:
        return self.simulator

    @property
    def title(self) -> str:
        return f"point {self.number}"

    def measure(self) -> dict[str, float]:
        earlier = len(list(Path(self.folder).glob(f"{self.number}-*")))
        (Path(self.folder) / f"{self.number}-{earlier}-{os.getpid()}").touch()
        time.sleep(self.seconds)
        if earlier < self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault:
            raise ValueError(self.fault)
        return {"number": self.number, "third": self.number / 3}
