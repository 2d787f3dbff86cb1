"""Verilog of a component: deterministic, with the ports under their Amaranth names."""

import os

from amaranth.back import verilog
from amaranth.lib import wiring

__all__ = ["generate"]


def generate(component: wiring.Component, name: str) -> str:
    """Verilog of `component` as module `name`, without source locations, the same at every call."""
    # The pinned Yosys of the wheel, not whichever is on PATH: another version writes another text.
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    return verilog.convert(component, name=name, strip_internal_attrs=True, emit_src=False)
