"""Parameters of a link and the constants of its formats."""

from enum import IntEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

FROZEN = ConfigDict(frozen=True, extra="forbid")


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
