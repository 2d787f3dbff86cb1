"""Faults of the collective engine, all in one simulator: a number in the environment picks one.

Each fault changes a piece of a method's source; where it says ON, there is a signal that is 1 when
the fault is picked. So the system is built once, and with no fault picked it is the real one.
"""

import inspect
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from amaranth.hdl import Const, Instance, Module, Mux, Signal, Value

from recspeed.rtl.collective.engine import CollectiveEngine
from recspeed.rtl.collective.framing import Deframer
from recspeed.rtl.collective.local import LocalSlice
from recspeed.rtl.collective.port import CollectivePort
from recspeed.rtl.collective.receive_engine import ReceiveEngine
from recspeed.rtl.collective.receiver import Receiver
from recspeed.rtl.collective.reduction import Reduction
from recspeed.rtl.collective.reduction_lane import ReductionLane
from recspeed.rtl.collective.send_engine import SendEngine
from recspeed.rtl.collective.transmitter import Transmitter

VARIABLE = "RECSPEED_MUTANT"

VERILOG = """module collective_mutant(output reg [7:0] number);
    import "DPI-C" function int collective_mutant_number();
    initial number = 8'(collective_mutant_number());
endmodule
"""

NATIVE = f"""#include <cstdlib>
extern "C" int collective_mutant_number() {{
    const char *number = std::getenv("{VARIABLE}");
    return number == nullptr ? 0 : std::atoi(number);
}}
"""


@dataclass(frozen=True)
class SwitchedMutant:
    """A fault: `old` in the source of `owner.method` becomes `new`; `shows` must be reported."""

    name: str
    owner: type
    method: str
    old: str
    new: str
    shows: str


def switch(m: Module, number: int) -> Value:
    """1 when fault `number` is picked; no statement, as those may not stand between If and Elif."""
    picked = Signal(8)
    m.submodules += Instance("collective_mutant", o_number=picked)
    return picked == number


def inject_all(monkeypatch: pytest.MonkeyPatch, mutants: tuple[SwitchedMutant, ...]) -> None:
    """Put all faults in, numbered from 1, until the test module is done."""
    sources: dict[tuple[type, str], str] = {}
    for number, mutant in enumerate(mutants, 1):
        key = mutant.owner, mutant.method
        if key not in sources:
            raw = inspect.getattr_static(*key)
            sources[key] = textwrap.dedent(inspect.getsource(raw))
        count = sources[key].count(mutant.old)
        assert count == 1, f"{mutant.name}: text occurs {count}x"
        changed = mutant.new.replace("ON", f"switch(m, {number})")
        sources[key] = sources[key].replace(mutant.old, changed)
    for (owner, method), source in sources.items():
        scope = dict(vars(sys.modules[owner.__module__]), switch=switch, Mux=Mux, Const=Const)
        body = textwrap.indent(source, "    ")
        exec(compile(f"class Mutated:\n{body}", f"<{owner.__name__}.{method}>", "exec"), scope)
        monkeypatch.setattr(owner, method, inspect.getattr_static(scope["Mutated"], method))


def write_sources(folder: Path) -> list[Path]:
    """What the changed engines need besides."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "collective_mutant.sv").write_text(VERILOG)
    (folder / "collective_mutant.cpp").write_text(NATIVE)
    return [folder / "collective_mutant.sv", folder / "collective_mutant.cpp"]


COUNTS = "of rank"
OUTPUT = "output differs"

MUTANTS = (
    SwitchedMutant(
        "a replay skips its first flit", Transmitter, "_replay",
        "[cursor.eq(self.ack.ack), replaying.eq(1)]",
        "[cursor.eq(self.ack.ack + ON), replaying.eq(1)]", "flits_replayed of rank",
    ),
    SwitchedMutant(
        "a replay stops one flit early", Transmitter, "_replay",
        "replaying.eq(replaying & (new_cursor != next_))",
        "replaying.eq(replaying & ((new_cursor + ON)[: len(next_)] != next_))",
        "flits_replayed of rank",
    ),
    SwitchedMutant(
        "another flit is replayed", Transmitter, "_output",
        "read.addr.eq(cursor[:address_bits])",
        "read.addr.eq(cursor[:address_bits] ^ ON)", "a replayed flit is not the original",
    ),
    SwitchedMutant(
        "credit is ignored", Transmitter, "_credit",
        "credit.eq(available.bit_select(self.i.payload.channel, 1))",
        "credit.eq(available.bit_select(self.i.payload.channel, 1) | ON)",
        "a new flit without credit",
    ),
    SwitchedMutant(
        "both channels live on credit of the first", Transmitter, "_credit",
        "credits.limit.eq(self.ack.limit[channel])",
        "credits.limit.eq(Mux(ON, self.ack.limit[0], self.ack.limit[channel]))", COUNTS,
    ),
    SwitchedMutant(
        "the window is ignored", Transmitter, "elaborate",
        "window.eq(outstanding < p.replay_depth)",
        "window.eq((outstanding < p.replay_depth) | ON)",
        "more flits unacknowledged than the replay buffer holds",
    ),
    SwitchedMutant(
        "the timeout is a clock early", Transmitter, "_replay",
        "(timer == p.retry_timeout - 1)", "(timer == Mux(ON, p.retry_timeout - 2, "
        "p.retry_timeout - 1))", COUNTS,
    ),
    SwitchedMutant(
        "progress does not clear the count of fruitless replays", Transmitter, "_replay",
        "fruitless.eq(0)", "fruitless.eq(Mux(ON, fruitless, 0))", "errors of rank",
    ),
    SwitchedMutant(
        "status is a clock late", Transmitter, "elaborate",
        "(since_control >= p.status_interval - 1)",
        "(since_control >= Mux(ON, p.status_interval, p.status_interval - 1))", COUNTS,
    ),
    SwitchedMutant(
        "a flit after a gap is accepted", Receiver, "elaborate",
        "self.accept.eq(body & (behind == 0))",
        "self.accept.eq(body & ((behind == 0) | (ON & behind[-1])))", COUNTS,
    ),
    SwitchedMutant(
        "a duplicate is accepted", Receiver, "elaborate",
        "self.duplicate.eq(body & (behind != 0) & ~behind[-1])",
        "self.duplicate.eq(body & (behind != 0) & ~behind[-1] & ~ON)", "duplicates of rank",
    ),
    SwitchedMutant(
        "a gap asks for no replay", Receiver, "_naks",
        "(self.wrong_crc | self.gap) & ~pending", "(self.wrong_crc | (self.gap & ~ON)) & ~pending",
        "naks_sent of rank",
    ),
    SwitchedMutant(
        "a NAK may follow a clock early", Receiver, "_naks",
        "timer.eq(self._parameters.nak_hold)", "timer.eq(self._parameters.nak_hold - ON)", COUNTS,
    ),
    SwitchedMutant(
        "one flit too many is acknowledged", Receiver, "elaborate",
        "self.report.ack.eq(expected)", "self.report.ack.eq(expected + ON)",
        "a flit is acknowledged that was not received",
    ),
    SwitchedMutant(
        "one credit too many", Receiver, "_buffers",
        "self.report.limit[channel].eq(credits.limit)",
        "self.report.limit[channel].eq(credits.limit + ON)", "more credit of virtual channel",
    ),
    SwitchedMutant(
        "flits go to the buffer of the other channel", Receiver, "_buffers",
        "(self.flit.channel == channel)", "((self.flit.channel == channel) ^ ON)",
        "errors of rank",
    ),
    SwitchedMutant(
        "a wrong CRC is right", Deframer, "elaborate",
        "self.good.eq(crc.crc == 0)", "self.good.eq((crc.crc == 0) | ON)", "crc_errors of rank",
    ),
    SwitchedMutant(
        "the own slice is not copied", LocalSlice, "elaborate",
        "self.write.valid.eq(held & ~summed)", "self.write.valid.eq(held & ~summed & ~ON)", OUTPUT,
    ),
    SwitchedMutant(
        "the last line of the own slice is written whole", LocalSlice, "elaborate",
        "self.write.bytes.eq(bytes_of_line(length, left == 1))",
        "self.write.bytes.eq(bytes_of_line(length, (left == 1) & ~ON))", "is no output",
    ),
    SwitchedMutant(
        "the last line of a message is written whole", ReceiveEngine, "elaborate",
        "self.write.bytes.eq(bytes_of_line(length, left == 1))",
        "self.write.bytes.eq(bytes_of_line(length, (left == 1) & ~ON))", "is no output",
    ),
    SwitchedMutant(
        "messages begin a line late", SendEngine, "elaborate",
        "address.eq(self.incoming.source)", "address.eq(self.incoming.source + ON)", OUTPUT,
    ),
    SwitchedMutant(
        "the slice of the peer begins a line late", ReceiveEngine, "elaborate",
        "address.eq(self.incoming.destination)", "address.eq(self.incoming.destination + ON)",
        OUTPUT,
    ),
    SwitchedMutant(
        "a reduced slice is sent before it is there", SendEngine, "elaborate",
        "(index < self.written)", "((index < self.written) | ON)", COUNTS,
    ),
    SwitchedMutant(
        "a head names the next collective", SendEngine, "elaborate",
        "head.sequence.eq(self.common.sequence)", "head.sequence.eq(self.common.sequence + ON)",
        "errors of rank",
    ),
    SwitchedMutant(
        "a wrong format is taken", ReceiveEngine, "_check",
        "(head.wire != self.common.wire) |", "((head.wire != self.common.wire) & ~ON) |",
        "errors of rank",
    ),
    SwitchedMutant(
        "what overtakes is not noticed", CollectivePort, "_select",
        "receive.overtaken.eq(other.valid & ~mine.valid)",
        "receive.overtaken.eq(other.valid & ~mine.valid & ~ON)", "errors of rank",
    ),
    SwitchedMutant(
        "complete before the reduction has written", CollectiveEngine, "elaborate",
        "local.idle & reduction.idle &", "local.idle & (reduction.idle | ON) &",
        "completions of rank",
    ),
    SwitchedMutant(
        "the next collective starts a clock early", CollectiveEngine, "elaborate",
        "self.descriptor.ready.eq(self.ready & ~busy)",
        "self.descriptor.ready.eq(self.ready & (~busy | (ON & self.complete)))", "starts of rank",
    ),
    SwitchedMutant(
        "an exact partial sum loses its top bit", ReductionLane, "_decode",
        "integer.eq(operand.exact[:EXACT_VALUE_BITS].as_signed())",
        "integer.eq(Mux(ON, operand.exact[: EXACT_VALUE_BITS - 2].as_signed(), "
        "operand.exact[:EXACT_VALUE_BITS].as_signed()))", OUTPUT,
    ),
    SwitchedMutant(
        "an FP32 partial sum is read as FP16", ReductionLane, "_decode",
        "m.If(self.wire_format == WireFormat.FP32)",
        "m.If((self.wire_format == WireFormat.FP32) & ~ON)", OUTPUT,
    ),
    SwitchedMutant(
        "NaN is lost in a sum", ReductionLane, "elaborate",
        "limited.nan.eq(flags[2])", "limited.nan.eq(flags[2] & ~ON)", OUTPUT,
    ),
    SwitchedMutant(
        "a last line that is not full is not written", Reduction, "_write",
        "| (inputs == 1)", "| ((inputs == 1) & ~ON)", COUNTS,
    ),
)  # fmt: skip
