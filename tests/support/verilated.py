"""A component compiled by Verilator into a library, driven from Python clock by clock.

It offers what the testbenches for Amaranth's own simulator use (`ctx.get`, `ctx.set`, `ctx.tick`),
so the same bench runs on both, here a hundred times faster. A design may hold switched faults
(`switched_mutants.py`): the number of one is given to each simulation.
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from amaranth.hdl import Signal, Value, ValueCastable
from amaranth.lib import wiring
from filelock import FileLock

from recspeed.rtl.generate.verilog import generate
from recspeed.tb.simulator.toolchain import cache_folder, verilator, verilator_environment

FAULT_MODULE = "recspeed_fault"
FAULT_BITS = 10
FAULT_VERILOG = f"""module {FAULT_MODULE}(output reg [{FAULT_BITS - 1}:0] number);
    import "DPI-C" function int {FAULT_MODULE}_number();
    initial number = {FAULT_BITS}'({FAULT_MODULE}_number());
endmodule
"""

VERILATE = (
    *("--cc", "--no-timing", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-O3"),
    *("-Wno-fatal", "-Wno-WIDTH", "-Wno-UNOPTFLAT", "--prefix", "Vtop", "--top-module", "top"),
)
COMPILE = ("g++", "-std=gnu++20", "-O0", "-fPIC", "-w", "-DVL_TIME_CONTEXT")

NATIVE = """#include "Vtop.h"
#include "verilated.h"

namespace {{
int fault = 0;
struct Model {{
    VerilatedContext context;
    Vtop top{{&context, "top"}};
}};
}}

extern "C" {{
int {fault}_number() {{ return fault; }}
Model *model_new(int number) {{
    fault = number;
    return new Model;
}}
void model_free(Model *model) {{
    model->top.final();
    delete model;
}}
void model_eval(Model *model) {{ model->top.eval(); }}
void model_tick(Model *model) {{
    model->top.clk = 1;
    model->top.eval();
    model->top.clk = 0;
    model->top.eval();
}}
void *model_port(Model *model, int number) {{
    switch (number) {{
{cases}
    }}
    return nullptr;
}}
}}
"""


def ports_of(component: wiring.Component) -> list[tuple[str, Signal]]:
    """Every port with at least one bit: its name in Verilog, its signal."""
    found = []
    for path, _, value in component.signature.flatten(component):
        signal = Value.cast(value)
        assert isinstance(signal, Signal)
        if len(signal):
            found.append(("__".join(str(step) for step in path), signal))
    return found


class VerilatedDesign:
    """The library of a component with a clock, built once or taken from the cache of simulators.

    Parameters
    ----------
    component : wiring.Component
        Elaborated here, so faults that are to be in it have been put in before.

    Attributes
    ----------
    component : wiring.Component
        Whose ports a bench gets and sets.
    """

    def __init__(self, component: wiring.Component):
        self.component = component
        self.ports = ports_of(component)
        verilog = generate(component, "top")
        library = ctypes.CDLL(str(_library(verilog, [name for name, _ in self.ports])))
        for name in ("new", "port"):
            getattr(library, f"model_{name}").restype = ctypes.c_void_p
        self.library = library

    def run(self, bench: Callable[["Context"], Awaitable[None]], *, fault: int = 0) -> None:
        """Await `bench(ctx)` on a new simulation, in which switched fault number `fault` is on."""
        context = Context(self, fault)
        try:
            bench(context).__await__().send(None)
        except StopIteration:
            return
        finally:
            context.close()
        raise AssertionError("the bench waits for something else than the simulation")


class Context:
    """One simulation; inputs start at their initial values, registers and memories too."""

    def __init__(self, design: VerilatedDesign, fault: int):
        self.library = design.library
        self.model = ctypes.c_void_p(self.library.model_new(fault))
        self.places: dict[int, tuple[ctypes._SimpleCData | ctypes.Array, int]] = {}
        self.dirty = True
        for number, (_, signal) in enumerate(design.ports):
            address = self.library.model_port(self.model, number)
            width = len(signal)
            self.places[id(signal)] = _storage(width).from_address(address), width
        for path, member, value in design.component.signature.flatten(design.component):
            if member.flow is wiring.In and len(Value.cast(value)):
                assert path
                self.set(value, Value.cast(value).init)

    def get(self, port):
        """The value of a port, with the combinational effect of all that was set: an int, or a
        constant of the port's layout."""
        if self.dirty:
            self.library.model_eval(self.model)
            self.dirty = False
        place, width = self.places[id(port if isinstance(port, Signal) else Value.cast(port))]
        raw = place.value if width <= 64 else int.from_bytes(bytes(place), "little")
        return raw if isinstance(port, Signal) else port.shape().from_bits(raw)

    def set(self, port, value) -> None:
        """Give an input a value: an int, or what the port's layout makes a constant of."""
        if isinstance(port, ValueCastable):
            if not isinstance(value, int):
                value = port.shape().const(value).as_bits()
            port = Value.cast(port)
        place, width = self.places[id(port)]
        if width <= 64:
            place.value = value
        else:
            size = ctypes.sizeof(place)
            ctypes.memmove(place, int(value).to_bytes(size, "little"), size)
        self.dirty = True

    async def tick(self) -> None:
        """On to the next clock."""
        if self.dirty:
            self.library.model_eval(self.model)
            self.dirty = False
        self.library.model_tick(self.model)

    def close(self) -> None:
        """Free the simulation."""
        self.library.model_free(self.model)


def _storage(width: int):
    """The C type of a port of that width."""
    for bits, kind in ((8, ctypes.c_uint8), (16, ctypes.c_uint16), (32, ctypes.c_uint32)):
        if width <= bits:
            return kind
    return ctypes.c_uint64 if width <= 64 else ctypes.c_uint32 * -(-width // 32)


def _library(verilog: str, names: Sequence[str]) -> Path:
    """The shared library of module `top` in `verilog`."""
    members = [name.replace("__", "___05F") for name in names]
    cases = "\n".join(
        f"        case {number}: return &model->top.{member};"
        for number, member in enumerate(members)
    )
    native = NATIVE.format(fault=FAULT_MODULE, cases=cases)
    parts = (verilog, native, FAULT_VERILOG, *VERILATE, *COMPILE, verilator().description)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    home = cache_folder()
    home.mkdir(parents=True, exist_ok=True)
    library = home / f"verilated-{key}.so"
    with FileLock(home / f"verilated-{key}.lock"):
        if not library.exists():
            with tempfile.TemporaryDirectory(prefix=".verilated-", dir=home) as scratch:
                folder = Path(scratch)
                (folder / "top.v").write_text(verilog)
                (folder / "fault.sv").write_text(FAULT_VERILOG)
                (folder / "model.cpp").write_text(native)
                _compile(folder).rename(library)
    return library


def _compile(folder: Path) -> Path:
    """Verilate and compile the sources in `folder`, all in one unit: its headers are read once."""
    program = verilator().program_folder / "verilator"
    _command(folder, program, *VERILATE, "-Mdir", "objects", "top.v", "fault.sv")
    include = _include()
    parts = [*sorted((folder / "objects").glob("*.cpp")), folder / "model.cpp"]
    (folder / "all.cpp").write_text("".join(f'#include "{part}"\n' for part in parts))
    folders = [f"-I{place}" for place in (folder / "objects", include, include / "vltstd")]
    runtime = _runtime(include)
    _command(folder, *COMPILE, *folders, "-shared", "-o", "library.so", "all.cpp", runtime)
    return folder / "library.so"


def _runtime(include: Path) -> Path:
    """Verilator's own part of every library, compiled once."""
    key = hashlib.sha256("\0".join((*COMPILE, verilator().description)).encode()).hexdigest()[:20]
    runtime = cache_folder() / f"verilated-runtime-{key}.o"
    with FileLock(runtime.with_suffix(".lock")):
        if not runtime.exists():
            with tempfile.TemporaryDirectory(prefix=".runtime-", dir=runtime.parent) as scratch:
                folder = Path(scratch)
                names = ("verilated.cpp", "verilated_threads.cpp")
                text = "".join(f'#include "{include / name}"\n' for name in names)
                (folder / "runtime.cpp").write_text(text)
                _command(folder, *COMPILE, f"-I{include}", "-c", "runtime.cpp")
                (folder / "runtime.o").rename(runtime)
    return runtime


def _include() -> Path:
    """The folder of Verilator's own sources."""
    root = verilator().root
    if root is None:
        program = verilator().program_folder / "verilator"
        answer = subprocess.run(
            [program, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=True
        )
        root = Path(answer.stdout.strip())
    return root / "include"


def _command(folder: Path, *words: str | Path) -> None:
    """Run a program in `folder`; it must succeed."""
    environment = dict(os.environ) | verilator_environment()
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (words[0], done.stdout[-2000:], done.stderr[-2000:])
