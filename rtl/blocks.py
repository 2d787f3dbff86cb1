"""The blocks that Verilog is generated of, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib import wiring

from recspeed.models.spec.engine import EngineParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.chip.memory_channel import MemoryChannel
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.pooling.lookup_issue import LookupIssue
from recspeed.rtl.pooling.pooling_slice import PoolingSlice
from recspeed.rtl.pooling.signature import LookupTag

__all__ = ["BLOCKS", "Block", "Port", "ports"]


@dataclass(frozen=True)
class Block:
    """A block: what it is, and how it is made for a memory preset."""

    description: str
    make: Callable[[MemoryPreset, EngineParameters], wiring.Component]


@dataclass(frozen=True)
class Port:
    """One port of the generated module."""

    name: str
    direction: str
    width: int


def _front_end(preset: MemoryPreset, parameters: EngineParameters) -> DramFrontEnd:
    return DramFrontEnd(
        preset,
        tag_bits=LookupTag(parameters).size,
        queue_depth=parameters.queue_depth,
        maximum_outstanding=parameters.maximum_outstanding,
    )


BLOCKS: dict[str, Block] = {
    "memory_channel": Block(
        "lookup issue, DRAM front-end and pooling slice of one pseudo channel", MemoryChannel
    ),
    "dram_front_end": Block("DRAM controller of one pseudo channel", _front_end),
    "lookup_issue": Block("bags and indices to checked read requests", LookupIssue),
    "pooling_slice": Block("exact accumulation and rounding of 8 FP16 lanes", PoolingSlice),
}
"""Every block, in the order in which `recspeed verilog --block all` writes them."""


def ports(component: wiring.Component) -> list[Port]:
    """Ports of `component` in the order of its signature, clock and reset first."""
    found = [Port("clk", "input", 1), Port("rst", "input", 1)]
    for path, member, value in component.signature.flatten(component):
        direction = "input" if member.flow is wiring.In else "output"
        found.append(Port("__".join(str(part) for part in path), direction, len(Value.cast(value))))
    return found
