"""The queue between clock domains: order and depth at many ratios of the clocks."""

import gc

import pytest
from support.mutation import Mutant
from support.stream_bench import pass_through

from recspeed.rtl.generate.verilog import generate
from recspeed.rtl.lib.async_queue import AsyncQueue

DEPTH = 8


def check(periods: tuple[int, int], offer: float, accept: float) -> None:
    passage = pass_through(
        AsyncQueue(16, DEPTH, write_domain="write", read_domain="read"),
        400,
        seed=periods[0],
        offer=offer,
        accept=accept,
        periods=periods,
        domains=("write", "read"),
    )
    passage.check()
    assert len(passage.given) > 10
    assert passage.most <= DEPTH
    if accept < 0.2:
        assert passage.most == DEPTH
    if offer == accept == 1 and periods[0] >= periods[1]:
        # Nothing but the writer limits: it is never stalled.
        assert len(passage.taken) == 400


@pytest.mark.parametrize(("offer", "accept"), [(0.5, 0.5), (1, 1), (1, 0.15), (0.3, 1)])
@pytest.mark.parametrize("periods", [(10, 10), (10, 7), (7, 10), (10, 31), (31, 10)])
def test_queue_between_clocks(periods, offer, accept):
    check(periods, offer, accept)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.i.ready.eq(fifo.w_rdy)", "self.i.ready.eq(1)"),
        ("self.o.valid.eq(fifo.r_rdy)", "self.o.valid.eq(1)"),
        ("fifo.r_en.eq(self.o.ready)", "fifo.r_en.eq(1)"),
        ("depth=self.depth", "depth=self.depth // 2"),
    ],
)
def test_a_broken_queue_is_caught(old, new, monkeypatch):
    Mutant("queue", AsyncQueue, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check((10, 10), 1, 0.15)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("depth", [0, 1, 6])
def test_other_depths_are_refused(depth):
    with pytest.raises(
        ValueError, match=f"depth must be a power of two of at least 2, not {depth}"
    ):
        AsyncQueue(8, depth, write_domain="write", read_domain="read")
    gc.collect()


def test_its_module_has_both_clocks():
    text = generate(AsyncQueue(16, DEPTH, write_domain="link", read_domain="core"), "queue")
    for port in ("link_clk", "link_rst", "core_clk", "core_rst"):
        assert f"  input {port};" in text
