"""Runs a testbench on one component in Amaranth's own simulator."""

from collections.abc import Awaitable, Callable

from amaranth.hdl import Module
from amaranth.sim import Simulator


def run_bench(component, bench: Callable[..., Awaitable[None]], *, clocked: bool = True) -> None:
    """Simulate `component` until `bench(ctx)` returns; `clocked=False` for combinational ones."""
    top = Module()
    top.submodules.component = component
    simulator = Simulator(top)
    if clocked:
        simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
