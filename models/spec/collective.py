"""Parameters of the links and the collective engine, and the constants of their formats.

The behaviour that goes with them is written down in docs/collective.md.
"""

from enum import IntEnum
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

FROZEN = ConfigDict(frozen=True, extra="forbid")

MINIMUM_CHIPS = 2
MAXIMUM_CHIPS = 16
PAYLOAD_BYTES = 64
HEADER_BYTES = 2
CRC_BYTES = 2
FLIT_BYTES = PAYLOAD_BYTES + HEADER_BYTES + CRC_BYTES
PIPELINE_ROUND_TRIP = 9
"""Clocks that the two ends of a link add to twice the wire latency until a credit returns."""
PIPELINE_REPLAY = 8
"""The same from sending a flit that is damaged on the way to sending it again."""


class Kind(IntEnum):
    """Kinds of flit."""

    IDLE = 0
    DATA = 1
    HEAD = 2
    CONTROL = 3
    INIT = 4


class Operation(IntEnum):
    """Collective operations."""

    ALL_TO_ALL = 0
    ALL_GATHER = 1
    REDUCE_SCATTER = 2
    ALL_REDUCE = 3

    @property
    def reduces(self) -> bool:
        """Whether slices are added up."""
        return self in (Operation.REDUCE_SCATTER, Operation.ALL_REDUCE)


class WireFormat(IntEnum):
    """What a reduction sends: values, or partial sums in one of two precisions."""

    FP16 = 0
    FP32 = 1
    EXACT = 2

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


def lines_of(length: int) -> int:
    """Flits (and lines of buffer) that `length` bytes take."""
    return -(-length // PAYLOAD_BYTES)


class LinkParameters(BaseModel):
    """One link: wire latency, buffers and timers, all in clocks and flits."""

    model_config = FROZEN
    latency: Annotated[int, Field(ge=1, le=4096)]
    """Clocks from the transmitter's port to the receiver's: SerDes, FEC and wire."""
    sequence_bits: Annotated[int, Field(ge=2, le=12)] = 12
    virtual_channels: Literal[1, 2] = 1
    """Each has a receive buffer and credits of its own; numbering and replay are common."""
    replay_depth: Annotated[int, Field(ge=2, le=2048)]
    """Flits sent and not acknowledged, at most."""
    receive_depth: Annotated[int, Field(ge=2, le=2048)]
    """Flits that the receive buffer of a virtual channel holds; all of them are credit."""
    report_interval: Annotated[int, Field(ge=1, le=2048)] = 96
    """Accepted or freed flits after which a CONTROL flit takes precedence over data."""
    status_interval: Annotated[int, Field(ge=4, le=4096)] = 192
    """Clocks between CONTROL flits, at most, once the link is up."""
    start_interval: Annotated[int, Field(ge=2, le=1024)] = 16
    """Clocks between INIT flits."""
    retry_limit: Annotated[int, Field(ge=1, le=255)] = 8
    """Replays without progress that take the link down."""
    full_rate: bool = True
    """Refuse buffers that are too small for one flit per clock."""

    @property
    def round_trip(self) -> int:
        """Clocks from sending a flit to using the credit that it gives back, reported at once."""
        return 2 * self.latency + PIPELINE_ROUND_TRIP

    @property
    def replay_clocks(self) -> int:
        """Clocks, and flits, that an error costs: all that was sent until the NAK came."""
        return 2 * self.latency + PIPELINE_REPLAY

    def go_back_n_share(self, error_rate: float) -> float:
        """What go-back-N leaves of the error-free throughput at an error rate per flit."""
        return 1 / (1 + error_rate * self.replay_clocks)

    @property
    def retry_timeout(self) -> int:
        """Clocks without an acknowledgement until a replay."""
        return 2 * self.latency + self.status_interval + 64

    @property
    def nak_hold(self) -> int:
        """Clocks after a NAK in which a loss asks for no other."""
        return 2 * self.latency + 16

    @property
    def silence_limit(self) -> int:
        """Clocks without a good flit that take the link down."""
        return 16 * self.status_interval

    @property
    def dead_link_clocks(self) -> int:
        """Clocks after which a chip surely names a link that died: silence, and all replays.

        The peer may still be heard while nothing reaches it; then each replay resends at most the
        whole replay buffer, its control flits included.
        """
        replay = 2 * self.replay_depth + self.retry_timeout
        return self.silence_limit + (self.retry_limit + 1) * replay + 4 * self.latency

    @model_validator(mode="after")
    def _depths(self) -> Self:
        need = self.round_trip + self.report_interval
        for name in ("replay_depth", "receive_depth"):
            depth = getattr(self, name)
            if depth & (depth - 1):
                raise ValueError(f"{name} must be a power of two (got {depth})")
            if depth > 1 << (self.sequence_bits - 1):
                raise ValueError(
                    f"{name} must be at most half the sequence numbers, "
                    f"{1 << (self.sequence_bits - 1)} (got {depth})"
                )
            if self.full_rate and depth < need:
                raise ValueError(
                    f"{name} must cover a round trip of {self.round_trip} clocks and a report "
                    f"interval of {self.report_interval}: at least {need} flits (got {depth})"
                )
        if self.silence_limit < self.latency + 2 * self.status_interval:
            raise ValueError(
                f"latency {self.latency} is too long for a status interval of "
                f"{self.status_interval}"
            )
        return self


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
