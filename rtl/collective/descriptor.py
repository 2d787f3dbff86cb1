"""Descriptors of the engine, the head of a message, and the ports to the chip's buffers."""

from amaranth.hdl import Const, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.collective import Operation

LINE_BITS = 26
"""Bits of an address or count in lines of 64 B."""
LENGTH_BITS = 32
"""Bits of a length in bytes."""
RANK_BITS = 4
ERROR_BITS = 3

COMMON_LAYOUT = data.StructLayout(
    {
        "operation": 4,
        "wire": 2,
        "sequence": 16,
        "local_source": LINE_BITS,
        "local_bytes": LENGTH_BITS,
        "result": LINE_BITS,
        "result_bytes": LENGTH_BITS,
    }
)
"""The part of a descriptor that all links share.

`local_bytes` is the length of the own slice as it lies in the source buffer (for reductions in the
wire format), `result_bytes` that of the copied or reduced slice.
"""

LINK_LAYOUT = data.StructLayout(
    {
        "source": LINE_BITS,
        "source_bytes": LENGTH_BITS,
        "destination": LINE_BITS,
        "destination_bytes": LENGTH_BITS,
    }
)
"""The part of a descriptor that belongs to one link."""


def descriptor_layout(links: int) -> data.StructLayout:
    """A whole descriptor of a chip with `links` links; link m leads to rank m, or m + 1 from
    the own rank on."""
    return data.StructLayout(
        {"common": COMMON_LAYOUT, "links": data.ArrayLayout(LINK_LAYOUT, links)}
    )


HEAD_LAYOUT = data.StructLayout(
    {
        "operation": 4,
        "wire": 2,
        "phase": 1,
        "zero": 1,
        "rank": 8,
        "sequence": 16,
        "length": LENGTH_BITS,
    }
)
"""First bits of the payload of a HEAD flit."""


def reduces(operation: Value) -> Value:
    """Whether an operation adds slices up."""
    return (operation == Operation.REDUCE_SCATTER) | (operation == Operation.ALL_REDUCE)


def lines(length: Value) -> Value:
    """Lines of 64 B that `length` bytes take."""
    return (length + 63)[6:LENGTH_BITS].as_unsigned()


def bytes_of_line(length: Value, last: Value) -> Value:
    """Bytes of a line of a block of `length` bytes: 64, or what is left for the `last` line."""
    tail = length[:6]
    return Mux(last & (tail != 0), tail, Const(64, 7))


class ReadPort(wiring.Signature):
    """To a buffer of 64 B lines: `data` is line `address` from the clock after `enable` until the
    clock after the next `enable`."""

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "address": Out(LINE_BITS), "data": In(512)})


class WritePort(wiring.Signature):
    """To a buffer of 64 B lines, as a stream: `bytes` (1 to 64) of `data` are written from the
    beginning of line `address` on."""

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "address": Out(LINE_BITS),
                "bytes": Out(7),
                "data": Out(512),
            }
        )


class OperandPort(wiring.Signature):
    """To the reduction: `data` is there; `take` takes it."""

    def __init__(self) -> None:
        super().__init__({"valid": Out(1), "take": In(1), "data": Out(512)})
