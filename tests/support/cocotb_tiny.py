"""cocotb tests for the tests of the toolchain module; they run on `tiny` in a simulator."""

import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge


@cocotb.test()
async def counts(dut):
    """Ten clocks are counted; leaves the value of an environment variable behind."""
    Clock(dut.clk, 2, unit="ns").start()
    await RisingEdge(dut.clk)
    before = dut.count.value.to_unsigned()
    await ClockCycles(dut.clk, 10)
    assert dut.count.value.to_unsigned() == before + 10
    Path("said").write_text(os.environ.get("RECSPEED_SAY", ""))


@cocotb.test()
async def fails(dut):
    raise AssertionError(f"the count is {dut.count.value.to_unsigned()}\nand that is wrong")


@cocotb.test()
async def dies(dut):
    os._exit(3)


@cocotb.test()
async def never_ends(dut):
    """The clock runs, `never` never rises."""
    Path("pid").write_text(str(os.getpid()))
    Clock(dut.clk, 2, unit="ns").start()
    await RisingEdge(dut.never)


@cocotb.test()
async def hangs_in_python(dut):
    Path("pid").write_text(str(os.getpid()))
    while True:
        pass
