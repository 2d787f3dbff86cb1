"""The `recspeed` program: one typer application, one module per command in `scripts/commands`."""

import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache

import typer

from recspeed.models.spec.toml import SpecificationError
from recspeed.models.traces.trace import TraceError
from recspeed.scripts.console import (
    CHECK_FAILED,
    INTERRUPTED,
    USAGE_ERROR,
    UserError,
    fail,
    interrupt_on_termination,
)

COMMAND_MODULES: tuple[str, ...] = (
    "info",
    "characterize",
    "pool",
    "dram",
    "collective",
    "trace",
    "verilog",
    "regress",
    "reproduce",
    "simulate",
    "serve",
    "bench",
)
"""Modules of `recspeed.scripts.commands`, in the order that `--help` lists them.

Each has a function `register(app)` that adds its command or group of commands.
"""

app = typer.Typer(
    name="recspeed",
    help="An open hardware model of a recommender accelerator: RTL, golden models and bounds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """An open hardware model of a recommender accelerator: RTL, golden models and bounds."""


@cache
def load_commands() -> None:
    """Import, once, every command module and let it register itself with `app`."""
    for name in COMMAND_MODULES:
        importlib.import_module(f"recspeed.scripts.commands.{name}").register(app)


# typer does not export the base of its usage errors, and keeps it in different modules from version
# to version: it is the class above BadParameter.
CommandLineError: type[Exception] = typer.BadParameter.__mro__[1]


def usage_message(error: Exception) -> str:
    """One line for a usage error of typer's: the command, what is wrong with it, where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path.removeprefix("recspeed").strip() if context else ""
    text = getattr(error, "format_message", lambda: str(error))()
    line = " ".join(text.split()).rstrip(".")
    prefix = f"{command}: " if command else ""
    return f"{prefix}{line} (see 'recspeed {command + ' ' if command else ''}--help')"


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program on `arguments` and return its exit code.

    0 on success, 2 on a usage error, 1 on a failed check or a failing disk, 130 on Ctrl-C; what is
    not 0 has left one line on standard error.
    """
    try:
        load_commands()
        code = app(args=arguments, prog_name="recspeed", standalone_mode=False)
        if code == INTERRUPTED:
            return fail("interrupted", INTERRUPTED)
        return code if isinstance(code, int) else 0
    except UserError as error:
        return fail(str(error), error.exit_code)
    except (SpecificationError, TraceError) as error:
        return fail(str(error), USAGE_ERROR)
    except CommandLineError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help itself
            print(error, file=sys.stderr)
            return USAGE_ERROR
        return fail(usage_message(error), USAGE_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        return fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output has gone (as in `recspeed info | head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return fail(f"{where}{error.strerror or error}", CHECK_FAILED)


def main() -> None:
    """Run the program and exit."""
    interrupt_on_termination()
    sys.exit(run())


if __name__ == "__main__":
    main()
