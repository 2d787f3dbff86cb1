"""The harness of a DRAM front-end alone: request sources, response sinks, DRAM and counters."""

from enum import IntEnum

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.dram_run import TAG_LIMIT
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.registers import ADDRESS_BITS, COUNTER_BASE, Counter
from recspeed.rtl.chip.counters import COUNTED_EVENTS, ChannelCounters
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.tb.harness.dram_peer import dram_peer
from recspeed.tb.harness.stream_law import StreamLaw

READ_SOURCE = 0
WRITE_SOURCE = 1
WRITE_BEATS = 0
RESPONSE_SINK = 0
WRITTEN_SINK = 1
TAG_BITS = (TAG_LIMIT - 1).bit_length()
MAXIMUM_OUTSTANDING = 256


class HarnessRegister(IntEnum):
    """Words of the harness's register bus (write)."""

    RUN = 0
    READ_BURSTS = 1
    """Bursts that all reads of the run have."""
    WRITES = 2
    """Writes of the run."""
    OUTSTANDING = 3
    WRITE_BUFFER = 4
    REFRESH_GROUP = 5
    PER_BANK = 6
    TURNAROUND_LIMIT = 7
    ROW_HITS = 8


class FrontEndHarness(wiring.Component):
    """A `DramFrontEnd` with writes between DPI peers; the same control ports as `ChannelHarness`.

    The peers run from the clock in which RUN is seen set until all reads and writes are complete.
    """

    def __init__(self, preset: MemoryPreset, queue_depth: int):
        self.preset = preset
        self.queue_depth = queue_depth
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
        m.submodules.front_end = front_end = DramFrontEnd(
            self.preset,
            tag_bits=TAG_BITS,
            queue_depth=self.queue_depth,
            maximum_outstanding=MAXIMUM_OUTSTANDING,
            writes=True,
        )
        m.submodules.counters = counters = ChannelCounters()
        enable = Signal()
        cycle = Signal(64)
        registers = {
            register: Signal(32, name=f"register_{register.name.lower()}")
            for register in HarnessRegister
        }
        run = registers[HarnessRegister.RUN][0]
        with m.If(self.write), m.Switch(self.address):
            for register, value in registers.items():
                with m.Case(register.value):
                    m.d.sync += value.eq(self.write_data)
        m.d.sync += self.read_data.eq(0)
        with m.Switch(self.address):
            for counter in Counter:
                with m.Case(COUNTER_BASE + counter.value):
                    m.d.sync += self.read_data.eq(counters.values[counter.value])
        with m.If(enable):
            m.d.sync += cycle.eq(cycle + 1)
        self._done(m, front_end, registers, run)
        m.d.comb += [
            enable.eq(run & ~self.done),
            front_end.run.eq(run),
            front_end.outstanding.eq(registers[HarnessRegister.OUTSTANDING]),
            front_end.write_buffer.eq(registers[HarnessRegister.WRITE_BUFFER]),
            front_end.refresh_group.eq(registers[HarnessRegister.REFRESH_GROUP]),
            front_end.per_bank.eq(registers[HarnessRegister.PER_BANK]),
            front_end.turnaround_limit.eq(registers[HarnessRegister.TURNAROUND_LIMIT]),
            front_end.row_hits.eq(registers[HarnessRegister.ROW_HITS]),
        ]
        self._count(m, front_end, counters, enable)
        self._peers(m, front_end, {"i_clk": ClockSignal(), "i_enable": enable, "i_cycle": cycle})
        return m

    def _done(self, m, front_end, registers, run):
        """Done when every read burst has come back and every write is on the bus."""
        returned = Signal(32)
        written = Signal(32)
        last_beat = front_end.response.beat == self.preset.burst_clocks - 1
        m.d.sync += [
            returned.eq(returned + (front_end.response_valid & last_beat)),
            written.eq(written + front_end.written),
        ]
        m.d.comb += self.done.eq(
            run
            & (returned == registers[HarnessRegister.READ_BURSTS])
            & (written == registers[HarnessRegister.WRITES])
        )

    @staticmethod
    def _count(m, front_end, counters, enable):
        events = {
            Counter.ACTIVATES: front_end.activate,
            Counter.READS: front_end.move_read,
            Counter.WRITES: front_end.move_write,
            Counter.REFRESHES: front_end.refresh,
        }
        m.d.comb += [
            counters.count.eq(enable),
            counters.cause.eq(front_end.cause),
            counters.request_offered.eq(front_end.reads.valid | front_end.writes.valid),
            counters.events.eq(Cat(events.get(counter, 0) for counter in COUNTED_EVENTS)),
        ]

    def _peers(self, m, front_end, common):
        """Sources and sinks on the front-end's streams, and the DRAM on its bus."""
        m.submodules.session = Instance(
            "recspeed_session",
            i_clk=ClockSignal(),
            i_load=self.load,
            i_store=self.store,
            i_index=self.index,
        )
        laws = []
        for name, identity, port in (
            ("read_source", READ_SOURCE, front_end.reads),
            ("write_source", WRITE_SOURCE, front_end.writes),
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
            laws.append((name, port))
        m.submodules.write_beats = Instance(
            "recspeed_beats",
            p_ID=WRITE_BEATS,
            o_valid=front_end.write_data.valid,
            i_ready=front_end.write_data.ready,
            o_payload=front_end.write_data.payload,
            **common,
        )
        laws.append(("write_data", front_end.write_data))
        for name, identity, valid, payload in (
            ("response_sink", RESPONSE_SINK, front_end.response_valid, front_end.response),
            ("written_sink", WRITTEN_SINK, front_end.written, front_end.written_tag),
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
        m.submodules.dram = dram_peer(self.preset, front_end.dram, common)
        violations = []
        for name, port in laws:
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
