"""The regression: RTL against golden model and JEDEC checker, case by case."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from recspeed.models.chip.channel import simulate_channel
from recspeed.models.spec.engine import EngineParameters
from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.run import ChannelResult, ChannelRun
from recspeed.tb import toolchain
from recspeed.tb.channel import ChannelError, simulate_channels
from recspeed.tb.checkers import jedec
from recspeed.tb.random_runs import random_run
from recspeed.tb.scoreboard import compare
from recspeed.tb.special_runs import SPECIAL_RUNS


@dataclass(frozen=True)
class Build:
    """One generated channel: preset and sizes. Every case of a build runs on the same simulator."""

    name: str
    preset: MemoryPreset
    parameters: EngineParameters


@dataclass(frozen=True)
class Case:
    """One run of the regression: a special run by name, or a random one by seed."""

    build: Build
    special: str | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        what = self.special or f"random_seed_{self.seed}"
        return f"{self.build.name}.{what}"

    def make(self) -> ChannelRun:
        """Its input, the same at every call."""
        if self.special is not None:
            return SPECIAL_RUNS[self.special](self.build.preset)
        return random_run(self.seed, self.build.preset, self.build.parameters)


@dataclass(frozen=True)
class Verdict:
    """What became of a case; passed when there are no faults."""

    name: str
    faults: tuple[str, ...]
    cycles: int

    @property
    def passed(self) -> bool:
        return not self.faults


def small_64_bank_build() -> Build:
    """A channel with four stack IDs and tiny queues, in which everything fills up and blocks."""
    values = memory_preset("hbm2-2000").model_dump()
    values["name"] = "hbm2-2000-64-banks"
    values["organization"]["stack_ids"] = 4
    values["capacity"]["pseudo_channel_mib"] *= 4
    sizes = EngineParameters(queue_depth=2, accumulator_words=64, bag_slots=4)
    return Build("small-64-banks", MemoryPreset.model_validate(values), sizes)


def builds() -> tuple[Build, ...]:
    """The builds of the regression."""
    return (
        Build("hbm2-2000", memory_preset("hbm2-2000"), EngineParameters()),
        Build("hbm2e-3000", memory_preset("hbm2e-3000"), EngineParameters()),
        small_64_bank_build(),
    )


def special_cases(build: Build) -> list[Case]:
    """Every special run on `build`, which must have the default sizes."""
    return [Case(build, special=name) for name in SPECIAL_RUNS]


def random_cases(build: Build, count: int, first_seed: int) -> list[Case]:
    """`count` random runs on `build`; the seed is part of the name."""
    return [Case(build, seed=seed) for seed in range(first_seed, first_seed + count)]


def all_cases(random_count: int, first_seed: int) -> list[Case]:
    """Special runs on the builds of default sizes; random runs spread evenly over all builds."""
    cases: list[Case] = []
    every = builds()
    for number, build in enumerate(every):
        if build.parameters == EngineParameters():
            cases += special_cases(build)
        count = random_count // len(every) + (number < random_count % len(every))
        cases += random_cases(build, count, first_seed)
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


def judge(name: str, run: ChannelRun, rtl: ChannelResult) -> Verdict:
    """Compare an RTL result with the golden model's, and its commands with JEDEC's rules."""
    faults = [str(difference) for difference in compare(rtl, simulate_channel(run))]
    report = jedec.check(run.preset, rtl.commands, refresh=run.settings.refresh_group > 0)
    faults += [f"JEDEC: {violation}" for violation in report.violations]
    return Verdict(name, tuple(faults), rtl.cycles)


def run_batch(cases: Sequence[Case]) -> list[Verdict]:
    """Run cases of one build in one simulation and judge each.

    A failure of the simulation itself fails every case without a result, with the reason.
    """
    runs = [case.make() for case in cases]
    verdicts: list[Verdict] = []

    def on_result(number: int, result: ChannelResult) -> None:
        verdicts.append(judge(cases[number].name, runs[number], result))

    try:
        simulate_channels(runs, on_result=on_result)
    except (ChannelError, toolchain.ToolchainError) as error:
        verdicts += [Verdict(case.name, (str(error),), 0) for case in cases[len(verdicts) :]]
    return verdicts


def record_waves(case: Case, path: Path) -> None:
    """Run `case` once more with a waveform, whatever its verdict."""
    try:
        simulate_channels([case.make()], waves=path)
    except (ChannelError, toolchain.ToolchainError):
        if not path.exists():
            raise
