"""The blocks that Verilog is generated of, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from recspeed.models.spec.address_map import DEFAULT_ADDRESS_MAP, AddressMap, address_map
from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.collective import MAXIMUM_CHIPS, CollectiveParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.cluster.cluster import Cluster
from recspeed.rtl.cluster.memory_channel import MemoryChannel
from recspeed.rtl.collective.engine import CollectiveEngine
from recspeed.rtl.dram.byte_address_map import ByteAddressMap
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.generate.emit_once import ports_of
from recspeed.rtl.generate.verilog import generate, without_zeros
from recspeed.rtl.pooling.lookup_issue import LookupIssue
from recspeed.rtl.pooling.lookup_layouts import LookupTag
from recspeed.rtl.pooling.pooling_slice import PoolingSlice

__all__ = ["BLOCKS", "Block", "Choices", "Generated", "Port"]


@dataclass(frozen=True)
class Choices:
    """What is fixed when a block is generated.

    Attributes
    ----------
    preset, parameters
        Memory device, and sizes of the pooling engine and the front-end.
    chips
        Chips of the system that the collective engine is for.
    address_map, channels
        Bit fields of the address map, and the channels that it spreads over; None: those of one HBM
        stack, GDDR6 chip or DDR4 channel.
    """

    preset: MemoryPreset
    parameters: ClusterParameters = field(default_factory=ClusterParameters)
    chips: int = MAXIMUM_CHIPS
    address_map: str = DEFAULT_ADDRESS_MAP
    channels: int | None = None

    @property
    def map(self) -> AddressMap:
        """The address map.

        Raises
        ------
        SpecificationError
            For a text that is no map of the device.
        """
        channels = self.channels or self.preset.organization.pseudo_channels_per_stack
        return address_map(self.address_map, self.preset, channels)

    @property
    def collective(self) -> CollectiveParameters:
        """Links at the paper's rate and latency."""
        return CollectiveParameters(chips=self.chips)


@dataclass(frozen=True)
class Port:
    """One port of the generated module."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class Generated:
    """A block's Verilog and its ports."""

    text: str
    ports: list[Port]


@dataclass(frozen=True)
class Block:
    """A block: what it is, how it is made, and what was fixed in making it.

    `clocked` is false for a combinational block, which has neither clock nor reset.
    """

    description: str
    make: Callable[[str, Choices], Generated]
    facts: Callable[[Choices], Mapping[str, Any]]
    clocked: bool = True


def _ports(component: wiring.Component, *, clocked: bool = True) -> list[Port]:
    """Ports of `component` in the order of its signature, clock and reset first."""
    found = [Port("clk", "input", 1), Port("rst", "input", 1)] if clocked else []
    for name, (value, direction) in ports_of(component).items():
        found.append(Port(name, direction.value, len(value)))
    return found


def _of_memory(choices: Choices) -> dict[str, Any]:
    preset = choices.preset
    return {
        "memory": preset.name,
        "clock_mhz": float(preset.clock_mhz),
        "banks": preset.banks,
        "timings_in_clocks": preset.clocks.model_dump(),
        **choices.parameters.model_dump(),
    }


def _component(
    description: str, make: Callable[[MemoryPreset, ClusterParameters], wiring.Component]
) -> Block:
    """A block that follows from memory and engine parameters."""

    def generated(name: str, choices: Choices) -> Generated:
        component = make(choices.preset, choices.parameters)
        return Generated(generate(component, name), _ports(component))

    return Block(description, generated, _of_memory)


def _front_end(preset: MemoryPreset, parameters: ClusterParameters) -> DramFrontEnd:
    return DramFrontEnd(
        preset,
        tag_bits=LookupTag(preset, parameters).size,
        queue_depth=parameters.queue_depth,
        maximum_outstanding=parameters.maximum_outstanding,
        writes=True,
    )


def _address_map(name: str, choices: Choices) -> Generated:
    component = ByteAddressMap(choices.map)
    return Generated(generate(component, name), _ports(component, clocked=False))


def _of_address_map(choices: Choices) -> dict[str, Any]:
    one = choices.map
    return {
        "memory": choices.preset.name,
        "address_map": one.text,
        "values_of_fields": dict(one.counts),
        "burst_bytes": one.burst_bytes,
        "capacity_bytes": one.capacity_bytes,
    }


def _collective_engine(name: str, choices: Choices) -> Generated:
    component = CollectiveEngine(choices.collective.link, choices.chips)
    return Generated(without_zeros(generate(component, name)), _ports(component))


def _of_collective(choices: Choices) -> dict[str, Any]:
    parameters = choices.collective
    return {
        "chips": choices.chips,
        "clock_mhz": 1000 * parameters.clock_gigahertz,
        **parameters.link.model_dump(),
    }


BLOCKS: dict[str, Block] = {
    "cluster": _component("lookup issue, one memory channel, rounding and read-out", Cluster),
    "memory_channel": _component(
        "DRAM front-end (reads), row decoder and pooling slice: requests in, exact sums out",
        MemoryChannel,
    ),
    "dram_front_end": _component("DRAM controller of one channel, reads and writes", _front_end),
    "lookup_issue": _component("bags and indices to checked read requests", LookupIssue),
    "pooling_slice": _component("exact accumulation of 8 lanes", PoolingSlice),
    "byte_address_map": Block(
        "byte address to channel, bank, row and column",
        _address_map,
        _of_address_map,
        clocked=False,
    ),
    "collective_engine": Block(
        "all-to-all, all-gather, reduce-scatter and all-reduce over a link to every chip",
        _collective_engine,
        _of_collective,
    ),
}
"""Every block, in the order in which `recspeed verilog --block all` writes them."""
