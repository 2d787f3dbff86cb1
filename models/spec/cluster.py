"""Parameters of a cluster's hardware, and the run-time settings that it is given."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from recspeed.models.spec.memory import FROZEN, MemoryPreset
from recspeed.models.spec.table import Table


class ClusterParameters(BaseModel):
    """Sizes that are fixed when the RTL is generated."""

    model_config = FROZEN
    lanes: Literal[8] = 8
    """FP16 lanes of a channel's pooling slice: one beat of 16 B per clock."""
    queue_depth: Annotated[int, Field(ge=2, le=64)] = 16
    """Requests that wait per bank."""
    accumulator_words: Annotated[int, Field(ge=64, le=4096)] = 512
    """Accumulator words of one beat (8 lanes) each, shared by the bags in flight."""
    bag_slots: Annotated[int, Field(ge=2, le=256)] = 128
    """Bags in flight at most."""
    tables: Annotated[int, Field(ge=1, le=64)] = 64
    """Table descriptors."""
    maximum_outstanding: Annotated[int, Field(ge=32, le=512)] = 256
    """Bursts in flight that the outstanding counter can hold."""

    @model_validator(mode="after")
    def _powers_of_two(self) -> Self:
        for name in ("queue_depth", "accumulator_words", "bag_slots"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two (got {value})")
        return self


class ClusterSettings(BaseModel):
    """Run-time registers that hold for a whole run."""

    model_config = FROZEN
    outstanding: Annotated[int, Field(ge=1, le=256)] = 64
    """Bursts that may be between acceptance by the front-end and their last beat."""
    refresh_group: Annotated[int, Field(ge=0, le=8)] = 4
    """All-bank refreshes issued back to back, each group ahead of time; 0 switches refresh off."""
    per_bank: bool = False
    """Per-bank refresh in place of all-bank refresh."""
    row_hits: Annotated[int, Field(ge=0, le=255)] = 0
    """Requests per activation at most; 0 closes every row after one request."""
    output: Literal["fp16", "fp32"] = "fp16"
    """Format of the pooled vectors."""


def slot_layout(
    parameters: ClusterParameters, preset: MemoryPreset, tables: tuple[Table, ...]
) -> tuple[int, int]:
    """`(slots, shift)`: bags in flight for `tables`, and log2 of the accumulator words of each."""
    words = max(table.bursts(preset) for table in tables) * preset.burst_clocks
    shift = (words - 1).bit_length()
    return min(parameters.bag_slots, parameters.accumulator_words >> shift), shift
