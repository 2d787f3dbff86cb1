"""The harness of a memory channel: sources, sink, DRAM and cycle counter around it."""

from pathlib import Path

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.engine import EngineParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.registers import ADDRESS_BITS
from recspeed.rtl.chip.memory_channel import MemoryChannel
from recspeed.tb.harness.stream_law import StreamLaw

BAG_SOURCE = 0
INDEX_SOURCE = 1
POOLED_SINK = 0

PEERS = (Path(__file__).with_name("peers.sv"), Path(__file__).with_name("peers.cpp"))
"""What is compiled with every harness."""


class ChannelHarness(wiring.Component):
    """A `MemoryChannel` between DPI peers (`peers.sv`).

    Members
    -------
    address, write, write_data : In; read_data : Out
        The channel's register bus.
    load, store, index : In
        Load run number `index`, store its outputs, in this clock.
    done : Out(1)
    law_violations : Out(32)
        Violations of the stream law on the channel's three streams.

    The peers run from the clock in which register RUN is seen set until `done`. `cycle` counts from
    0 in that clock.
    """

    def __init__(self, preset: MemoryPreset, parameters: EngineParameters):
        self.preset = preset
        self.parameters = parameters
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "write": In(1),
                "write_data": In(64),
                "read_data": Out(64),
                "load": In(1),
                "store": In(1),
                "index": In(32),
                "done": Out(1),
                "law_violations": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.channel = channel = MemoryChannel(self.preset, self.parameters)
        clock = ClockSignal()
        enable = Signal()
        cycle = Signal(64)
        m.d.comb += [
            channel.address.eq(self.address),
            channel.write.eq(self.write),
            channel.write_data.eq(self.write_data),
            self.read_data.eq(channel.read_data),
            self.done.eq(channel.done),
            enable.eq(channel.running),
        ]
        with m.If(enable):
            m.d.sync += cycle.eq(cycle + 1)

        m.submodules.session = Instance(
            "recspeed_session",
            i_clk=clock,
            i_load=self.load,
            i_store=self.store,
            i_index=self.index,
        )
        common = {"i_clk": clock, "i_enable": enable, "i_cycle": cycle}
        laws = []
        for name, identity, port in (
            ("bag_source", BAG_SOURCE, channel.bags),
            ("index_source", INDEX_SOURCE, channel.indices),
        ):
            payload = Signal(len(Value.cast(port.payload)))
            m.d.comb += Value.cast(port.payload).eq(payload)
            m.submodules[name] = Instance(
                "recspeed_source",
                p_ID=identity,
                p_WIDTH=len(payload),
                o_valid=port.valid,
                i_ready=port.ready,
                o_payload=payload,
                **common,
            )
            laws.append((name, port))
        m.submodules.pooled_sink = Instance(
            "recspeed_sink",
            p_ID=POOLED_SINK,
            p_WIDTH=len(Value.cast(channel.pooled.payload)),
            i_valid=channel.pooled.valid,
            o_ready=channel.pooled.ready,
            i_payload=Value.cast(channel.pooled.payload),
            **common,
        )
        laws.append(("pooled_sink", channel.pooled))
        self._dram(m, channel, common)

        violations = []
        for name, port in laws:
            law = StreamLaw(len(Value.cast(port.payload)))
            m.submodules[f"{name}_law"] = law
            m.d.comb += [
                law.enable.eq(enable),
                law.valid.eq(port.valid),
                law.ready.eq(port.ready),
                law.payload.eq(Value.cast(port.payload)),
            ]
            violations.append(law.violations)
        m.d.comb += self.law_violations.eq(sum(violations))
        return m

    def _dram(self, m, channel, common):
        bus = channel.dram
        m.submodules.dram = Instance(
            "recspeed_dram",
            p_ID=0,
            p_TCL=self.preset.clocks.tCL,
            i_row_valid=bus.row_valid,
            i_row_refresh=bus.row_refresh,
            i_row_bank=self._extend(bus.row_bank, 8),
            i_row_address=self._extend(bus.row_address, 32),
            i_column_valid=bus.column_valid,
            i_column_precharge=bus.column_precharge,
            i_column_bank=self._extend(bus.column_bank, 8),
            i_column_address=self._extend(bus.column_address, 16),
            o_data_valid=bus.data_valid,
            o_data=bus.data,
            **common,
        )

    @staticmethod
    def _extend(value, width):
        """`value` zero-extended to `width` bits."""
        return (value | Const(0, width))[:width]
