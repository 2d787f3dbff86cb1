"""The regression: RTL against golden model and JEDEC checker, case by case."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.tb.cluster.random_runs import random_run
from recspeed.tb.cluster.simulation import simulate_clusters
from recspeed.tb.cluster.special_runs import SPECIAL_RUNS
from recspeed.tb.dram.random_runs import random_dram_run, random_hbm_channel_runs
from recspeed.tb.dram.simulation import simulate_front_ends, simulate_hbm_channels
from recspeed.tb.regression.verdict import Verdict, judge, judge_front_end, judge_hbm_channel
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.simulation import ChannelError

Block = Literal["memory_channel", "dram_front_end", "hbm_channel"]
BLOCKS: tuple[Block, ...] = ("memory_channel", "dram_front_end", "hbm_channel")

FRONT_END_PRESETS = ("hbm2-2000", "hbm2e-3000", "hbm3-6400", "ddr4-3200", "gddr6-14000")
"""One memory of each family, and HBM2E with its two stack IDs."""

HBM_CHANNEL_PRESETS = ("hbm2-2000", "hbm2e-3000", "hbm3-6400")

FRONT_END_RANDOM = 200
"""Random mixes per memory of a full regression of front-ends, and of pairs of HBM channels."""


@dataclass(frozen=True)
class Build:
    """One generated block. Every case of a build runs on the same simulator.

    Of `parameters` a front-end takes the queue depth alone.
    """

    name: str
    block: Block
    preset: MemoryPreset
    parameters: ClusterParameters = field(default_factory=ClusterParameters)


@dataclass(frozen=True)
class Case:
    """One run of the regression: a special run of a channel by name, or a random one by seed."""

    build: Build
    special: str | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        what = self.special or f"random_seed_{self.seed}"
        return f"{self.build.name}.{what}"

    def channel_run(self) -> ClusterRun:
        """Its input, for a memory channel; the same at every call."""
        build = self.build
        if self.special is not None:
            return replace(SPECIAL_RUNS[self.special](build.preset), parameters=build.parameters)
        return random_run(self.seed, build.preset, build.parameters)

    def front_end_run(self) -> DramRun:
        """Its input, for a front-end; the same at every call."""
        build = self.build
        return random_dram_run(self.seed, build.preset, queue_depth=build.parameters.queue_depth)

    def hbm_channel_runs(self) -> tuple[DramRun, DramRun]:
        """Its inputs, for an HBM channel; the same at every call."""
        build = self.build
        return random_hbm_channel_runs(
            self.seed, build.preset, queue_depth=build.parameters.queue_depth
        )


def small_64_bank_build() -> Build:
    """A channel with four stack IDs and tiny queues, in which everything fills up and blocks."""
    values = memory_preset("hbm2-2000").model_dump()
    values["name"] = "hbm2-2000-64-banks"
    values["organization"]["stack_ids"] = 4
    values["capacity"]["pseudo_channel_mib"] *= 4
    sizes = ClusterParameters(queue_depth=2, accumulator_words=64, bag_slots=4)
    return Build(
        "channel-small-64-banks", "memory_channel", MemoryPreset.model_validate(values), sizes
    )


def builds(block: Block) -> tuple[Build, ...]:
    """The builds of a block's regression."""
    if block == "dram_front_end":
        return tuple(
            Build(f"front-end-{name}", block, memory_preset(name)) for name in FRONT_END_PRESETS
        )
    if block == "hbm_channel":
        return tuple(
            Build(f"hbm-channel-{name}", block, memory_preset(name)) for name in HBM_CHANNEL_PRESETS
        )
    return (
        Build("channel-hbm2-2000", block, memory_preset("hbm2-2000")),
        Build("channel-hbm2e-3000", block, memory_preset("hbm2e-3000")),
        Build("channel-ddr4-3200", block, memory_preset("ddr4-3200")),
        small_64_bank_build(),
    )


def special_cases(build: Build) -> list[Case]:
    """Every special run on `build`, a memory channel."""
    return [Case(build, special=name) for name in SPECIAL_RUNS]


def random_cases(build: Build, count: int, first_seed: int) -> list[Case]:
    """`count` random runs on `build`; the seed is part of the name."""
    return [Case(build, seed=seed) for seed in range(first_seed, first_seed + count)]


def all_cases(
    blocks: Sequence[Block], channel_count: int, front_end_count: int, first_seed: int
) -> list[Case]:
    """The full regression of `blocks`.

    Parameters
    ----------
    channel_count
        Random runs of memory channels, spread evenly over their builds; those of default sizes
        also have every special run.
    front_end_count
        Random mixes of each front-end, and pairs of mixes of each HBM channel.
    """
    cases: list[Case] = []
    if "memory_channel" in blocks:
        every = builds("memory_channel")
        for number, build in enumerate(every):
            if build.parameters == ClusterParameters():
                cases += special_cases(build)
            count = channel_count // len(every) + (number < channel_count % len(every))
            cases += random_cases(build, count, first_seed)
    alone_and_paired: tuple[Block, ...] = ("dram_front_end", "hbm_channel")
    for block in alone_and_paired:
        if block in blocks:
            for build in builds(block):
                cases += random_cases(build, front_end_count, first_seed)
    return cases


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str: ...


class Buildable(Protocol):
    """A case of any block's regression: it runs on a build."""

    @property
    def build(self) -> Named: ...


AnyCase = TypeVar("AnyCase", bound=Buildable)


def batches(cases: Sequence[AnyCase], size: int) -> list[list[AnyCase]]:
    """Cases in batches of at most `size`, each of one build."""
    grouped: dict[str, list[AnyCase]] = {}
    for case in cases:
        grouped.setdefault(case.build.name, []).append(case)
    return [
        group[start : start + size]
        for group in grouped.values()
        for start in range(0, len(group), size)
    ]


@dataclass(frozen=True)
class _Kind:
    """How a block's cases are run: their inputs, the simulation of several, the verdict on one."""

    inputs: Callable[[Case], Any]
    simulate: Callable[..., Any]
    judge: Callable[[str, Any, Any], Verdict]


KINDS: dict[Block, _Kind] = {
    "memory_channel": _Kind(methodcaller("channel_run"), simulate_clusters, judge),
    "dram_front_end": _Kind(methodcaller("front_end_run"), simulate_front_ends, judge_front_end),
    "hbm_channel": _Kind(
        methodcaller("hbm_channel_runs"), simulate_hbm_channels, judge_hbm_channel
    ),
}


def run_batch(cases: Sequence[Case]) -> list[Verdict]:
    """Run cases of one build in one simulation and judge each.

    A failure of the simulation itself fails every case without a result, with the reason.
    """
    kind = KINDS[cases[0].build.block]
    inputs = [kind.inputs(case) for case in cases]
    verdicts: list[Verdict] = []

    def judge_one(number: int, result: Any) -> None:
        verdicts.append(kind.judge(cases[number].name, inputs[number], result))

    try:
        kind.simulate(inputs, on_result=judge_one)
    except (ChannelError, toolchain.ToolchainError) as error:
        verdicts += [Verdict(case.name, (str(error),), 0) for case in cases[len(verdicts) :]]
    return verdicts


def record_waves(case: Case, path: Path) -> None:
    """Run `case` once more with a waveform, whatever its verdict."""
    kind = KINDS[case.build.block]
    try:
        kind.simulate([kind.inputs(case)], waves=path)
    except (ChannelError, toolchain.ToolchainError):
        if not path.exists():
            raise
