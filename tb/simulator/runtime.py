"""Verilator's own runtime, compiled once: `verilated*.cpp` is most of the work of a small build.

A makefile that Verilator writes names the runtime's files in `VM_GLOBAL_FAST` and
`VM_GLOBAL_SLOW` and compiles them like those of the design. Builds here leave both empty
(`WITHOUT_RUNTIME`) and link the object files of `runtime_objects` instead.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from filelock import FileLock

from recspeed.tb.simulator.errors import ToolchainError
from recspeed.tb.simulator.installation import LEAN, MAKE_VARIABLES, verilator
from recspeed.tb.simulator.runner import VerilatorRunner, telling_line

__all__ = ["WITHOUT_RUNTIME", "runtime_objects"]

WITHOUT_RUNTIME = ("VM_GLOBAL_FAST=", "VM_GLOBAL_SLOW=")

MODULE = "recspeed_runtime"
SOURCE = f"""module {MODULE} (input wire clk);
    import "DPI-C" function void {MODULE}_tick();
    always @(posedge clk) {MODULE}_tick();
endmodule
"""
"""A design that needs every part of the runtime that ours do: VPI, DPI and, with waves, VCD."""

BUILD_TIMEOUT_SECONDS = 600


def runtime_objects(home: Path, *, waves: bool) -> list[Path]:
    """Object files of the runtime, from the cache folder `home` where they are there.

    They depend on the versions of Verilator and compiler, on the flags of every build and on
    `waves`, and are made once under a file lock.

    Raises
    ------
    ToolchainError
        When they cannot be compiled; names the log.
    """
    folder = home / f"runtime-{_key(waves)}"
    if not folder.exists():
        with FileLock(home / f"{folder.name}.lock"):
            if not folder.exists():
                _compile_into(folder, waves)
    return sorted(folder.glob("*.o"))


def _key(waves: bool) -> str:
    try:
        compiler = subprocess.run(
            ["g++", "-dumpfullversion"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"no usable g++: {error}") from None
    parts = (verilator().description, compiler, str(waves), SOURCE, *LEAN, *MAKE_VARIABLES)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


class _RuntimeRunner(VerilatorRunner):
    """Lets the makefile of `SOURCE` make the runtime's objects instead of a program."""

    def _execute_cmds(
        self, cmds: Sequence[Sequence[str]], cwd: object, stdout: TextIO | None = None
    ) -> None:
        verilate, make = cmds
        super()._execute_cmds([verilate], cwd, stdout)
        names = _global_names((self.build_dir / "Vtop_classes.mk").read_text())
        super()._execute_cmds([[*make, *(f"{name}.o" for name in names)]], cwd, stdout)


def _global_names(makefile: str) -> list[str]:
    """The runtime's files, without suffix, of a `Vtop_classes.mk`."""
    names = []
    for match in re.finditer(r"^VM_GLOBAL_(?:FAST|SLOW) \+= \\\n((?:  .*\\\n)*)", makefile, re.M):
        names += match[1].replace("\\", " ").split()
    return names


def _compile_into(folder: Path, waves: bool) -> None:
    """Compile in a scratch folder, then move the objects to `folder` in one step."""
    log = folder.parent / f"{folder.name}.log"
    with tempfile.TemporaryDirectory(prefix=".runtime-", dir=folder.parent) as name:
        source = Path(name) / f"{MODULE}.sv"
        source.write_text(SOURCE)
        try:
            _RuntimeRunner(BUILD_TIMEOUT_SECONDS).build(
                sources=[source],
                build_args=list(LEAN),
                hdl_toplevel=MODULE,
                build_dir=Path(name) / "objects",
                waves=waves,
                timescale=("1ns", "1ps"),
                log_file=log,
            )
        except ToolchainError as error:
            raise ToolchainError(
                f"compiling Verilator's runtime: {error}: {telling_line(log)} (full log: {log})"
            ) from None
        finished = Path(name) / "finished"
        finished.mkdir()
        for compiled in (Path(name) / "objects").glob("verilated*.o"):
            shutil.move(compiled, finished / compiled.name)
        finished.rename(folder)
