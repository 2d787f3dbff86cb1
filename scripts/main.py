"""The `recspeed` program: one typer application, one module per command in `scripts/commands`."""

import importlib
import sys

import typer

from recspeed.scripts.console import UserError, fail

COMMAND_MODULES: tuple[str, ...] = ("reproduce", "serve", "simulate")
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


def load_commands() -> None:
    """Import every command module and let it register itself with `app`."""
    for name in COMMAND_MODULES:
        importlib.import_module(f"recspeed.scripts.commands.{name}").register(app)


def main() -> None:
    """Run the program: 0 on success, 2 on a usage error, 1 on a failed check, 130 on Ctrl-C."""
    load_commands()
    try:
        app()
    except UserError as error:
        sys.exit(fail(str(error), error.exit_code))
    except KeyboardInterrupt:
        sys.exit(fail("interrupted", 130))
    except OSError as error:
        where = f" {error.filename}:" if error.filename else ""
        sys.exit(fail(f"{where.strip()} {error.strerror or error}".strip(), 1))


if __name__ == "__main__":
    main()
