"""The queue: order, depth and clocks, of powers of two and of other depths."""

import gc

import pytest
from support.mutation import Mutant
from support.stream_bench import pass_through

from recspeed.rtl.lib.queue import Queue


def check(depth: int) -> None:
    stuck = pass_through(Queue(16, depth), 40, seed=0, offer=1, accept=0)
    assert [clock for clock, _ in stuck.taken] == list(range(depth))
    for seed, (offer, accept) in enumerate([(0.5, 0.5), (1, 0.3), (0.3, 1), (1, 1), (0.9, 0.9)]):
        passage = pass_through(Queue(16, depth), 400, seed=seed, offer=offer, accept=accept)
        passage.check()
        assert len(passage.given) > 80
        if (offer, accept) == (1, 1):
            assert len(passage.taken) == 400
            assert all(
                given - taken == Queue.latency
                for (taken, _), (given, _) in zip(passage.taken, passage.given, strict=False)
            )


@pytest.mark.parametrize("depth", [2, 3, 4, 7, 16])
def test_queue(depth):
    check(depth)


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("elaborate", "self.level != self.depth", "self.level != self.depth - 1"),
        ("elaborate", "self.i.ready.eq(self.level != self.depth)", "self.i.ready.eq(1)"),
        ("elaborate", "self.o.valid.eq(self.level != 0)", "self.o.valid.eq(self.level > 1)"),
        ("elaborate", "self.o.valid.eq(self.level != 0)", "self.o.valid.eq(self.o.ready)"),
        ("_after", "place == self.depth - 1", "place == self.depth"),
    ],
)
def test_a_broken_queue_is_caught(method, old, new, monkeypatch):
    Mutant("queue", Queue, method, old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check(3)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_a_queue_of_one_is_refused():
    with pytest.raises(ValueError, match="a queue has at least 2 entries, not 1"):
        Queue(8, 1)
    gc.collect()
