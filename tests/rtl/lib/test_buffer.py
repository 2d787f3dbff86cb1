"""Register slices: order, one clock of latency, full rate, and which paths they cut."""

import pytest
from support.amaranth_bench import run_bench
from support.mutation import Mutant
from support.stream_bench import pass_through

from recspeed.rtl.lib.buffer import Buffer, SkidBuffer

ENTRIES = {Buffer: 1, SkidBuffer: 2}


def check(kind: type) -> None:
    stuck = pass_through(kind(16), 20, seed=0, offer=1, accept=0)
    assert [clock for clock, _ in stuck.taken] == list(range(ENTRIES[kind]))
    for seed, (offer, accept) in enumerate([(0.5, 0.5), (1, 0.3), (0.3, 1), (1, 1), (0.9, 0.9)]):
        passage = pass_through(kind(16), 400, seed=seed, offer=offer, accept=accept)
        passage.check()
        assert len(passage.given) > 80
        if (offer, accept) == (1, 1):
            assert len(passage.taken) == 400
            assert all(
                given - taken == kind.latency
                for (taken, _), (given, _) in zip(passage.taken, passage.given, strict=False)
            )


def ready_follows(kind: type) -> bool:
    """Whether `i.ready` of a full buffer changes with `o.ready` in the same clock."""
    buffer = kind(16)
    found = []

    async def bench(ctx):
        ctx.set(buffer.i.valid, 1)
        for _ in range(3):
            await ctx.tick()
        before = ctx.get(buffer.i.ready)
        ctx.set(buffer.o.ready, 1)
        found.append(ctx.get(buffer.i.ready) != before)
        assert before == 0

    run_bench(buffer, bench)
    return found[0]


@pytest.mark.parametrize("kind", list(ENTRIES))
def test_buffer(kind):
    check(kind)


def test_only_the_buffer_of_two_entries_cuts_the_path_of_ready():
    assert ready_follows(Buffer)
    assert not ready_follows(SkidBuffer)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (Buffer, "~self.o.valid | self.o.ready", "self.o.ready"),
        (Buffer, "~self.o.valid | self.o.ready", "~self.o.valid"),
        (Buffer, "~self.o.valid | self.o.ready", "1"),
        (SkidBuffer, "held | self.i.valid", "self.i.valid"),
        (SkidBuffer, "[held.eq(1), spare", "[spare"),
        (SkidBuffer, "self.i.valid & ~held", "self.i.valid"),
        (SkidBuffer, "self.i.ready.eq(~held)", "self.i.ready.eq(~held & ~self.o.valid)"),
    ],
)
def test_a_broken_buffer_is_caught(kind, old, new, monkeypatch):
    Mutant("buffer", kind, "elaborate", old, new, "").inject(monkeypatch)
    with pytest.raises(AssertionError):
        check(kind)
