"""The `recspeed` program: one typer application, one module per command in `scripts/commands`."""

import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
import typer.core
import typer.main

from recspeed.scripts.console import (
    CHECK_FAILED,
    INTERRUPTED,
    USAGE_ERROR,
    UserError,
    fail,
)
from recspeed.scripts.interruption import interrupt_on_termination

COMMANDS: dict[str, str] = {
    "info": "Versions and presets, or the derived figures of one preset.",
    "characterize": "Pooling throughput of a memory channel per embedding size.",
    "pool": "Pool every bag of a trace on one memory channel.",
    "dram": "Drive one channel's DRAM front-end with uniformly random requests and check what it "
    "does.",
    "collective": "Run a collective operation on chips that are linked pairwise, and report its "
    "clocks.",
    "trace": "Make, convert and look at lookup traces.",
    "verilog": "Write synthesizable Verilog, the same at every call.",
    "regress": "Compare RTL and golden model bit for bit and clock for clock, and check every "
    "command.",
    "reproduce": "Every table and figure of the paper: tables.csv, CSV and PNG of each, "
    "report.html.",
    "simulate": "Time per phase, throughput and utilisation of a workload on a system.",
    "serve": "Latency percentiles against load, and the highest load within an SLA (equation 1).",
    "bench": "Measure simulation speed, build time, and the fraction of pin rate and bound.",
}
"""The commands in the order that `--help` lists them, each with its line there.

Each is a module of `recspeed.scripts.commands` whose function `register(app)` adds it to an
application. A module is imported when its command runs or its help is asked, and not before.
"""


@cache
def load_command(name: str) -> Any:
    """Import the module of a command, and return the command."""
    alone = typer.Typer(add_completion=False)
    alone.callback()(lambda: None)
    importlib.import_module(f"recspeed.scripts.commands.{name}").register(alone)
    return typer.main.get_group(alone).commands[name]


class LazyCommands(typer.core.TyperGroup):
    """The commands by name; each is imported when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        lines = {name: typer.core.TyperCommand(name, help=line) for name, line in COMMANDS.items()}
        super().__init__(**{**attributes, "commands": lines})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, of stand-ins that have only their lines."""
        typer.core.TyperGroup(
            name=self.name,
            help=self.help,
            params=self.params,
            commands=dict(self.commands),
            rich_markup_mode=self.rich_markup_mode,
        ).format_help(ctx, formatter)


app = typer.Typer(
    name="recspeed",
    cls=LazyCommands,
    help="An open hardware model of a recommender accelerator: RTL, golden models and bounds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """An open hardware model of a recommender accelerator: RTL, golden models and bounds."""


FAULTS_OF_THE_USER = (
    ("recspeed.models.spec.toml", "SpecificationError"),
    ("recspeed.models.traces.trace", "TraceError"),
)
"""Exceptions whose message is for the user: module, name. Not imported for their sake."""


def is_fault_of_the_user(error: Exception) -> bool:
    """Whether `error` is one of `FAULTS_OF_THE_USER`."""
    return any(
        isinstance(error, getattr(sys.modules[module], name))
        for module, name in FAULTS_OF_THE_USER
        if module in sys.modules
    )


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
        code = app(args=arguments, prog_name="recspeed", standalone_mode=False)
        if code == INTERRUPTED:
            return fail("interrupted", INTERRUPTED)
        return code if isinstance(code, int) else 0
    except UserError as error:
        return fail(str(error), error.exit_code)
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
    except Exception as error:
        if not is_fault_of_the_user(error):
            raise
        return fail(str(error), USAGE_ERROR)


def main() -> None:
    """Run the program and exit."""
    interrupt_on_termination()
    sys.exit(run())


if __name__ == "__main__":
    main()
