"""The regression: RTL against golden model and JEDEC checker, case by case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    """One run of the regression, made by `make` when it is needed."""

    name: str
    build: Build
    make: Callable[[], ChannelRun]


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


def special_cases(build: Build) -> Iterator[Case]:
    """Every special run on `build`."""
    for name, make in SPECIAL_RUNS.items():
        yield Case(f"{build.name}.{name}", build, lambda make=make: make(build.preset))


def random_cases(build: Build, count: int, first_seed: int) -> Iterator[Case]:
    """`count` random runs on `build`; the seed is part of the name."""
    for seed in range(first_seed, first_seed + count):
        yield Case(
            f"{build.name}.random_seed_{seed}",
            build,
            lambda seed=seed: random_run(seed, build.preset, build.parameters),
        )


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
