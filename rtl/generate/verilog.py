"""Verilog of a component: deterministic, with the ports under their Amaranth names."""

import os
import re

from amaranth.back import verilog
from amaranth.lib import wiring

__all__ = ["generate"]

EMPTY_WIRE = re.compile(r"^ *wire \[-1:0\] .*;\n", re.MULTILINE)
"""A wire for a field without bits. Nothing uses it, and as Verilog reads it, it has two bits."""


def _pin_yosys() -> None:
    """Use the pinned Yosys of the wheel: another version on PATH writes another text."""
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"


def generate(component: wiring.Component, name: str) -> str:
    """Verilog of `component` as module `name`, without source locations, the same at every call."""
    _pin_yosys()
    text = verilog.convert(component, name=name, strip_internal_attrs=True, emit_src=False)
    return EMPTY_WIRE.sub("", text)
