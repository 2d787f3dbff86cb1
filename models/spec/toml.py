"""Loading validated specifications from TOML; errors are one line: what, where, why."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)


class SpecificationError(ValueError):
    """A specification that cannot be used: one line with place, bad value and reason."""


def describe(error: ValidationError, where: str) -> str:
    """One line for a pydantic error: the first fault in full, and how many more there are."""
    faults = error.errors()
    first = faults[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    value = "" if first["type"] in ("missing", "value_error") else f" (got {first['input']!r})"
    more = f"; and {len(faults) - 1} more faults" if len(faults) > 1 else ""
    return f"{where}: {key + ': ' if key else ''}{message}{value}{more}"


def parse(model: type[Model], values: object, where: str) -> Model:
    """Validate `values` as `model`.

    Raises
    ------
    SpecificationError
        With `where`, the key and the reason, on one line.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SpecificationError(describe(error, where)) from None


def load(model: type[Model], path: Path) -> Model:
    """Read `path` as TOML and validate it as `model`; unknown keys are refused by the model.

    Raises
    ------
    SpecificationError
        When the file cannot be read, is no TOML, or does not fit the model.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SpecificationError(f"{path}: cannot be read: {reason}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError(f"{path}: not valid TOML: {error}") from None
    return parse(model, values, str(path))
