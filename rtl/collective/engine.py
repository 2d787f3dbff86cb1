"""The collective engine of a chip: descriptors in, completions out, a link to every peer."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.link import LinkParameters
from recspeed.rtl.collective.descriptor import (
    COMMON_LAYOUT,
    ERROR_BITS,
    RANK_BITS,
    ReadPort,
    WritePort,
    descriptor_layout,
)
from recspeed.rtl.collective.framing import FLIT_BITS
from recspeed.rtl.collective.link import COUNTER_LAYOUT
from recspeed.rtl.collective.local import LocalSlice
from recspeed.rtl.collective.port import CollectivePort
from recspeed.rtl.collective.reduction import Reduction
from recspeed.rtl.collective.reduction_lane import ReductionLane
from recspeed.rtl.generate.verilog import generate, without_zeros


class CollectiveEngine(wiring.Component):
    """Runs one collective at a time, all links at once.

    Members (m counts links; link m leads to rank m, or m + 1 from the own rank on)
    -------
    rank
        Own rank; constant.
    tx[m], rx[m]
        Wires.
    read[m], write[m], local_read, local_write
        To the chip's buffers.
    descriptor : stream of `descriptor_layout`
    complete
        The collective in force is complete in this clock.
    peer_idle
        Bit m: nothing is left to send to or receive from that peer.
    ready
        All links are up and nothing has failed.
    error, error_link
        `EngineError`, sticky, and the link that met it.
    counters[m] : `COUNTER_LAYOUT`

    *Timing*: docs/collective.md. *Undefined*: buffers of a descriptor in force that change, or
    that overlap.
    """

    def __init__(self, parameters: LinkParameters, chips: int) -> None:
        self._parameters = parameters
        self._links = links = chips - 1
        super().__init__(
            {
                "rank": In(RANK_BITS),
                "tx": Out(FLIT_BITS).array(links),
                "rx": In(FLIT_BITS).array(links),
                "read": Out(ReadPort()).array(links),
                "write": Out(WritePort()).array(links),
                "local_read": Out(ReadPort()),
                "local_write": Out(WritePort()),
                "descriptor": In(stream.Signature(descriptor_layout(links))),
                "complete": Out(1),
                "peer_idle": Out(links),
                "ready": Out(1),
                "error": Out(ERROR_BITS),
                "error_link": Out(RANK_BITS),
                "counters": Out(COUNTER_LAYOUT).array(links),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        launch = Signal()
        busy = Signal()
        common = Signal(COMMON_LAYOUT)
        m.submodules.local = local = LocalSlice()
        m.submodules.reduction = reduction = Reduction(self._links + 1)
        ports = [self._port(m, index, launch, common, reduction) for index in range(self._links)]

        done = local.idle & reduction.idle & self.peer_idle.all()
        m.d.comb += [
            self.peer_idle.eq(Cat(port.idle for port in ports)),
            self.ready.eq(Cat(port.up for port in ports).all() & (self.error == 0)),
            self.descriptor.ready.eq(self.ready & ~busy),
            launch.eq(self.descriptor.valid & self.descriptor.ready),
            self.complete.eq(busy & done & (self.error == 0)),
            local.launch.eq(launch),
            local.incoming.eq(self.descriptor.payload.common),
            reduction.launch.eq(launch),
            reduction.incoming.eq(self.descriptor.payload.common),
        ]
        with m.If(launch):
            m.d.sync += [busy.eq(1), common.eq(self.descriptor.payload.common)]
        with m.If(self.complete):
            m.d.sync += busy.eq(0)
        with m.If(self.error == 0):
            for index, port in reversed(list(enumerate(ports))):
                with m.If(port.error != 0):
                    m.d.sync += [self.error.eq(port.error), self.error_link.eq(index)]

        wiring.connect(m, local.read, wiring.flipped(self.local_read))
        wiring.connect(m, local.operand, reduction.operand[self._links])
        write = self.local_write
        with m.If(reduction.write.valid):
            m.d.comb += [
                write.valid.eq(1),
                write.address.eq(reduction.write.address),
                write.bytes.eq(reduction.write.bytes),
                write.data.eq(reduction.write.data),
                reduction.write.ready.eq(write.ready),
            ]
        with m.Else():
            m.d.comb += [
                write.valid.eq(local.write.valid),
                write.address.eq(local.write.address),
                write.bytes.eq(local.write.bytes),
                write.data.eq(local.write.data),
                local.write.ready.eq(write.ready),
            ]
        return m

    def _port(
        self, m: Module, index: int, launch: Signal, common: Signal, reduction: Reduction
    ) -> CollectivePort:
        """Place and connect the port of link `index`."""
        m.submodules[f"port_{index}"] = port = CollectivePort(self._parameters)
        m.d.comb += [
            self.tx[index].eq(port.tx),
            port.rx.eq(self.rx[index]),
            port.take_down.eq(self.error != 0),
            self.counters[index].eq(port.counters),
            port.launch.eq(launch),
            port.incoming.eq(self.descriptor.payload.links[index]),
            port.common.eq(common),
            port.rank.eq(self.rank),
            port.peer.eq(index + (self.rank <= index)),
            port.written.eq(reduction.written),
        ]
        wiring.connect(m, port.read, wiring.flipped(self.read[index]))
        wiring.connect(m, port.write, wiring.flipped(self.write[index]))
        wiring.connect(m, port.operand, reduction.operand[index])
        return port


def engine_verilog(parameters: LinkParameters, chips: int, *, simulation: bool = False) -> str:
    """Verilog of the engine as module `collective_engine`.

    `simulation` tells Verilator to compile the engine apart, once for all chips, and to keep ports
    and lanes as they are; without that, building a system of 16 chips takes hours.
    """
    pragmas: dict[type[wiring.Component], str] = {
        CollectiveEngine: "hier_block",
        CollectivePort: "no_inline_module",
        ReductionLane: "no_inline_module",
    }
    engine = CollectiveEngine(parameters, chips)
    text = generate(engine, "collective_engine", pragmas=pragmas if simulation else {})
    return without_zeros(text)
