"""Run-time settings of a DRAM front-end."""

from typing import Annotated

from pydantic import BaseModel, Field

from recspeed.models.spec.memory import FROZEN


class FrontEndSettings(BaseModel):
    """Run-time settings of a front-end (docs/dram.md)."""

    model_config = FROZEN
    outstanding: Annotated[int, Field(ge=1, le=256)] = 64
    """Read bursts in flight at most."""
    write_buffer: Annotated[int, Field(ge=1, le=128)] = 64
    """Write bursts in the write buffer at most."""
    refresh_group: Annotated[int, Field(ge=0, le=8)] = 4
    """All-bank refreshes per group, each group ahead of time; 0 switches refresh off."""
    per_bank: bool = False
    """Per-bank refresh in place of all-bank refresh."""
    turnaround_limit: Annotated[int, Field(ge=1, le=4095)] = 256
    """Clocks after which a direction yields to the other one, if that has requests."""
    row_hits: Annotated[int, Field(ge=0, le=255)] = 0
    """Requests per activation at most; 0 closes every row after one request."""
