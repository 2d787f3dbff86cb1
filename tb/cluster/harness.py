"""The harness of a cluster: sources, sink, DRAM and cycle counter around it."""

# As for rtl in pyproject.toml: an Amaranth component's members are unknown to checkers.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module, Signal, Value
from amaranth.lib import wiring

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.cluster.cluster import Cluster
from recspeed.rtl.cluster.pooled_beat import PooledBeat
from recspeed.rtl.generate.verilog import generate
from recspeed.rtl.pooling.lookup_layouts import Bag
from recspeed.tb.checkers.stream_law import StreamLaw
from recspeed.tb.cluster.streams import BAG_SOURCE, INDEX_SOURCE, POOLED_SINK, TOPLEVEL
from recspeed.tb.peers.dram_peer import dram_peer
from recspeed.tb.simulator.control_ports import control_ports
from recspeed.tb.simulator.design import Design
from recspeed.tb.simulator.layouts import plain_layout


class ClusterHarness(wiring.Component):
    """A `Cluster` between DPI peers (`tb/peers`), with the members of `control_ports`.

    The registers are the cluster's; the stream law is watched on its three streams.

    The peers run from the clock in which register RUN is seen set until `done`. `cycle` counts from
    0 in that clock.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.preset = preset
        self.parameters = parameters
        super().__init__(control_ports())

    def elaborate(self, platform):
        m = Module()
        m.submodules.cluster = cluster = Cluster(self.preset, self.parameters)
        clock = ClockSignal()
        enable = Signal()
        cycle = Signal(64)
        m.d.comb += [
            cluster.address.eq(self.address),
            cluster.write.eq(self.write),
            cluster.write_data.eq(self.write_data),
            self.read_data.eq(cluster.read_data),
            self.done.eq(cluster.done),
            enable.eq(cluster.running),
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
            ("bag_source", BAG_SOURCE, cluster.bags),
            ("index_source", INDEX_SOURCE, cluster.indices),
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
            p_WIDTH=len(Value.cast(cluster.pooled.payload)),
            i_valid=cluster.pooled.valid,
            o_ready=cluster.pooled.ready,
            i_payload=Value.cast(cluster.pooled.payload),
            **common,
        )
        laws.append(("pooled_sink", cluster.pooled))
        self._dram(m, cluster, common)

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

    def _dram(self, m, cluster, common):
        m.submodules.dram = dram_peer(self.preset, cluster.dram, common)


def write_design(folder: Path, preset: MemoryPreset, parameters: ClusterParameters) -> Design:
    """Leave the Verilog of a harness in `folder`."""
    source = folder / f"{TOPLEVEL}.v"
    source.write_text(generate(ClusterHarness(preset, parameters), TOPLEVEL))
    layouts = {"bags": plain_layout(Bag()), "pooled": plain_layout(PooledBeat(parameters))}
    return Design([source], layouts)
