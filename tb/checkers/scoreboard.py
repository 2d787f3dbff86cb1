"""Holds two fidelities of one run against each other: every bit, every cycle, every counter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from recspeed.models.runs.cluster import ClusterResult
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import DramResult
from recspeed.models.spec.register_map import Counter


@dataclass(frozen=True)
class Difference:
    """One disagreement: which field, where, and the two values."""

    field: str
    where: str
    rtl: str
    golden: str

    def __str__(self) -> str:
        return f"{self.field} {self.where}: RTL {self.rtl}, golden {self.golden}"


def _first_difference(
    name: str,
    rtl: np.ndarray,
    golden: np.ndarray,
    describe: Callable[[Any], str] = str,
) -> Difference | None:
    """The first place at which two arrays of equal meaning differ, lengths included."""
    common = min(len(rtl), len(golden))
    unequal = rtl[:common] != golden[:common]
    if unequal.ndim > 1:
        unequal = unequal.any(axis=tuple(range(1, unequal.ndim)))
    places = np.flatnonzero(unequal)
    if len(places):
        place = int(places[0])
        return Difference(name, f"at entry {place}", describe(rtl[place]), describe(golden[place]))
    if len(rtl) != len(golden):
        return Difference(name, "in length", str(len(rtl)), str(len(golden)))
    return None


def _describe_command(entry: np.void) -> str:
    code = int(entry["command"])
    name = CommandCode(code).name if code < len(CommandCode) else f"command {code}"
    return (
        f"{name} bank {entry['bank']} row {entry['row']} "
        f"column {entry['column']} in clock {entry['cycle']}"
    )


def _describe_lanes(entry: np.ndarray) -> str:
    return "[" + " ".join(f"{int(lane):08x}" for lane in entry) + "]"


def compare(
    rtl: ClusterResult, golden: ClusterResult, *, commands: bool = True
) -> list[Difference]:
    """Every field in which the results of one run differ; empty when they agree.

    Parameters
    ----------
    commands
        Compare the command logs too; both sides must have recorded them.
    """
    found = [
        _first_difference("bag number of transfer", rtl.bag, golden.bag),
        _first_difference("beat number of transfer", rtl.beat, golden.beat),
        _first_difference("pooled lanes of transfer", rtl.lanes, golden.lanes, _describe_lanes),
        _first_difference("clock of transfer", rtl.transfer_cycle, golden.transfer_cycle),
    ]
    if commands:
        found.append(_first_difference("command", rtl.commands, golden.commands, _describe_command))
    found += _counter_differences(rtl.counters, golden.counters)
    return [difference for difference in found if difference is not None]


def compare_dram(rtl: DramResult, golden: DramResult) -> list[Difference]:
    """Every field in which the results of one front-end run differ; empty when they agree."""
    found = [
        _first_difference("command", rtl.commands, golden.commands, _describe_command),
        _first_difference("beat", rtl.beats, golden.beats),
        _first_difference("completed write", rtl.written, golden.written),
        *_counter_differences(rtl.counters, golden.counters),
    ]
    return [difference for difference in found if difference is not None]


def _counter_differences(rtl: dict[Counter, int], golden: dict[Counter, int]) -> list[Difference]:
    """Counters that differ, or that one side lacks."""
    return [
        Difference("counter", counter.name, str(rtl.get(counter)), str(golden.get(counter)))
        for counter in Counter
        if rtl.get(counter) != golden.get(counter)
    ]
