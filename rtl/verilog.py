"""Verilog of a component: deterministic, with the ports under their Amaranth names."""

from amaranth.back import verilog
from amaranth.lib import wiring

__all__ = ["generate"]


def generate(component: wiring.Component, name: str) -> str:
    """Verilog of `component` as module `name`, without source locations, the same at every call."""
    return verilog.convert(component, name=name, strip_internal_attrs=True, emit_src=False)
