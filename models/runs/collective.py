"""Collectives to run, their descriptors, and what every fidelity gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.collective import RESULT_BYTES, Operation, WireFormat
from recspeed.models.spec.link import PAYLOAD_BYTES, LinkParameters, lines_of

COUNTERS = (
    "flits_sent",
    "flits_replayed",
    "controls_sent",
    "crc_errors",
    "sequence_gaps",
    "duplicates",
    "naks_sent",
    "naks_received",
    "timeouts",
)
"""Event counters of a link end, as docs/collective.md lists them."""


def start_clock(link: LinkParameters) -> int:
    """A clock by which every link is up when all chips leave reset in clock 0."""
    return 4 * link.latency + 8 * link.start_interval


def quiesce_clocks(link: LinkParameters) -> int:
    """Clocks that a run goes on after the last completion, for acknowledgements to settle."""
    return 2 * link.latency + 2 * link.status_interval


def equal_slices(total: int, chips: int) -> NDArray[np.int64]:
    """`total` items cut into `chips` slices as equal as possible, the first ones longer."""
    return np.array([total // chips + (rank < total % chips) for rank in range(chips)], np.int64)


@dataclass(frozen=True, eq=False)
class Collective:
    """One collective operation of all chips.

    Attributes
    ----------
    lengths : int64[chips, chips]
        Bytes of message 1 from the first to the second rank, the own slice on the diagonal. For
        reductions in the wire format, and the same in every row; for all-gather the same in every
        column.
    ready_from : int64[chips]
        First clock in which each chip offers its descriptor.
    """

    operation: Operation
    lengths: NDArray[np.int64]
    ready_from: NDArray[np.int64]
    wire: WireFormat = WireFormat.FP16
    sequence: int = 0

    @property
    def chips(self) -> int:
        """Number of chips."""
        return len(self.lengths)

    @property
    def result_lengths(self) -> NDArray[np.int64]:
        """Bytes of every rank's reduced slice."""
        return self.lengths[0] // self.wire.bytes * RESULT_BYTES

    def input_blocks(self, rank: int) -> list[int]:
        """Lengths of the blocks that make up a rank's input."""
        if self.operation == Operation.ALL_GATHER:
            return [int(self.lengths[rank, rank])]
        return [int(length) for length in self.lengths[rank]]

    def output_blocks(self, rank: int) -> list[int]:
        """Lengths of the blocks that make up a rank's output."""
        if self.operation == Operation.REDUCE_SCATTER:
            return [int(self.result_lengths[rank])]
        if self.operation == Operation.ALL_REDUCE:
            return [int(length) for length in self.result_lengths]
        return [int(length) for length in self.lengths[:, rank]]


def collective(
    operation: Operation,
    bytes_per_chip: int,
    chips: int,
    *,
    wire: WireFormat = WireFormat.FP16,
    ready_from: NDArray[np.int64] | None = None,
    sequence: int = 0,
) -> Collective:
    """The operation on `bytes_per_chip` on every chip, cut as evenly as possible.

    For reductions these bytes are FP16 elements; the messages carry them in the wire format.
    """
    if operation == Operation.ALL_GATHER:
        lengths = np.full((chips, chips), bytes_per_chip, np.int64)
    elif operation == Operation.ALL_TO_ALL:
        lengths = np.tile(equal_slices(bytes_per_chip, chips), (chips, 1))
    else:
        elements = equal_slices(bytes_per_chip // RESULT_BYTES, chips)
        lengths = np.tile(elements * wire.bytes, (chips, 1))
    ready = np.zeros(chips, np.int64) if ready_from is None else ready_from
    return Collective(operation, lengths, ready, wire, sequence)


@dataclass(frozen=True)
class Descriptor:
    """What one engine is given; docs/collective.md, Engine. Per-link values are listed by rank."""

    operation: Operation
    wire: WireFormat
    sequence: int
    local_source: int
    local_bytes: int
    result: int
    result_bytes: int
    source: tuple[int, ...]
    source_bytes: tuple[int, ...]
    destination: tuple[int, ...]
    destination_bytes: tuple[int, ...]
    ready_from: int = 0


class FaultKind(IntEnum):
    """What happens to a flit: bits are flipped; it is lost; it takes the next flit's place too."""

    CORRUPT = 0
    DROP = 1
    DUPLICATE = 2


@dataclass(frozen=True)
class Fault:
    """A fault of one flit on the wire from rank `source` to rank `target`.

    `ordinal` counts the flits that are not IDLE on this wire from 0; `mask` has the bits to flip.
    """

    source: int
    target: int
    ordinal: int
    kind: FaultKind
    mask: int = 0


@dataclass(frozen=True)
class Stall:
    """Clocks in which a chip's write ports are not ready: `rate` of 256 at random, and a window."""

    rate: int = 0
    begin: int = 1 << 62
    end: int = 1 << 62


@dataclass(frozen=True, eq=False)
class CollectiveRun:
    """The input of a run.

    Attributes
    ----------
    descriptors
        Per rank, in order.
    dead
        First clock in which the wire from a rank to a rank carries nothing any more.
    limit
        Clock after which a run that has not ended is given up.
    """

    link: LinkParameters
    descriptors: Sequence[Sequence[Descriptor]]
    faults: Sequence[Fault] = ()
    dead: Mapping[tuple[int, int], int] = field(default_factory=dict)
    stalls: Mapping[int, Stall] = field(default_factory=dict)
    limit: int = 1 << 40

    @property
    def chips(self) -> int:
        """Number of chips."""
        return len(self.descriptors)


@dataclass(eq=False)
class CollectiveOutcome:
    """The outcome of a run, in clocks since reset.

    Attributes
    ----------
    starts, completions : per rank, one clock per descriptor
    peers : per rank, list of (clock, bits)
        Changes of the set of links that have nothing left to do.
    errors : per rank, (clock, code, link) or None
    counters : int64[chips, links, len(COUNTERS)]
        In clock `end`.
    end : int
        Last clock of the run; -1 when it was given up.
    violations
        What the checkers of a testbench found.
    """

    starts: list[list[int]]
    completions: list[list[int]]
    peers: list[list[tuple[int, int]]]
    errors: list[tuple[int, int, int] | None]
    counters: NDArray[np.int64]
    end: int
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the data of a run lie: buffers of 64 B lines per rank, and the outputs in them.

    `outputs[k][rank]` lists (line, bytes) of the blocks of collective k's output.
    """

    lines: list[int]
    inputs: list[list[list[tuple[int, int]]]]
    outputs: list[list[list[tuple[int, int]]]]
    descriptors: list[list[Descriptor]]

    def images(
        self,
        data: Sequence[Sequence[NDArray[np.uint8]]],
        rest: np.random.Generator | None = None,
    ) -> list[NDArray[np.uint8]]:
        """Contents of every rank's buffers when `data[k][rank]` are the inputs.

        The rest is 0, or random.
        """
        sizes = [lines * PAYLOAD_BYTES for lines in self.lines]
        images = [np.zeros(size, np.uint8) for size in sizes]
        if rest is not None:
            images = [rest.integers(0, 256, size, dtype=np.uint8) for size in sizes]
        for blocks_of_ranks, inputs in zip(self.inputs, data, strict=True):
            for image, blocks, values in zip(images, blocks_of_ranks, inputs, strict=True):
                begin = 0
                for line, length in blocks:
                    place = line * PAYLOAD_BYTES
                    image[place : place + length] = values[begin : begin + length]
                    begin += length
        return images

    def extract(self, images: Sequence[NDArray[np.uint8]]) -> list[list[NDArray[np.uint8]]]:
        """Outputs `[k][rank]` in the buffers' contents."""
        return [
            [
                np.concatenate(
                    [
                        image[line * PAYLOAD_BYTES : line * PAYLOAD_BYTES + length]
                        for line, length in blocks
                    ]
                )
                for image, blocks in zip(images, blocks_of_ranks, strict=True)
            ]
            for blocks_of_ranks in self.outputs
        ]


def lay_out(collectives: Sequence[Collective]) -> Layout:
    """Give every block lines of its own, and write the descriptors."""
    chips = collectives[0].chips
    layout = Layout([0] * chips, [], [], [[] for _ in range(chips)])

    def place(rank: int, blocks: Sequence[int]) -> list[tuple[int, int]]:
        placed = []
        for length in blocks:
            placed.append((layout.lines[rank], length))
            layout.lines[rank] += lines_of(length)
        return placed

    for item in collectives:
        inputs = [place(rank, item.input_blocks(rank)) for rank in range(chips)]
        outputs = [place(rank, item.output_blocks(rank)) for rank in range(chips)]
        layout.inputs.append(inputs)
        layout.outputs.append(outputs)
        for rank in range(chips):
            layout.descriptors[rank].append(_descriptor(item, rank, inputs[rank], outputs[rank]))
    return layout


def _descriptor(
    item: Collective,
    rank: int,
    inputs: list[tuple[int, int]],
    outputs: list[tuple[int, int]],
) -> Descriptor:
    gathers = item.operation == Operation.ALL_GATHER
    own_input = inputs[0] if gathers else inputs[rank]
    only_own = item.operation == Operation.REDUCE_SCATTER
    own_output = outputs[0] if only_own else outputs[rank]
    destinations = [(0, 0)] * item.chips if only_own else outputs
    return Descriptor(
        operation=item.operation,
        wire=item.wire,
        sequence=item.sequence,
        local_source=own_input[0],
        local_bytes=own_input[1],
        result=own_output[0],
        result_bytes=own_output[1],
        source=tuple(line for line, _ in (inputs * item.chips if gathers else inputs)),
        source_bytes=tuple(int(length) for length in item.lengths[rank]),
        destination=tuple(line for line, _ in destinations),
        destination_bytes=tuple(length for _, length in destinations),
        ready_from=int(item.ready_from[rank]),
    )
