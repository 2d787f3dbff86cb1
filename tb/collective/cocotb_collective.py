"""The cocotb side of a collective simulation: starts each run and waits for its end."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge


@cocotb.test()
async def runs(dut) -> None:
    """Every run of `RECSPEED_LIMITS`, which lists their clock limits."""
    dut.enable.value = 0
    dut.load.value = 0
    dut.store.value = 0
    dut.index.value = 0
    dut.quiesce.value = int(os.environ["RECSPEED_QUIESCE"])
    dut.clk.value = 0
    Clock(dut.clk, 2, unit="ns").start()
    for index, limit in enumerate(os.environ["RECSPEED_LIMITS"].split()):
        dut.index.value = index
        dut.limit.value = int(limit)
        dut.load.value = 1
        await ClockCycles(dut.clk, 1)
        dut.load.value = 0
        await ClockCycles(dut.clk, 3)
        dut.enable.value = 1
        await RisingEdge(dut.done)
        dut.store.value = 1
        await ClockCycles(dut.clk, 1)
        dut.store.value = 0
        dut.enable.value = 0
        await ClockCycles(dut.clk, 2)
