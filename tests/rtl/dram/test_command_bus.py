"""The arbiter of an HBM channel's command buses, against a model of the buses clock by clock."""

import gc

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.mutation import Mutant

from recspeed.models.spec.memory import memory_preset
from recspeed.rtl.dram.command_bus import CommandBusArbiter
from recspeed.rtl.dram.hbm_channel import HbmChannel

CLOCKS = 1500


def check_arbiter(activate_clocks: int, density: float, seed: int) -> None:
    """Random proposals; every grant against the occupancy of the buses and against fairness."""
    print(f"seed {seed}")
    arbiter = CommandBusArbiter(activate_clocks)
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int]] = []  # (clock of decision, pseudo channel)
    bursts: list[tuple[int, int]] = []

    lost = [False, False]

    def column_grant(wants: list[bool]) -> int | None:
        if all(wants):
            return 1 - bursts[-1][1] if bursts else 0
        return wants.index(True) if any(wants) else None

    def row_grant(wants: list[bool]) -> int | None:
        winner = rows[-1][1] if rows else 0
        if all(wants):
            if lost[1 - winner]:
                winner = 1 - winner
            lost[1 - winner] = True
        elif any(wants):
            winner = wants.index(True)
        else:
            return None
        lost[winner] = False
        return winner

    async def bench(ctx):
        for clock in range(CLOCKS):
            refresh = (rng.random(2) < density / 8).tolist()
            activate = [
                bool(want) and not refresh[p] for p, want in enumerate(rng.random(2) < density)
            ]
            burst = (rng.random(2) < density).tolist()
            for number, share in enumerate(arbiter.shares):
                ctx.set(share.refresh, refresh[number])
                ctx.set(share.activate, activate[number])
                ctx.set(share.burst, burst[number])
            free = [
                not any(other != p and clock - at < activate_clocks for at, other in rows[-4:])
                for p in range(2)
            ]
            wants = [refresh[p] or (activate[p] and free[p]) for p in range(2)]
            row, column = row_grant(wants), column_grant(burst)
            for number, share in enumerate(arbiter.shares):
                granted = refresh[number] or activate[number]
                assert ctx.get(share.row_grant) * granted == (row == number), clock
                assert ctx.get(share.burst_grant) * burst[number] == (column == number), clock
            if row is not None:
                rows.append((clock, row))
            if column is not None:
                bursts.append((clock, column))
            await ctx.tick()

    run_bench(arbiter, bench)
    assert len(rows) > CLOCKS * density / 4


@pytest.mark.parametrize("activate_clocks", [1, 2, 3])
@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
def test_arbiter(activate_clocks, density):
    check_arbiter(activate_clocks, density, seed=activate_clocks)


MUTANTS = (
    Mutant(
        "ACT overlaps",
        CommandBusArbiter,
        "elaborate",
        "share.refresh | (share.activate & ~held)",
        "share.refresh | share.activate",
        "",
    ),
    Mutant(
        "one clock too few",
        CommandBusArbiter,
        "_blocked",
        "range(1, self.activate_clocks)",
        "range(1, self.activate_clocks - 1)",
        "",
    ),
    Mutant(
        "own commands block",
        CommandBusArbiter,
        "_blocked",
        "registered[1 - number]",
        "registered[number]",
        "",
    ),
    Mutant(
        "the same one goes first always",
        CommandBusArbiter,
        "_grant_column",
        "Mux(latest, 0b01, 0b10)",
        "0b01",
        "",
    ),
    Mutant(
        "both at once", CommandBusArbiter, "_grant_column", "Mux(latest, 0b01, 0b10)", "0b11", ""
    ),
    Mutant(
        "row bus kept for good", CommandBusArbiter, "_grant_row", "~lost[0], lost[1]", "1, 0", ""
    ),
    Mutant("row bus never kept", CommandBusArbiter, "_grant_row", "~lost[0], lost[1]", "0, 1", ""),
    Mutant("loss not forgotten", CommandBusArbiter, "_grant_row", ") & ~granted)", "))", ""),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_arbiter_is_caught(mutant, monkeypatch):
    mutant.inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_arbiter(2, 0.5, seed=2)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_devices_of_one_command_bus_have_no_pseudo_channels():
    with pytest.raises(
        ValueError, match=r"^gddr6-14000 has no pseudo channels that share command buses$"
    ):
        HbmChannel(memory_preset("gddr6-14000"), tag_bits=4, queue_depth=4, maximum_outstanding=16)
    gc.collect()
