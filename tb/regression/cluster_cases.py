"""The regression of memory channels: their builds, special runs and random runs."""

from dataclasses import dataclass, field, replace

from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.tb.cluster.random_runs import random_run
from recspeed.tb.cluster.simulation import simulate_clusters
from recspeed.tb.cluster.special_runs import SPECIAL_RUNS
from recspeed.tb.regression.case import Build, Case, Kind, random_cases, special_cases
from recspeed.tb.regression.verdict import judge

__all__ = ["ChannelDesign", "channel_builds", "channel_cases", "small_64_bank_build"]


@dataclass(frozen=True)
class ChannelDesign:
    """What a memory channel is generated from."""

    preset: MemoryPreset
    parameters: ClusterParameters = field(default_factory=ClusterParameters)


def _special_run(design: ChannelDesign, name: str) -> ClusterRun:
    return replace(SPECIAL_RUNS[name](design.preset), parameters=design.parameters)


def _random_run(design: ChannelDesign, seed: int) -> ClusterRun:
    return random_run(seed, design.preset, design.parameters)


CHANNEL = Kind(
    specials=tuple(SPECIAL_RUNS),
    special=_special_run,
    random=_random_run,
    simulate=simulate_clusters,
    judge=judge,
)


def small_64_bank_build() -> Build:
    """A channel with four stack IDs and tiny queues, in which everything fills up and blocks."""
    values = memory_preset("hbm2-2000").model_dump()
    values["name"] = "hbm2-2000-64-banks"
    values["organization"]["stack_ids"] = 4
    values["capacity"]["pseudo_channel_mib"] *= 4
    sizes = ClusterParameters(queue_depth=2, accumulator_words=64, bag_slots=4)
    design = ChannelDesign(MemoryPreset.model_validate(values), sizes)
    return Build("channel-small-64-banks", CHANNEL, design)


def channel_builds() -> tuple[Build, ...]:
    """The builds of the regression: two HBM presets, DDR4, and one of tiny sizes."""
    presets = ("hbm2-2000", "hbm2e-3000", "ddr4-3200")
    return (
        *(
            Build(f"channel-{name}", CHANNEL, ChannelDesign(memory_preset(name)))
            for name in presets
        ),
        small_64_bank_build(),
    )


def channel_cases(random_count: int, first_seed: int) -> list[Case]:
    """Every special run on the builds of default sizes; random runs spread evenly over all."""
    cases: list[Case] = []
    builds = channel_builds()
    for number, build in enumerate(builds):
        if build.design.parameters == ClusterParameters():
            cases += special_cases(build)
        count = random_count // len(builds) + (number < random_count % len(builds))
        cases += random_cases(build, count, first_seed)
    return cases
