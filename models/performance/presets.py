"""Workload and system presets: TOML files by name, or a user's own file by path.

A file may start with `extends = "name"`: it then holds only what differs from that preset. Tables
of TOML merge key by key; lists replace.
"""

import tomllib
from pathlib import Path
from typing import Any, Literal

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.spec.system import System
from recspeed.models.spec.toml import parse
from recspeed.models.spec.workload import Workload

FOLDER = Path(__file__).resolve().parent.parent / "presets"
Kind = Literal["systems", "workloads"]


def names(kind: Kind) -> list[str]:
    """Names of all presets of that kind."""
    return sorted(path.stem for path in (FOLDER / kind).glob("*.toml"))


def _path(kind: Kind, name: str) -> Path:
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise SpecificationError(f"{kind[:-1]} file {name} does not exist")
        return path
    if name not in names(kind):
        raise SpecificationError(
            f"{kind[:-1]} '{name}' does not exist; there are {', '.join(names(kind))},"
            f" or give the path of a .toml file"
        )
    return FOLDER / kind / f"{name}.toml"


def merge(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`base` with `change` laid over it: dictionaries merge key by key, the rest replaces."""
    merged = dict(base)
    for key, value in change.items():
        old = merged.get(key)
        merged[key] = (
            merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return merged


def read(kind: Kind, name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The plain dictionary of a preset or file, what it extends laid beneath it."""
    path = _path(kind, name)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecificationError(f"{path}: not a TOML file: {error}") from None
    base = data.pop("extends", None)
    if base is None:
        return data
    if base in (*seen, name):
        raise SpecificationError(f"{path}: extends itself through '{base}'")
    return merge(read(kind, base, (*seen, name)), data)


def workload(name: str) -> Workload:
    """The workload of that name or file; raises SpecificationError with the reason."""
    return parse(Workload, read("workloads", name), f"workload {name}")


def system(name: str) -> System:
    """The system of that name or file; raises SpecificationError with the reason."""
    return parse(System, read("systems", name), f"system {name}")
