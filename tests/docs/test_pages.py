"""Pages and docstrings name files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "ARCHITECTURE.md", ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
SOURCES = [
    path
    for part in ("models", "rtl", "tb", "scripts", "tests")
    for path in (ROOT / part).rglob("*.py")
]
FOLDER = r"(?:models|rtl|tb|scripts|tests|docs)/"
IN_PAGES = re.compile(rf"`({FOLDER}[\w/.*{{}},]+)`")
IN_SOURCES = re.compile(rf"\b({FOLDER}[\w/]+\.(?:py|md|sv|cpp|h|toml))\b")


def missing(text, pattern):
    """Files that `text` names and that are not there; `{a,b}` names two."""
    absent = []
    for name in pattern.findall(text):
        braces = re.search(r"\{([^}]*)\}", name)
        choices = braces[1].split(",") if braces else [""]
        for choice in choices:
            path = name.replace(braces[0], choice) if braces else name
            if not any(ROOT.glob(path.rstrip("/"))):
                absent.append(path)
    return absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names(page):
    assert missing(page.read_text(), IN_PAGES) == []


def test_files_that_docstrings_name():
    named = {str(path.relative_to(ROOT)): missing(path.read_text(), IN_SOURCES) for path in SOURCES}
    assert {path: names for path, names in named.items() if names} == {}


def test_a_file_that_is_not_there_is_seen():
    nowhere = "/".join(["rtl", "no_such", "column_scheduler.py"])
    assert missing("`rtl/{dram,no_such}/column_scheduler.py`", IN_PAGES) == [nowhere]
    assert missing(f"see {nowhere}", IN_SOURCES) == [nowhere]
