"""Options that several commands share, and the lists that they are written as."""

import os
import re
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recspeed.models.spec.memory import MemoryPreset, memory_preset
from recspeed.models.spec.table import Policy
from recspeed.scripts.console import UserError

if TYPE_CHECKING:
    from recspeed.scripts.measurements.executor import Executor

SCHEDULER = re.compile(r"tcp://(?:[^\s/:]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}|local:([1-9][0-9]{0,3})")
SIZE_LIST = re.compile(r"(\d+):(\d+):(\d+)")


class Fidelity(StrEnum):
    """Which fidelity answers."""

    RTL = "rtl"
    GOLDEN = "golden"
    BOUND = "bound"


class Refresh(StrEnum):
    """How DRAM is refreshed."""

    ALL_BANK = "all-bank"
    PER_BANK = "per-bank"
    OFF = "off"


class OutputFormat(StrEnum):
    """Format of pooled vectors."""

    FP16 = "fp16"
    FP32 = "fp32"


class LookupPolicy(StrEnum):
    """What a lookup outside its table does."""

    FATAL = "fatal"
    CLAMP = "clamp"
    DROP = "drop"

    @property
    def value_of_register(self) -> Policy:
        return Policy[self.name]


MemoryOption = Annotated[
    str, typer.Option("--memory", help="Memory preset, or a TOML file of the same form.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
OutstandingOption = Annotated[
    int,
    typer.Option("--outstanding", min=1, max=256, help="Bursts in flight per channel at most."),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Processes that measure points; all cores unless given."),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Measure on a Dask cluster instead: tcp://HOST:PORT, or local:N for N workers on this "
        "machine.",
    ),
]
TraceOption = Annotated[Path, typer.Option("--trace", help="Trace file (.npz).")]


def executor_of(jobs: int | None, scheduler: str | None) -> "Executor":
    """Who measures, as --jobs and --scheduler say.

    Raises
    ------
    UserError
        For a scheduler that is none, for both at once, and where Dask is not installed.
    """
    from recspeed.scripts.measurements.executor import Processes

    if scheduler is None:
        return Processes(jobs or len(os.sched_getaffinity(0)))
    if jobs is not None:
        raise UserError(f"--jobs {jobs}: a cluster has its own workers; expected no --scheduler")
    match = SCHEDULER.fullmatch(scheduler)
    if match is None:
        raise UserError(f"--scheduler {scheduler}: expected tcp://HOST:PORT or local:N")
    if find_spec("distributed") is None:
        raise UserError("--scheduler: Dask is missing; pip install recspeed[distributed]")
    from recspeed.scripts.measurements.dask_cluster import DaskCluster

    return DaskCluster(scheduler) if match[1] is None else DaskCluster(None, int(match[1]))


def presets(text: str) -> list[MemoryPreset]:
    """The presets of a comma-separated list of names."""
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names):
        raise UserError(f"--memory {text}: a preset is named twice")
    return [memory_preset(name) for name in names]


def chosen_fidelities(text: str) -> list[Fidelity]:
    """The fidelities of a comma-separated list of names."""
    known = ", ".join(fidelity.value for fidelity in Fidelity)
    chosen: list[Fidelity] = []
    for name in (part.strip() for part in text.split(",")):
        if name not in set(Fidelity) or name in chosen:
            fault = "named twice" if name in chosen else "no engine"
            raise UserError(f"--engine {text}: '{name}' is {fault}; expected some of {known}")
        chosen.append(Fidelity(name))
    return chosen


def numbers(text: str, option: str, lowest: int = 1) -> list[int]:
    """Integers from `lowest` up, written `A,B,C` or `FIRST:LAST:STEP` (LAST included)."""
    if match := SIZE_LIST.fullmatch(text.strip()):
        first, last, step = (int(group) for group in match.groups())
        values = list(range(first, last + 1, step)) if step else []
    else:
        parts = [part.strip() for part in text.split(",")]
        values = [int(part) for part in parts if part.isascii() and part.isdigit()]
        values = values if len(values) == len(parts) else []
    if not values or min(values) < lowest:
        raise UserError(
            f"{option} {text}: expected integers from {lowest} up as A,B,C or FIRST:LAST:STEP"
        )
    return values
