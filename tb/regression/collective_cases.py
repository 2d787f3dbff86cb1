"""The regression of collectives: RTL against golden model, bound and checkers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recspeed.models.spec.collective import CollectiveParameters
from recspeed.models.spec.link import LinkParameters
from recspeed.tb.collective.compare import judge
from recspeed.tb.collective.mixes import SPECIAL_MIXES, Mix, random_mix
from recspeed.tb.collective.simulation import JobResult, simulate_collectives
from recspeed.tb.regression.case import Build, Case, Kind, random_cases, special_cases
from recspeed.tb.regression.verdict import Verdict

__all__ = [
    "COLLECTIVE_RANDOM",
    "CollectiveDesign",
    "collective_builds",
    "collective_cases",
    "preset_build",
    "short_build",
    "tiny_build",
]

COLLECTIVE_RANDOM = 500
"""Random mixes of a full regression."""


@dataclass(frozen=True)
class CollectiveDesign:
    """What a system of engines is generated from, and how large its random mixes are.

    `budget`: bytes per peer that random mixes go up to, about.
    """

    link: LinkParameters
    chips: int
    budget: int = 1 << 13


def _special_mix(design: CollectiveDesign, name: str) -> Mix:
    return SPECIAL_MIXES[name](design.link, design.chips)


def _random_mix(design: CollectiveDesign, seed: int) -> Mix:
    return random_mix(seed, design.link, design.chips, design.budget)


def _simulate(
    mixes: Sequence[Mix],
    *,
    waves: Path | None = None,
    on_result: Callable[[int, JobResult], None] | None = None,
) -> list[JobResult]:
    jobs = [(mix.run, mix.images) for mix in mixes]
    return simulate_collectives(jobs, waves=waves, on_result=on_result)


def _judge(name: str, mix: Mix, result: JobResult) -> Verdict:
    outcome, images = result
    return Verdict(name, tuple(judge(mix, outcome, images)), max(outcome.end, 0))


COLLECTIVE = Kind(
    specials=tuple(SPECIAL_MIXES),
    special=_special_mix,
    random=_random_mix,
    simulate=_simulate,
    judge=_judge,
)


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
    return _build(f"tiny-{chips}{_suffix(channels)}", link, chips)


def short_build(chips: int, budget: int = 1 << 15, channels: Literal[1, 2] = 1) -> Build:
    """Full-rate links of 12 clocks."""
    link = LinkParameters(
        latency=12, replay_depth=256, receive_depth=256, virtual_channels=channels
    )
    return _build(f"short-{chips}{_suffix(channels)}", link, chips, budget)


def _build(name: str, link: LinkParameters, chips: int, budget: int = 1 << 13) -> Build:
    return Build(f"collective-{name}", COLLECTIVE, CollectiveDesign(link, chips, budget))


def _suffix(channels: int) -> str:
    return "" if channels == 1 else f"-{channels}vc"


def preset_build(chips: int) -> Build:
    """The preset of 1000 GB/s per chip and 60 ns."""
    link = CollectiveParameters(chips=chips).link
    return _build(f"preset-{chips}", link, chips)


def collective_builds() -> tuple[Build, ...]:
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


def collective_cases(random_count: int, first_seed: int) -> list[Case]:
    """Special mixes on every build but the largest, and random ones shared out over all builds."""
    cases: list[Case] = []
    left = random_count
    builds = collective_builds()
    for build, share in zip(builds, SHARES, strict=True):
        if build.design.chips < 16:
            cases += special_cases(build)
        count = left if build == builds[-1] else min(left, round(share * random_count))
        left -= count
        cases += random_cases(build, count, first_seed)
    return cases
