"""Operations, formats and errors of the collective engine, and the system that it is in."""

from enum import IntEnum
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from recspeed.models.spec.link import (
    FLIT_BYTES,
    FROZEN,
    PIPELINE_ROUND_TRIP,
    LinkParameters,
)

MINIMUM_CHIPS = 2


MAXIMUM_CHIPS = 16


class Operation(IntEnum):
    """Collective operations, by the number that descriptors and HEAD flits carry."""

    ALL_TO_ALL = 0
    ALL_GATHER = 1
    REDUCE_SCATTER = 2
    ALL_REDUCE = 3

    @property
    def text(self) -> str:
        """Its name in files and results, as in `all-to-all`."""
        return self.name.lower().replace("_", "-")

    @property
    def reduces(self) -> bool:
        """Whether slices are added up."""
        return self in (Operation.REDUCE_SCATTER, Operation.ALL_REDUCE)


class WireFormat(IntEnum):
    """What a reduction sends: values, or partial sums in one of two precisions.

    By the number that descriptors and HEAD flits carry.
    """

    FP16 = 0
    FP32 = 1
    EXACT = 2

    @property
    def text(self) -> str:
        """Its name in files and on the command line, as in `fp16`."""
        return self.name.lower()

    @property
    def bytes(self) -> int:
        """Bytes of one element on the wire."""
        return (2, 4, 8)[self]


class EngineError(IntEnum):
    """Why an engine stopped."""

    NONE = 0
    LINK_DOWN = 1
    OPERATION = 2
    SEQUENCE_ID = 3
    LENGTH = 4
    FORMAT = 5
    FRAMING = 6


RESULT_BYTES = 2
"""Bytes of one element of a reduced slice, always FP16."""


EXACT_VALUE_BITS = 61
"""Bits of the two's complement integer in the `exact` wire format; unit 2^-24."""


class CollectiveParameters(BaseModel):
    """A system of chips that are linked pairwise, as configured by a user."""

    model_config = FROZEN
    chips: Annotated[int, Field(ge=MINIMUM_CHIPS, le=MAXIMUM_CHIPS)]
    chip_gigabytes_per_second: Annotated[float, Field(gt=0, le=10000)] = 1000.0
    """Raw rate of all links of a chip in one direction (the paper's Table XIV)."""
    lanes_per_chip: Annotated[int, Field(ge=1, le=1024)] = 120
    """SerDes lanes of a chip and direction; n - 1 links share them."""
    latency_nanoseconds: Annotated[float, Field(gt=0, le=1000)] = 60.0
    """SerDes, FEC and wire, one way."""
    report_interval: Annotated[int, Field(ge=1, le=1024)] = 96
    virtual_channels: Literal[1, 2] = 1

    @property
    def lane_gigabits_per_second(self) -> float:
        """Rate of one lane."""
        return self.chip_gigabytes_per_second * 8 / self.lanes_per_chip

    @property
    def clock_gigahertz(self) -> float:
        """The clock at which each link takes one flit per clock."""
        return self.chip_gigabytes_per_second / (self.chips - 1) / FLIT_BYTES

    @property
    def latency(self) -> int:
        """Wire latency in clocks, rounded up."""
        return max(1, ceil(self.latency_nanoseconds * self.clock_gigahertz - 1e-9))

    @property
    def link(self) -> LinkParameters:
        """Link parameters that keep the full rate; depths are the next powers of two."""
        need = 2 * self.latency + PIPELINE_ROUND_TRIP + self.report_interval
        depth = 1 << max(1, (need - 1).bit_length())
        return LinkParameters(
            latency=self.latency,
            replay_depth=depth,
            receive_depth=depth,
            report_interval=self.report_interval,
            virtual_channels=self.virtual_channels,
        )

    @model_validator(mode="after")
    def _link_fits(self) -> Self:
        need = 2 * self.latency + PIPELINE_ROUND_TRIP + self.report_interval
        if need > 2048:
            raise ValueError(
                f"{self.latency_nanoseconds:g} ns at {self.clock_gigahertz:.3f} GHz need buffers "
                f"of {need} flits per link, and sequence numbers allow 2048"
            )
        return self
