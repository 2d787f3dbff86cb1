"""The arbiter against `min` over the ready requesters, in Amaranth's own simulator."""

import gc

import numpy as np
import pytest
from support.amaranth_bench import run_bench
from support.mutation import Mutant

from recspeed.rtl.lib.arbiter import OldestReady

AGE_BITS = 6


def check_arbiter(requesters: int, draws: int, order_bits: int = 0) -> None:
    """Every ready mask with ages that wrap around, in many orders."""
    arbiter = OldestReady(requesters, AGE_BITS, order_bits)
    rng = np.random.default_rng(requesters)

    async def bench(ctx):
        for draw in range(draws):
            base = (1 << AGE_BITS) - 1 - draw % 40
            offsets = rng.permutation(1 << (AGE_BITS - 1))[:requesters].tolist()
            for number, offset in enumerate(offsets):
                ctx.set(arbiter.age[number], (base + offset) % (1 << AGE_BITS))
            orders = rng.integers(0, 1 << order_bits, requesters).tolist()
            for number, order in enumerate(orders if order_bits else []):
                ctx.set(arbiter.order[number], order)
            for mask in range(1 << requesters):
                ctx.set(arbiter.ready, mask)
                ready = [number for number in range(requesters) if mask >> number & 1]
                assert ctx.get(arbiter.valid) == bool(ready)
                if ready:
                    oldest = min(ready, key=lambda number: (orders[number], offsets[number]))
                    assert ctx.get(arbiter.index) == oldest, (draw, mask, orders, offsets)
                    assert ctx.get(arbiter.grant) == 1 << oldest
                else:
                    assert ctx.get(arbiter.grant) == 0

    run_bench(arbiter, bench, clocked=False)


@pytest.mark.parametrize(("requesters", "draws"), [(2, 60), (4, 60), (8, 40)])
def test_oldest_ready(requesters, draws):
    check_arbiter(requesters, draws)


@pytest.mark.parametrize("order_bits", [1, 3])
def test_oldest_ready_of_the_smallest_order(order_bits):
    check_arbiter(8, 30, order_bits)


@pytest.mark.parametrize(
    ("old", "new"), [("order_b < order_a", "order_b <= order_a"), ("(order_b == order_a) & ", "")]
)
def test_an_arbiter_with_a_wrong_order_is_caught(old, new, monkeypatch):
    Mutant("order", OldestReady, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_arbiter(4, 60, 2)


def test_an_arbiter_without_wrap_around_is_caught(monkeypatch):
    Mutant(
        "plain comparison", OldestReady, "elaborate", "difference[-1]", "(age_b < age_a)", ""
    ).inject(monkeypatch)
    with pytest.raises(AssertionError):
        check_arbiter(4, 60)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("requesters", [0, 1, 3, 12])
def test_an_arbiter_of_another_size_is_refused(requesters):
    with pytest.raises(
        ValueError, match=f"requesters must be a power of two of at least 2, not {requesters}"
    ):
        OldestReady(requesters, AGE_BITS)
    # Amaranth warns of a component that is dropped without use: here, not in some later test.
    gc.collect()
