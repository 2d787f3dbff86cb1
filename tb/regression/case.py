"""Cases of a regression, whatever their block: a build, what runs on it, and how it is judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from recspeed.tb.regression.verdict import Verdict

__all__ = ["Build", "Case", "Kind", "Simulate", "random_cases", "special_cases"]


class Simulate(Protocol):
    """Simulates the inputs of cases of one build, one after another in one process."""

    def __call__(
        self,
        inputs: Sequence[Any],
        /,
        *,
        waves: Path | None = None,
        on_result: Callable[[int, Any], None] | None = None,
    ) -> Any: ...


@dataclass(frozen=True)
class Kind:
    """How the cases of a block are made, run and judged.

    Parameters
    ----------
    specials
        Names of the inputs of special interest.
    special
        The input that a design and one of these names imply.
    random
        The input that a design and a seed imply.
    simulate
        Runs several inputs on the RTL.
    judge
        The verdict on a case: of its name, its input and the RTL's result.

    All are functions of modules, so that cases can be sent to other processes.
    """

    specials: tuple[str, ...]
    special: Callable[[Any, str], Any]
    random: Callable[[Any, int], Any]
    simulate: Simulate
    judge: Callable[[str, Any, Any], Verdict]


@dataclass(frozen=True)
class Build:
    """One generated design. Every case of a build runs on the same simulator.

    `design` is what its block is generated from, of whatever class its `kind` takes.
    """

    name: str
    kind: Kind = field(repr=False, compare=False)
    design: Any


@dataclass(frozen=True)
class Case:
    """One run of a regression: a special one by name, or a random one by seed."""

    build: Build
    special: str | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the build and of the run on it: the seed is part of it."""
        what = self.special or f"random_seed_{self.seed}"
        return f"{self.build.name}.{what}"

    def make(self) -> Any:
        """Its input, the same at every call."""
        kind, design = self.build.kind, self.build.design
        if self.special is not None:
            return kind.special(design, self.special)
        return kind.random(design, self.seed)


def special_cases(build: Build) -> list[Case]:
    """Every special run on `build`."""
    return [Case(build, special=name) for name in build.kind.specials]


def random_cases(build: Build, count: int, first_seed: int) -> list[Case]:
    """`count` random runs on `build`, of the seeds from `first_seed` on."""
    return [Case(build, seed=seed) for seed in range(first_seed, first_seed + count)]
