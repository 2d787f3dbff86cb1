"""Drives a part between two streams at random, and holds what comes out against what went in."""

from dataclasses import dataclass, field

import numpy as np
from amaranth.hdl import Module
from amaranth.sim import Simulator


@dataclass
class Passage:
    """What passed.

    Attributes
    ----------
    taken, given : list of (int, int)
        Clock and payload of every transfer at `i` and at `o`, each by its own clock.
    most : int
        Most entries that were inside at once.
    """

    taken: list[tuple[int, int]] = field(default_factory=list)
    given: list[tuple[int, int]] = field(default_factory=list)
    most: int = 0

    def check(self) -> None:
        """All that went in came out in order, but what may be inside at the end."""
        sent = [value for _, value in self.taken]
        got = [value for _, value in self.given]
        assert got == sent[: len(got)]
        assert len(sent) - len(got) <= self.most


def pass_through(
    part,
    clocks: int,
    *,
    seed: int,
    offer: float = 0.5,
    accept: float = 0.5,
    periods: tuple[int, int] = (10, 10),
    domains: tuple[str, str] = ("sync", "sync"),
) -> Passage:
    """Offer and accept in these shares of `clocks`; `o` must keep the law of streams."""
    passage = Passage()
    top = Module()
    top.submodules.part = part
    simulator = Simulator(top)
    for domain, period, phase in dict(
        zip(domains, zip(domains, periods, (0, 3), strict=True), strict=True)
    ).values():
        simulator.add_clock(period * 1e-9, domain=domain, phase=phase * 1e-9)
    source, sink = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    over = [False]

    async def give(ctx):
        held = False
        for clock in range(clocks):
            if not held and source.random() < offer:
                held = True
                ctx.set(part.i.payload, int(source.integers(0, 1 << 16)))
            ctx.set(part.i.valid, held)
            if held and ctx.get(part.i.ready):
                held = False
                passage.taken.append((clock, ctx.get(part.i.payload)))
                passage.most = max(passage.most, len(passage.taken) - len(passage.given))
            await ctx.tick(domains[0])
        ctx.set(part.i.valid, 0)
        over[0] = True

    async def take(ctx):
        offered = None
        clock = 0
        while not over[0]:
            ready = bool(sink.random() < accept)
            valid = ctx.get(part.o.valid)
            payload = ctx.get(part.o.payload) if valid else None
            if offered is not None:
                assert payload == offered, f"payload withdrawn in clock {clock}"
            ctx.set(part.o.ready, ready)
            assert ctx.get(part.o.valid) == valid, f"valid waits for ready in clock {clock}"
            if valid and ready:
                passage.given.append((clock, payload))
            offered = payload if valid and not ready else None
            await ctx.tick(domains[1])
            clock += 1

    simulator.add_testbench(take)
    simulator.add_testbench(give)
    simulator.run()
    return passage
