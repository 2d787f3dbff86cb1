"""Settings of every test, and the folder in which built simulators are kept between test runs."""

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
