"""What surrounds one front-end in a simulation: sources, sinks, DRAM, counters."""

# As for rtl in pyproject.toml: an Amaranth component's members are unknown to checkers.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.rtl.cluster.counters import COUNTED_EVENTS, ClusterCounters
from recspeed.tb.checkers.stream_law import StreamLaw
from recspeed.tb.dram.streams import read_source, response_sink, write_source, written_sink
from recspeed.tb.peers.dram_peer import dram_peer


class FrontEndBench(wiring.Component):
    """DPI peers and counters on the ports of a front-end, from `run` until it is done.

    Parameters
    ----------
    ports
        An interface of `FrontEndPorts`; its streams and its DRAM bus are driven here.
    preset : MemoryPreset
    number : int
        Of the front-end: peers of the DRAM and of the write data have it, the others follow from
        it.

    Members
    -------
    run : In(1), cycle : In(64)
    read_bursts, writes : In(32)
        Bursts that all reads have; writes. With as many complete the front-end is done.
    done : Out(1)
    counters : Out(64) for each Counter
    law_violations : Out(32)
    """

    def __init__(self, ports, preset: MemoryPreset, number: int):
        self.ports = ports
        self.preset = preset
        self.number = number
        super().__init__(
            {
                "run": In(1),
                "cycle": In(64),
                "read_bursts": In(32),
                "writes": In(32),
                "done": Out(1),
                "counters": Out(64).array(len(Counter)),
                "law_violations": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        enable = Signal()
        self._done(m)
        m.d.comb += enable.eq(self.run & ~self.done)
        self._count(m, enable)
        common = {"i_clk": ClockSignal(), "i_enable": enable, "i_cycle": self.cycle}
        self._sources(m, common)
        self._sinks(m, common)
        m.submodules.dram = dram_peer(self.preset, self.ports.dram, common, self.number)
        return m

    def _done(self, m):
        """Done when every read burst has come back and every write is on the bus."""
        returned = Signal(32)
        written = Signal(32)
        last_beat = self.ports.response.beat == self.preset.burst_clocks - 1
        m.d.sync += [
            returned.eq(returned + (self.ports.response_valid & last_beat)),
            written.eq(written + self.ports.written),
        ]
        m.d.comb += self.done.eq(
            self.run & (returned == self.read_bursts) & (written == self.writes)
        )

    def _count(self, m, enable):
        ports = self.ports
        m.submodules.channel_counters = counters = ClusterCounters()
        events = {
            Counter.ACTIVATES: ports.activate,
            Counter.READS: ports.move_read,
            Counter.WRITES: ports.move_write,
            Counter.REFRESHES: ports.refresh,
        }
        m.d.comb += [
            counters.count.eq(enable),
            counters.cause.eq(ports.cause),
            counters.request_offered.eq(ports.reads.valid | ports.writes.valid),
            counters.events.eq(Cat(events.get(counter, 0) for counter in COUNTED_EVENTS)),
        ]
        for counter in Counter:
            m.d.comb += self.counters[counter.value].eq(counters.values[counter.value])

    def _sources(self, m, common):
        """Requests and write data, each watched by the stream law."""
        ports = self.ports
        for name, identity, port in (
            ("read_source", read_source(self.number), ports.reads),
            ("write_source", write_source(self.number), ports.writes),
        ):
            payload = Signal(len(Value.cast(port.payload)), name=f"{name}_payload")
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
        m.submodules.write_beats = Instance(
            "recspeed_beats",
            p_ID=self.number,
            o_valid=ports.write_data.valid,
            i_ready=ports.write_data.ready,
            o_payload=ports.write_data.payload,
            **common,
        )
        violations = []
        for name, port in (
            ("reads", ports.reads),
            ("writes", ports.writes),
            ("write_data", ports.write_data),
        ):
            law = StreamLaw(len(Value.cast(port.payload)))
            m.submodules[f"{name}_law"] = law
            m.d.comb += [
                law.enable.eq(common["i_enable"]),
                law.valid.eq(port.valid),
                law.ready.eq(port.ready),
                law.payload.eq(Value.cast(port.payload)),
            ]
            violations.append(law.violations)
        m.d.comb += self.law_violations.eq(sum(violations))

    def _sinks(self, m, common):
        ports = self.ports
        for name, identity, valid, payload in (
            ("response_sink", response_sink(self.number), ports.response_valid, ports.response),
            ("written_sink", written_sink(self.number), ports.written, ports.written_tag),
        ):
            item = Value.cast(payload)
            m.submodules[name] = Instance(
                "recspeed_sink",
                p_ID=identity,
                p_WIDTH=len(item),
                i_valid=valid,
                i_payload=item,
                **common,
            )
