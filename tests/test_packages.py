"""Packaging: what is installed is what is there, and imports go one way."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("models", "rtl", "tb", "scripts")

ALLOWED = {
    "models": {"models"},
    "rtl": {"rtl", "models"},
    "tb": {"tb", "rtl", "models"},
    "scripts": {"scripts", "tb", "rtl", "models"},
}


def test_every_package_is_listed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(("recspeed", *path.parent.relative_to(ROOT).parts))
        for part in PARTS
        for path in (ROOT / part).rglob("__init__.py")
    }
    assert set(listed) == folders
    assert len(listed) == len(set(listed))


def test_every_folder_with_modules_is_a_package():
    for part in PARTS:
        for path in (ROOT / part).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path


@pytest.mark.parametrize("part", PARTS)
def test_imports_go_one_way(part):
    """scripts -> tb -> rtl -> models.spec; models never import rtl or tb."""
    for path in (ROOT / part).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if not name.startswith("recspeed."):
                    continue
                target = name.split(".")[1]
                assert target in ALLOWED[part], f"{path}: {name}"
                if part == "rtl" and target == "models":
                    assert name.startswith("recspeed.models.spec"), f"{path}: {name}"


def test_rtl_keeps_annotations_as_they_are():
    """Postponed annotations break components that are written as annotated classes."""
    for path in (ROOT / "rtl").rglob("*.py"):
        assert "from __future__ import annotations" not in path.read_text(), path
