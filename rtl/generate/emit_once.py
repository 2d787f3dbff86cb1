"""Emit a repeated component once, and instantiate it.

Amaranth writes one Verilog module per instance of a component. A `Shared` component is left out of
that text: each use is an `Instance` of a module that `verilog_of` writes once.
"""

import re
from typing import TypeVar

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from recspeed.rtl.generate.verilog import generate

Component = TypeVar("Component", bound=wiring.Component)


def place(m: Module, name: str, component: Component, module: str | None) -> Component:
    """Make `component` submodule `name` of `m`; return what has its ports.

    With `module`, the submodule is an `Instance` of that Verilog module, and the ports returned are
    signals of `m`. `component` must use the `sync` domain (and no other) and is not elaborated.
    """
    if module is None:
        m.submodules[name] = component
        return component
    only_ports(component)
    connections: dict[str, object] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
    for path, member, value in component.signature.flatten(component):
        port = "__".join(str(part) for part in path)
        connections[("i_" if member.flow == In else "o_") + port] = value
    m.submodules[name] = Instance(module, **connections)
    return component


def only_ports(component: wiring.Component) -> None:
    """Nothing but the ports of `component` is wanted: no warning that it is never elaborated."""
    setattr(component, "_MustUse__used", True)  # noqa: B010 (a private name, mangled in a class)


def verilog_of(component: wiring.Component, module: str, *, pragma: str = "") -> str:
    """Verilog of `component` as module `module`.

    Zeros that memories would start with are left out: at one line per word they are most of the
    text, and the project's memories are never read before they are written. `pragma` is written
    into the module as a comment for Verilator.
    """
    text = generate(component, module)
    text = re.sub(r"^ +[^ ]+\[\d+\] = \d+'h0+;\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ +initial begin\n +end\n", "", text, flags=re.MULTILINE)
    if pragma:
        opening = re.compile(rf"(module {re.escape(module)}\(.*?\);\n)", re.DOTALL)
        text = opening.sub(rf"\1  /*verilator {pragma}*/\n", text, count=1)
    return text
