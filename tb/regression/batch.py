"""Runs cases in batches, one simulation each, and judges every case."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recspeed.tb.regression.case import Case
from recspeed.tb.regression.verdict import Verdict
from recspeed.tb.simulator.errors import ChannelError, ToolchainError

__all__ = ["batches", "record_waves", "run_batch"]


def batches(cases: Sequence[Case], size: int) -> list[list[Case]]:
    """Cases in batches of at most `size`, each of one build."""
    grouped: dict[str, list[Case]] = {}
    for case in cases:
        grouped.setdefault(case.build.name, []).append(case)
    return [
        group[start : start + size]
        for group in grouped.values()
        for start in range(0, len(group), size)
    ]


def run_batch(cases: Sequence[Case]) -> list[Verdict]:
    """Run cases of one build in one simulation and judge each.

    A failure of the simulation itself fails every case without a result, with the reason.
    """
    kind = cases[0].build.kind
    inputs = [case.make() for case in cases]
    verdicts: list[Verdict] = []

    def judge(number: int, result: Any) -> None:
        verdicts.append(kind.judge(cases[number].name, inputs[number], result))

    try:
        kind.simulate(inputs, on_result=judge)
    except (ChannelError, ToolchainError) as error:
        verdicts += [Verdict(case.name, (str(error),), 0) for case in cases[len(verdicts) :]]
    return verdicts


def record_waves(case: Case, path: Path) -> None:
    """Run `case` once more with a waveform, whatever its verdict."""
    try:
        case.build.kind.simulate([case.make()], waves=path)
    except (ChannelError, ToolchainError):
        if not path.exists():
            raise
