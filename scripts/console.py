"""What every command shares: user errors, progress bars, files that appear whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

USAGE_ERROR = 2
CHECK_FAILED = 1
INTERRUPTED = 130


class PipedConsole(Console):
    """Rich's console, but a reader that has gone away is an exception rather than an exit."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


out = PipedConsole()
err = PipedConsole(stderr=True)


class UserError(Exception):
    """Something that the user can mend: one line that says what, where, and what was expected."""

    def __init__(self, message: str, exit_code: int = USAGE_ERROR) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def fail(message: str, exit_code: int) -> int:
    """Write `message` as one line on standard error and return `exit_code`."""
    print("recspeed: " + " ".join(message.split()), file=sys.stderr)
    return exit_code


def progress() -> Progress:
    """A progress bar on standard error, so that standard output stays clean for results."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it otherwise.

    The folder of `path` is made when it does not exist. What a link leads to is replaced, not the
    link. A device or pipe is written to, never replaced: a rename would put a file in its place.

    Raises
    ------
    UserError
        When it cannot be written, a full disk included: with `path` and the system's reason.
    """
    if path.is_dir():
        raise UserError(f"{path}: is a folder; expected the name of a file to write")
    temporary: Path | None = None
    try:
        device = path.exists() and not path.is_file()
        target = path if device else path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-",
            suffix=path.suffix,
            dir=None if device else target.parent,
        )
        temporary = Path(name)
        os.close(handle)
        yield temporary
        if device:
            with path.open("wb", buffering=0) as file:
                file.write(temporary.read_bytes())
            temporary.unlink()
        else:
            temporary.chmod(0o644)
            temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            reason = error.strerror or str(error)
            if isinstance(error, FileExistsError | NotADirectoryError):
                reason = f"{path.parent} is no folder"
            raise UserError(f"{path}: cannot be written: {reason}", CHECK_FAILED) from None
        raise
