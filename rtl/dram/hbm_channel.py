"""An HBM channel: two pseudo channels, each with its front-end, on shared command buses."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.command_bus import PSEUDO_CHANNELS, CommandBusArbiter
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.dram.front_end_ports import FrontEndPorts

__all__ = ["HbmChannel"]


class HbmChannel(wiring.Component):
    """Two `DramFrontEnd`s whose commands share one row and one column bus (docs/dram.md).

    Parameters are those of `DramFrontEnd`.

    Members
    -------
    pseudo_channels : Out(FrontEndPorts) for each pseudo channel
        What `DramFrontEnd` has, its share of the command buses excepted.

    Raises
    ------
    ValueError
        For a device of one command bus: its channels share nothing.

    Timing: as of `DramFrontEnd`; a command waits one or two clocks longer where the other pseudo
    channel's takes the bus.
    """

    def __init__(
        self,
        preset: MemoryPreset,
        *,
        tag_bits: int,
        queue_depth: int,
        maximum_outstanding: int,
        writes: bool = False,
    ):
        if preset.organization.command_bus != "separate":
            raise ValueError(f"{preset.name} has no pseudo channels that share command buses")
        self.preset = preset
        self.front_ends = [
            DramFrontEnd(
                preset,
                tag_bits=tag_bits,
                queue_depth=queue_depth,
                maximum_outstanding=maximum_outstanding,
                writes=writes,
            )
            for _ in range(PSEUDO_CHANNELS)
        ]
        ports = FrontEndPorts(preset, tag_bits, maximum_outstanding)
        super().__init__({"pseudo_channels": Out(ports).array(PSEUDO_CHANNELS)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.buses = buses = CommandBusArbiter(self.preset.organization.activate_clocks)
        for number, front_end in enumerate(self.front_ends):
            m.submodules[f"front_end_{number}"] = front_end
            wiring.connect(m, front_end.buses, buses.shares[number])
            wiring.connect(m, wiring.flipped(self.pseudo_channels[number]), front_end.ports)
        return m
