"""Injects faults into the hardware: a method is compiled again with a piece of it changed."""

import inspect
import sys
import textwrap
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Mutant:
    """A fault: `old` in the source of `owner.method` becomes `new`.

    Attributes
    ----------
    shows : str
        What must be among the faults that the checkers report.
    """

    name: str
    owner: type
    method: str
    old: str
    new: str
    shows: str

    def inject(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the fault in until the end of the test; `old` must occur exactly once."""
        raw = inspect.getattr_static(self.owner, self.method)
        source = textwrap.dedent(inspect.getsource(raw))
        assert source.count(self.old) == 1, f"{self.name}: text occurs {source.count(self.old)}x"
        module = sys.modules[self.owner.__module__]
        scope: dict = {}
        # The class statement gives the method its own cell for `super()` and private names.
        body = textwrap.indent(source.replace(self.old, self.new), "    ")
        exec(compile(f"class Mutated:\n{body}", f"<{self.name}>", "exec"), vars(module), scope)
        changed = inspect.getattr_static(scope["Mutated"], self.method)
        monkeypatch.setattr(self.owner, self.method, changed)
