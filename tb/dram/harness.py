"""The harness of DRAM front-ends: one alone, or both of an HBM channel on its shared buses."""

# As for rtl in pyproject.toml: an Amaranth component's members are unknown to checkers.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from pathlib import Path

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Signal
from amaranth.lib import wiring

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import COUNTER_BASE, Counter
from recspeed.rtl.dram.dram_bus import ReadResponse, Request
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.dram.hbm_channel import HbmChannel
from recspeed.rtl.generate.verilog import generate
from recspeed.tb.dram.bench import FrontEndBench
from recspeed.tb.dram.streams import REGISTER_STRIDE, TAG_BITS, TOPLEVEL, HarnessRegister
from recspeed.tb.simulator.control_ports import control_ports
from recspeed.tb.simulator.design import Design
from recspeed.tb.simulator.layouts import plain_layout
from recspeed.tb.simulator.plan import COUNTER_STRIDE

MAXIMUM_OUTSTANDING = 256


class FrontEndHarness(wiring.Component):
    """`DramFrontEnd`s with writes between DPI peers, with the members of `control_ports`.

    Parameters
    ----------
    preset, queue_depth
        As for `DramFrontEnd`.
    pseudo_channels : int
        1, a front-end alone, or 2, an `HbmChannel`.

    The peers of a front-end run from the clock in which RUN is seen set until all its reads and
    writes are complete; the front-ends themselves go on until all are done. Counters are read at
    `COUNTER_BASE`, those of each further front-end `COUNTER_STRIDE` later.
    """

    def __init__(self, preset: MemoryPreset, queue_depth: int, pseudo_channels: int = 1):
        self.preset = preset
        self.queue_depth = queue_depth
        self.pseudo_channels = pseudo_channels
        super().__init__(control_ports())

    def elaborate(self, platform):
        m = Module()
        cycle = Signal(64)
        run = Signal()
        m.d.sync += self.read_data.eq(0)
        benches = [
            self._bench(m, number, ports, run, cycle)
            for number, ports in enumerate(self._front_ends(m))
        ]
        m.submodules.session = Instance(
            "recspeed_session",
            i_clk=ClockSignal(),
            i_load=self.load,
            i_store=self.store,
            i_index=self.index,
        )
        m.d.comb += [
            self.done.eq(Cat(bench.done for bench in benches).all()),
            self.law_violations.eq(sum(bench.law_violations for bench in benches)),
        ]
        with m.If(run & ~self.done):
            m.d.sync += cycle.eq(cycle + 1)
        return m

    def _front_ends(self, m):
        """The front-ends' ports."""
        sizes = {
            "tag_bits": TAG_BITS,
            "queue_depth": self.queue_depth,
            "maximum_outstanding": MAXIMUM_OUTSTANDING,
            "writes": True,
        }
        if self.pseudo_channels == 1:
            m.submodules.front_end = front_end = DramFrontEnd(self.preset, **sizes)
            return [front_end.ports]
        m.submodules.channel = channel = HbmChannel(self.preset, **sizes)
        return [channel.pseudo_channels[number] for number in range(self.pseudo_channels)]

    def _bench(self, m, number, ports, run, cycle):
        """Registers, counters and peers of front-end `number`."""
        m.submodules[f"bench_{number}"] = bench = FrontEndBench(ports, self.preset, number)
        registers = {
            register: Signal(32, name=f"register_{register.name.lower()}_{number}")
            for register in HarnessRegister
        }
        with m.If(self.write), m.Switch(self.address):
            for register, value in registers.items():
                with m.Case(number * REGISTER_STRIDE + register.value):
                    m.d.sync += value.eq(self.write_data)
        with m.Switch(self.address):
            for counter in Counter:
                with m.Case(COUNTER_BASE + number * COUNTER_STRIDE + counter.value):
                    m.d.sync += self.read_data.eq(bench.counters[counter.value])
        if number == 0:
            m.d.comb += run.eq(registers[HarnessRegister.RUN][0])
        m.d.comb += [
            bench.run.eq(run),
            bench.cycle.eq(cycle),
            bench.read_bursts.eq(registers[HarnessRegister.READ_BURSTS]),
            bench.writes.eq(registers[HarnessRegister.WRITES]),
            ports.run.eq(run),
            ports.outstanding.eq(registers[HarnessRegister.OUTSTANDING]),
            ports.write_buffer.eq(registers[HarnessRegister.WRITE_BUFFER]),
            ports.refresh_group.eq(registers[HarnessRegister.REFRESH_GROUP]),
            ports.per_bank.eq(registers[HarnessRegister.PER_BANK]),
            ports.turnaround_limit.eq(registers[HarnessRegister.TURNAROUND_LIMIT]),
            ports.row_hits.eq(registers[HarnessRegister.ROW_HITS]),
        ]
        return bench


def write_design(
    folder: Path, preset: MemoryPreset, queue_depth: int, pseudo_channels: int
) -> Design:
    """Leave the Verilog of a harness in `folder`."""
    source = folder / f"{TOPLEVEL}.v"
    source.write_text(generate(FrontEndHarness(preset, queue_depth, pseudo_channels), TOPLEVEL))
    layouts = {
        "requests": plain_layout(Request(preset, TAG_BITS)),
        "responses": plain_layout(ReadResponse(preset, TAG_BITS)),
    }
    return Design([source], layouts)
