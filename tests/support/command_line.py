"""Runs the program within a test: exit code, standard output, standard error."""

from typing import NamedTuple
from unittest.mock import patch

import pytest

from recspeed.scripts.main import run


class Finished(NamedTuple):
    """What a run of the program left."""

    code: int
    out: str
    err: str


class CommandLine:
    """`recspeed` as a function."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> Finished:
        self.capsys.readouterr()
        # Points are measured in this process, where what a test replaced is replaced.
        with patch("os.sched_getaffinity", lambda _process: {0}):
            code = run([str(argument) for argument in arguments])
        return Finished(code, *self.capsys.readouterr())

    def refused(self, *arguments: object, code: int = 2) -> str:
        """The one line of a run that must fail with `code`."""
        finished = self(*arguments)
        assert finished.code == code, finished
        assert finished.err.startswith("recspeed: "), finished
        assert finished.err.count("\n") == 1, finished
        assert finished.err.endswith("\n"), finished
        return finished.err.removeprefix("recspeed: ").rstrip("\n")
