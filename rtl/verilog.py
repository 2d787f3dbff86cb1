"""Verilog of a component: deterministic, with the ports under their Amaranth names."""

import os

from amaranth.back import verilog
from amaranth.lib import wiring

__all__ = ["generate", "pin_yosys"]


def pin_yosys() -> None:
    """Use the pinned Yosys of the wheel: another version on PATH writes another text."""
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"


def generate(component: wiring.Component, name: str) -> str:
    """Verilog of `component` as module `name`, without source locations, the same at every call."""
    pin_yosys()
    return verilog.convert(component, name=name, strip_internal_attrs=True, emit_src=False)
