"""One bank machine: its timers from both sides, the bursts of a request, and its queues."""

from functools import cache

import pytest
from support.amaranth_bench import run_bench
from support.cluster_runs import preset_with
from support.mutation import Mutant

from recspeed.rtl.dram.bank_machine import BankMachine
from recspeed.rtl.dram.distances import Distances

DEPTH = 4


@cache
def preset():
    return preset_with("bank", tRCD=7, tRCD_WR=5, tRC=30, tRAS=18, tRP=12, tRTP=4)


def request(row: int, bursts: int, tag: int) -> dict[str, int]:
    return {"row": row, "column": 2, "bursts": bursts - 1, "tag": tag, "age": tag}


def check_visit(bursts: int, writes: bool) -> None:
    """One visit: tRCD to the first burst, the bursts in order, then the bank timer."""
    machine = BankMachine(preset(), 8, DEPTH, writes=True)
    t = Distances(preset())
    to_column = t.tRCD_WR if writes else t.tRCD
    to_activate = t.write_to_activate if writes else t.read_to_activate
    requests = machine.write_requests if writes else machine.read_requests

    async def bench(ctx):
        ctx.set(machine.open_writes, writes)
        ctx.set(machine.move_writes, writes)
        ctx.set(requests.payload, request(row=9, bursts=bursts, tag=5))
        assert ctx.get(machine.can_activate) == 0
        ctx.set(requests.valid, 1)
        await ctx.tick()
        ctx.set(requests.payload, request(row=10, bursts=1, tag=6))
        await ctx.tick()
        ctx.set(requests.valid, 0)
        assert ctx.get(machine.waiting) == ctx.get(machine.several) == 1
        assert (ctx.get(machine.can_activate), ctx.get(machine.head_row)) == (1, 9)
        ctx.set(machine.activate, 1)
        await ctx.tick()
        ctx.set(machine.activate, 0)
        assert (ctx.get(machine.active), ctx.get(machine.active_write)) == (1, writes)
        for _ in range(1, to_column):
            assert ctx.get(machine.can_move) == 0
            await ctx.tick()
        ctx.set(machine.move, 1)
        for burst in range(bursts):
            assert ctx.get(machine.can_move) == 1
            assert (ctx.get(machine.column), ctx.get(machine.burst)) == (2 + burst, burst)
            assert ctx.get(machine.left) == bursts - burst
            assert ctx.get(machine.last) == ctx.get(machine.close) == (burst == bursts - 1)
            assert ctx.get(machine.tag) == 5
            await ctx.tick()
        ctx.set(machine.move, 0)
        assert ctx.get(machine.active) == 0
        # The visit took `to_column` + `bursts` clocks since its ACT.
        blocked = max(t.row_cycle - to_column - bursts, to_activate - 1)
        for _ in range(blocked):
            assert ctx.get(machine.can_activate) == ctx.get(machine.timer_expired) == 0
            await ctx.tick()
        assert ctx.get(machine.can_activate) == ctx.get(machine.timer_expired) == 1
        assert (ctx.get(machine.head_row), ctx.get(machine.several)) == (10, 0)

    run_bench(machine, bench)


def check_visits() -> None:
    """Short and long."""
    check_visit(1, False)
    check_visit(30, False)


@pytest.mark.parametrize("writes", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("bursts", [1, 5, 30])
def test_a_visit_to_the_clock(bursts, writes):
    check_visit(bursts, writes)


def test_a_full_queue_and_what_it_holds():
    machine = BankMachine(preset(), 8, DEPTH, writes=True)

    async def bench(ctx):
        ctx.set(machine.read_requests.valid, 1)
        for number in range(DEPTH):
            assert ctx.get(machine.read_requests.ready) == 1
            ctx.set(machine.read_requests.payload, request(row=number, bursts=1, tag=number))
            await ctx.tick()
        ctx.set(machine.read_requests.valid, 0)
        assert ctx.get(machine.read_requests.ready) == 0
        assert ctx.get(machine.write_requests.ready) == 1
        assert (ctx.get(machine.waiting_read), ctx.get(machine.waiting_write)) == (1, 0)
        ctx.set(machine.open_writes, 1)
        assert ctx.get(machine.waiting) == ctx.get(machine.can_activate) == 0

    run_bench(machine, bench)


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("_timers", "t.tRCD)", "t.tRCD - 1)"),
        ("_timers", "t.tRCD)", "t.tRCD + 1)"),
        ("_timers", "row_cycle = t.row_cycle", "row_cycle = t.row_cycle - 1"),
        ("_timers", "after_read = t.read_to_activate", "after_read = t.read_to_activate + 1"),
        ("elaborate", "first_column + self.burst", "first_column"),
        ("elaborate", "self.burst == bursts", "self.burst + 1 == bursts"),
    ],
)
def test_a_wrong_machine_is_caught(method, old, new, monkeypatch):
    Mutant("machine", BankMachine, method, old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_visits()
