"""cocotb test module of the channel harness: programs registers, starts, waits, reads counters.

It runs inside the simulator, and takes its plan from and leaves its outcomes in the folder that
`RECSPEED_RUNS` names.
"""

import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.handle import LogicObject
from cocotb.triggers import FallingEdge, First, RisingEdge, Timer

from recspeed.models.spec.register_map import COUNTER_BASE, Counter, Register
from recspeed.tb.simulator.plan import (
    COUNTER_STRIDE,
    PlannedRun,
    RunOutcome,
    read_plan,
    write_outcomes,
)

PERIOD_NS = 2


class Harness:
    """Drives the ports of a `ClusterHarness`. Inputs change at falling edges of the clock."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        for port in (
            dut.rst,
            dut.load,
            dut.store,
            dut.write,
            dut.address,
            dut.write_data,
            dut.index,
        ):
            port.value = 0

    async def pulse(self, port: LogicObject) -> None:
        """Hold `port` at 1 for one clock."""
        port.value = 1
        await FallingEdge(self.dut.clk)
        port.value = 0

    async def write(self, address: int, value: int) -> None:
        self.dut.address.value = address
        self.dut.write_data.value = value
        await self.pulse(self.dut.write)

    async def read(self, address: int) -> int:
        self.dut.address.value = address
        await FallingEdge(self.dut.clk)
        return self.dut.read_data.value.to_unsigned()

    async def execute(self, index: int, planned: PlannedRun) -> RunOutcome:
        """Reset, load run `index`, run it, store its outputs; returns its outcome."""
        await self.pulse(self.dut.rst)
        self.dut.index.value = index
        await self.pulse(self.dut.load)
        await FallingEdge(self.dut.clk)
        for address, value in planned.registers:
            await self.write(address, value)
        await self.write(int(Register.RUN), 1)  # the same address in every harness
        if not self.dut.done.value:
            await First(
                RisingEdge(self.dut.done), Timer(planned.cycle_limit * PERIOD_NS, unit="ns")
            )
            await FallingEdge(self.dut.clk)
        timed_out = not self.dut.done.value
        counters = [
            {
                counter: await self.read(COUNTER_BASE + number * COUNTER_STRIDE + counter.value)
                for counter in Counter
            }
            for number in range(planned.counter_sets)
        ]
        violations = self.dut.law_violations.value.to_unsigned()
        await self.pulse(self.dut.store)
        return RunOutcome(counters, violations, timed_out)


@cocotb.test()
async def execute_plan(dut: Any) -> None:
    """Execute every run of the plan; a run that the watchdog ends is the last one."""
    folder = Path(os.environ["RECSPEED_RUNS"])
    harness = Harness(dut)
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    await FallingEdge(dut.clk)
    outcomes: list[RunOutcome] = []
    for index, planned in enumerate(read_plan(folder)):
        outcomes.append(await harness.execute(index, planned))
        if outcomes[-1].timed_out:
            break
    write_outcomes(folder, outcomes)
