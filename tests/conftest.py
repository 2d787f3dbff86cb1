"""Settings of every test: caches, markers, and what runs together on one worker.

Markers are described in pyproject.toml; `simulator` and `proof` are given here, by what a test's
code names (`support/quick.py`).
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("support")

os.environ.setdefault("RECSPEED_CACHE", str(Path(__file__).parents[1] / "build" / "cache"))

# Rich keeps the width for good of a console that is made while this is set, as pytest-xdist does;
# without it a test sets the width that it wants.
os.environ.pop("COLUMNS", None)

# Timings are never asserted: the first example of a test may compile its kernels. A failure prints
# the blob that reproduces it.
settings.register_profile("recspeed", deadline=None, print_blob=True)
settings.load_profile("recspeed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a simulator or a proof; keep a file's tests on one worker.

    So what a file's tests share (simulators, kernels, fixtures) is made once. Proofs share nothing
    and take long: each goes where there is room. Where tests with a simulator are left out, one
    that was not known to be one is skipped.
    """
    from support import quick

    if "not simulator" in config.option.markexpr:
        quick.refuse_simulators()
    for item in items:
        if isinstance(item, pytest.Function):
            quick.mark(item)
        if item.get_closest_marker("proof") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
