"""What the DRAM front-end's rules are measured by, and its run-time settings (docs/dram.md)."""

from typing import Annotated

from pydantic import BaseModel, Field

from recspeed.models.spec.memory import FROZEN
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT

MAXIMUM_BURSTS = 32
"""Bursts of one request at most: a vector of 1 KB in bursts of 32 B."""

OVERDUE = 512
"""Requests accepted after one, of its direction, from which on it goes before all others."""

FEW_DATA_CLOCKS = 32
"""Clocks of data that open requests have left, up to which an ACT goes before a burst."""

URGENT = 4
"""Per-bank refreshes owed from which on a bank is freed for one; JESD235C allows 8."""

AHEAD = 4
"""Per-bank refreshes that idle banks get ahead of their time at most; JESD235C allows 8."""

WRITE_BUFFER_BURSTS = 128
"""Bursts that the write buffer holds."""

MAXIMUM_OUTSTANDING = 256
"""Largest limit on read bursts in flight."""

MAXIMUM_TURNAROUND_LIMIT = 4095
"""Largest number of clocks after which a direction yields."""

MAXIMUM_ROW_HITS = 255
"""Largest number of requests per activation."""


class FrontEndSettings(BaseModel):
    """Run-time settings of a front-end (docs/dram.md)."""

    model_config = FROZEN
    outstanding: Annotated[int, Field(ge=1, le=MAXIMUM_OUTSTANDING)] = 64
    """Read bursts in flight at most."""
    write_buffer: Annotated[int, Field(ge=1, le=WRITE_BUFFER_BURSTS)] = 64
    """Write bursts in the write buffer at most."""
    refresh_group: Annotated[int, Field(ge=0, le=MAXIMUM_REFRESH_DEBT)] = 4
    """All-bank refreshes per group, each group ahead of time; 0 switches refresh off."""
    per_bank: bool = False
    """Per-bank refresh in place of all-bank refresh."""
    turnaround_limit: Annotated[int, Field(ge=1, le=MAXIMUM_TURNAROUND_LIMIT)] = 256
    """Clocks after which a direction yields to the other one, if that has requests."""
    row_hits: Annotated[int, Field(ge=0, le=MAXIMUM_ROW_HITS)] = 0
    """Requests per activation at most; 0 closes every row after one request."""
