"""The regression of collectives: RTL against golden model, bound and checkers, case by case."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recspeed.models.spec.collective import CollectiveParameters
from recspeed.models.spec.link import LinkParameters
from recspeed.tb.collective.compare import judge
from recspeed.tb.collective.mixes import SPECIAL_MIXES, Mix, random_mix
from recspeed.tb.collective.simulation import run_rtl
from recspeed.tb.regression.verdict import Verdict
from recspeed.tb.simulator import toolchain


@dataclass(frozen=True)
class Build:
    """One generated system. Every case of a build runs on the same simulator."""

    name: str
    link: LinkParameters
    chips: int
    budget: int = 1 << 13
    """Bytes per peer that random mixes go up to, about."""


@dataclass(frozen=True)
class Case:
    """One run: a special mix by name, or a random one by seed."""

    build: Build
    special: str | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        what = self.special or f"random_seed_{self.seed}"
        return f"{self.build.name}.{what}"

    def make(self) -> Mix:
        """Its input, the same at every call."""
        if self.special is not None:
            return SPECIAL_MIXES[self.special](self.build.link, self.build.chips)
        return random_mix(self.seed, self.build.link, self.build.chips, self.build.budget)


def tiny_build(chips: int, channels: Literal[1, 2] = 1) -> Build:
    """Buffers so small that credits and timeouts are felt all the time.

    With an odd number of chips the receive buffers are larger than the replay buffers, so that the
    window binds; otherwise credits bind first.
    """
    link = LinkParameters(
        latency=7,
        replay_depth=16,
        receive_depth=32 if chips % 2 else 16,
        report_interval=4,
        status_interval=32,
        virtual_channels=channels,
        full_rate=False,
    )
    return Build(f"collective-tiny-{chips}{_suffix(channels)}", link, chips)


def short_build(chips: int, budget: int = 1 << 15, channels: Literal[1, 2] = 1) -> Build:
    """Full-rate links of 12 clocks."""
    link = LinkParameters(
        latency=12, replay_depth=256, receive_depth=256, virtual_channels=channels
    )
    return Build(f"collective-short-{chips}{_suffix(channels)}", link, chips, budget)


def _suffix(channels: int) -> str:
    return "" if channels == 1 else f"-{channels}vc"


def preset_build(chips: int) -> Build:
    """The preset of 1000 GB/s per chip and 60 ns."""
    link = CollectiveParameters(chips=chips).link
    return Build(f"collective-preset-{chips}", link, chips)


def builds() -> tuple[Build, ...]:
    """The builds of the regression: odd and even numbers of chips, up to 1 MB per peer on two."""
    return (
        tiny_build(2),
        short_build(2, 1 << 20),
        tiny_build(3),
        tiny_build(3, channels=2),
        short_build(4),
        short_build(4, channels=2),
        tiny_build(5),
        short_build(7),
        preset_build(16),
    )


SHARES = (0.2, 0.1, 0.14, 0.14, 0.1, 0.1, 0.1, 0.08, 0.04)
"""Which part of the random runs falls to each build; the large ones are slow."""


def special_cases(build: Build) -> list[Case]:
    """Every special mix on `build`."""
    return [Case(build, special=name) for name in SPECIAL_MIXES]


def random_cases(build: Build, count: int, first_seed: int) -> list[Case]:
    """`count` random mixes on `build`."""
    return [Case(build, seed=seed) for seed in range(first_seed, first_seed + count)]


def all_cases(random_count: int, first_seed: int) -> list[Case]:
    """Special mixes on every build but the largest, and random ones shared out over all builds."""
    cases: list[Case] = []
    left = random_count
    every = builds()
    for build, share in zip(every, SHARES, strict=True):
        if build.chips < 16:
            cases += special_cases(build)
        count = left if build == every[-1] else min(left, round(share * random_count))
        left -= count
        cases += random_cases(build, count, first_seed)
    return cases


def run_batch(cases: Sequence[Case]) -> list[Verdict]:
    """Run cases of one build in one simulation and judge each.

    A failure of the simulation itself fails every case, with the reason.
    """
    mixes = [case.make() for case in cases]
    try:
        results = run_rtl([(mix.run, mix.images) for mix in mixes])
    except toolchain.ToolchainError as error:
        return [Verdict(case.name, (str(error),), 0) for case in cases]
    return [
        Verdict(case.name, tuple(judge(mix, outcome, images)), max(outcome.end, 0))
        for case, mix, (outcome, images) in zip(cases, mixes, results, strict=True)
    ]


def record_waves(case: Case, path: Path) -> None:
    """Run `case` once more with a waveform, whatever its verdict."""
    mix = case.make()
    run_rtl([(mix.run, mix.images)], waves=path)
