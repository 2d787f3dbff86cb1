"""Which tests build a simulator, prove something or take long: found in their code, for markers.

A test needs a simulator if it, a fixture that it asks for, or a function of the tests that it calls
names one of the functions that build or start one. What reaches them by another way (the command
line does) is skipped when it asks for a simulator in a run that has none (`refuse_simulators`).
"""

import types
from collections.abc import Callable, Iterator

import pytest

from recspeed.tb.simulator import toolchain

STARTERS = frozenset(
    {
        *("build_channel", "build_front_end", "build_harness", "run_batch", "run_rtl"),
        *("simulate_clusters", "simulate_front_ends", "simulate_hbm_channels"),
        *("VerilatedDesign", "switched"),
    }
)
"""Functions and classes by which tests get a simulator."""
PROVERS = frozenset({"run_solver"})
SLOW = frozenset(
    {
        # The program as a process of its own.
        *("subprocess", "Popen"),
        # Whole blocks in Amaranth's own simulator, and models in plain Python.
        *("simulate_in_amaranth", "simulate_front_end_in_amaranth"),
        *("LiteralChannel", "LiteralFrontEnd", "LiteralDram", "LiteralHbmChannel"),
    }
)
"""What takes seconds for each test that names it."""
TEST_PACKAGES = ("support", "test_")


def mark(item: pytest.Function) -> None:
    """Mark a collected test as one with a simulator, with a proof, or slow."""
    names = frozenset(_names(item))
    if names & STARTERS or ("toolchain" in names and names & {"build", "simulate"}):
        item.add_marker("simulator")
    if names & SLOW:
        item.add_marker("slow")
    if names & PROVERS:
        item.add_marker("proof")


def _names(item: pytest.Function) -> Iterator[str]:
    """Every name that occurs in the code of a test, its fixtures and the test code they call."""
    fixtures = getattr(item, "_fixtureinfo", None)
    starts: list[Callable] = [item.function]
    if fixtures is not None:
        starts += [one.func for some in fixtures.name2fixturedefs.values() for one in some]
    seen: set[types.CodeType] = set()
    for start in starts:
        yield from _names_of(start, seen)


def _names_of(function: object, seen: set[types.CodeType]) -> Iterator[str]:
    """Names in a function and in the functions of the tests that it names."""
    function = getattr(function, "__wrapped__", function)  # functools.cache
    if isinstance(function, type):
        for member in vars(function).values():
            if isinstance(member, types.FunctionType):
                yield from _names_of(member, seen)
        return
    if not isinstance(function, types.FunctionType) or function.__code__ in seen:
        return
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        seen.add(code)
        yield from code.co_names
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for name in code.co_names:
            called = function.__globals__.get(name)
            if getattr(called, "__module__", "").startswith(TEST_PACKAGES):
                yield from _names_of(called, seen)


def refuse_simulators() -> None:
    """From now on, whatever asks for a simulator is skipped."""

    def refuse(*_arguments, **_named):
        pytest.skip("needs a simulator")

    toolchain.build = toolchain.simulate = refuse
