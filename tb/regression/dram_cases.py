"""The regression of DRAM front-ends, alone and as the pair of an HBM channel."""

from dataclasses import dataclass
from typing import NoReturn

from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.tb.dram.random_runs import random_dram_run, random_hbm_channel_runs
from recspeed.tb.dram.simulation import simulate_front_ends, simulate_hbm_channels
from recspeed.tb.regression.case import Build, Case, Kind, random_cases
from recspeed.tb.regression.verdict import judge_front_end, judge_hbm_channel

__all__ = [
    "FRONT_END_RANDOM",
    "FrontEndDesign",
    "front_end_builds",
    "front_end_cases",
    "hbm_channel_builds",
    "hbm_channel_cases",
]

FRONT_END_PRESETS = ("hbm2-2000", "hbm2e-3000", "hbm3-6400", "ddr4-3200", "gddr6-14000")
"""One memory of each family, and HBM2E with its two stack IDs."""

HBM_CHANNEL_PRESETS = ("hbm2-2000", "hbm2e-3000", "hbm3-6400")

FRONT_END_RANDOM = 200
"""Random mixes per memory of a full regression of front-ends, and of pairs of HBM channels."""


@dataclass(frozen=True)
class FrontEndDesign:
    """What one front-end, or each of two, is generated from."""

    preset: MemoryPreset
    queue_depth: int = ClusterParameters().queue_depth


def _random_mix(design: FrontEndDesign, seed: int) -> DramRun:
    return random_dram_run(seed, design.preset, queue_depth=design.queue_depth)


def _random_pair(design: FrontEndDesign, seed: int) -> tuple[DramRun, DramRun]:
    return random_hbm_channel_runs(seed, design.preset, queue_depth=design.queue_depth)


def _no_special(design: FrontEndDesign, name: str) -> NoReturn:
    raise KeyError(f"front-ends of {design.preset.name} have no special run {name!r}")


FRONT_END = Kind((), _no_special, _random_mix, simulate_front_ends, judge_front_end)
HBM_CHANNEL = Kind((), _no_special, _random_pair, simulate_hbm_channels, judge_hbm_channel)


def front_end_builds() -> tuple[Build, ...]:
    """A front-end of each memory."""
    return tuple(
        Build(f"front-end-{name}", FRONT_END, FrontEndDesign(memory_preset(name)))
        for name in FRONT_END_PRESETS
    )


def hbm_channel_builds() -> tuple[Build, ...]:
    """The two front-ends of an HBM channel, of each HBM memory."""
    return tuple(
        Build(f"hbm-channel-{name}", HBM_CHANNEL, FrontEndDesign(memory_preset(name)))
        for name in HBM_CHANNEL_PRESETS
    )


def front_end_cases(random_count: int, first_seed: int) -> list[Case]:
    """`random_count` random mixes of each front-end."""
    return [
        case
        for build in front_end_builds()
        for case in random_cases(build, random_count, first_seed)
    ]


def hbm_channel_cases(random_count: int, first_seed: int) -> list[Case]:
    """`random_count` pairs of random mixes of each HBM channel."""
    return [
        case
        for build in hbm_channel_builds()
        for case in random_cases(build, random_count, first_seed)
    ]
