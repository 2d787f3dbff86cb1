"""Builds simulators and starts them: the one way from Verilog to a run.

A build is kept in a cache, named by a hash of everything that goes into it, and made once under a
file lock. Waveforms need a build of their own, `waves=True`.

The cache is the folder that `RECSPEED_CACHE` names, else `recspeed` in the user's cache folder.
"""

import hashlib
import json
import os
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

from recspeed.tb.simulator.design import Design, Generator
from recspeed.tb.simulator.errors import SimulationTimeoutError, ToolchainError
from recspeed.tb.simulator.installation import (
    LEAN,
    MAKE_VARIABLES,
    verilator,
    verilator_environment,
)
from recspeed.tb.simulator.layouts import Layouts, read_layouts, write_layouts
from recspeed.tb.simulator.sources import source_digest

__all__ = [
    "Design",
    "Generator",
    "SimulationTimeoutError",
    "Simulator",
    "ToolchainError",
    "build",
    "build_generated",
    "cache_folder",
    "simulate",
    "verilator",
    "verilator_environment",
]

BUILD_TIMEOUT_SECONDS = 1800


@dataclass(frozen=True)
class Simulator:
    """A built simulation program."""

    folder: Path
    toplevel: str
    waves: bool

    @property
    def layouts(self) -> Layouts:
        """Where the fields of its streams' items are."""
        return read_layouts(self.folder)


def cache_folder() -> Path:
    """The folder that keeps builds between runs."""
    if named := os.environ.get("RECSPEED_CACHE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "recspeed"


def _key(toplevel: str, parts: Sequence[bytes], arguments: Sequence[str], waves: bool) -> str:
    """Name of a build: a hash of `parts`, tools and flags."""
    digest = hashlib.sha256()
    for text in (
        toplevel,
        verilator().description,
        version("cocotb"),
        str(waves),
        *LEAN,
        *MAKE_VARIABLES,
        *arguments,
    ):
        digest.update(text.encode() + b"\0")
    for part in parts:
        digest.update(part + b"\0")
    return f"{toplevel}-{digest.hexdigest()[:20]}"


def _content(sources: Sequence[Path]) -> list[bytes]:
    """Names and text of files."""
    return [part for source in sources for part in (source.name.encode(), source.read_bytes())]


def content_key(
    toplevel: str, design: Design, arguments: Sequence[str] = (), waves: bool = False
) -> str:
    """Name of the build of a design that is there as text."""
    layouts = json.dumps(design.layouts).encode()
    return _key(toplevel, [layouts, *_content(design.sources)], arguments, waves)


def generated_key(
    toplevel: str,
    generator: Generator,
    peers: Sequence[Path] = (),
    arguments: Sequence[str] = (),
    waves: bool = False,
) -> str:
    """Name of the build of a design that is generated, found without generating it."""
    parameters = json.dumps(generator.parameters, sort_keys=True).encode()
    parts = [source_digest(generator.module).encode(), parameters, *_content(peers)]
    return _key(toplevel, parts, arguments, waves)


def build(
    toplevel: str,
    design: Design,
    *,
    arguments: Sequence[str] = (),
    waves: bool = False,
    cache: Path | None = None,
) -> Simulator:
    """Build the simulator of module `toplevel` of `design`, or take it from the cache.

    Parameters
    ----------
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
    name = content_key(toplevel, design, arguments, waves)
    return _cached(name, toplevel, lambda _folder: design, arguments, waves, cache)


def build_generated(
    toplevel: str,
    generator: Generator,
    peers: Sequence[Path],
    *,
    arguments: Sequence[str] = (),
    waves: bool = False,
    cache: Path | None = None,
) -> Simulator:
    """Build the simulator of what `generator` writes, or take it from the cache.

    The cache knows the build by the generator's module and parameters and by the files `peers`,
    which are compiled with it: where the build exists, nothing is generated. Whoever changes the
    generating classes at run time must use `build`.

    Raises
    ------
    ToolchainError
        When it cannot be built; names the log.
    """
    name = generated_key(toplevel, generator, peers, arguments, waves)

    def write(folder: Path) -> Design:
        written = generator.write(folder)
        return Design([*peers, *written.sources], written.layouts)

    return _cached(name, toplevel, write, arguments, waves, cache)


def _cached(
    name: str,
    toplevel: str,
    write: Callable[[Path], Design],
    arguments: Sequence[str],
    waves: bool,
    cache: Path | None,
) -> Simulator:
    """The build `name` of the cache, made once where several processes want it."""
    home = cache or cache_folder()
    home.mkdir(parents=True, exist_ok=True)
    folder = home / name
    if not (folder / toplevel).exists():
        with FileLock(home / f"{name}.lock"):
            if not (folder / toplevel).exists():
                _build_into(folder, toplevel, write, arguments, waves)
    return Simulator(folder, toplevel, waves)


def _build_into(
    folder: Path,
    toplevel: str,
    write: Callable[[Path], Design],
    arguments: Sequence[str],
    waves: bool,
) -> None:
    """Build in a scratch folder, then move the program to `folder` in one step."""
    from recspeed.tb.simulator.runner import VerilatorRunner, telling_line
    from recspeed.tb.simulator.runtime import WITHOUT_RUNTIME, runtime_objects

    with tempfile.TemporaryDirectory(prefix=f".{toplevel}-", dir=folder.parent) as scratch_name:
        scratch = Path(scratch_name)
        design = write(scratch)
        log = folder.parent / f"{folder.name}.log"
        native = [str(source) for source in design.sources if source.suffix == ".cpp"]
        verilog = [source for source in design.sources if source.suffix not in (".cpp", ".h")]
        headers = {source.parent for source in design.sources if source.suffix == ".h"}
        runtime = " ".join(map(str, runtime_objects(folder.parent, waves=waves)))
        includes = [word for place in headers for word in ("-CFLAGS", f"-I{place}")]
        program = VerilatorRunner(BUILD_TIMEOUT_SECONDS, WITHOUT_RUNTIME)
        try:
            program.build(
                sources=verilog,
                build_args=[*LEAN, *arguments, *includes, "-LDFLAGS", runtime, *native],
                hdl_toplevel=toplevel,
                build_dir=scratch / "objects",
                waves=waves,
                timescale=("1ns", "1ps"),
                log_file=log,
            )
        except ToolchainError as error:
            raise ToolchainError(
                f"building {toplevel}: {error}: {telling_line(log)} (full log: {log})"
            ) from None
        finished = scratch / "finished"
        finished.mkdir()
        shutil.move(scratch / "objects" / toplevel, finished / toplevel)
        write_layouts(finished, design.layouts)
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
    """Run the cocotb tests of `test_module` (or only `test_case`) in `folder`.

    `folder` receives `simulation.log`, `results.xml` and, from a build with waves, `dump.vcd`.

    Raises
    ------
    SimulationTimeoutError
        When the run outlasts `timeout_seconds` of wall-clock time.
    ToolchainError
        When the simulator fails, or a cocotb test in it does; names the log.
    """
    from recspeed.tb.simulator.runner import VerilatorRunner, telling_line

    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "simulation.log"
    results = folder / "results.xml"
    results.unlink(missing_ok=True)
    program = VerilatorRunner(timeout_seconds)
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
            _raise_on_failure(simulator.toplevel, results, log, telling_line(log))
        raise ToolchainError(
            f"simulating {simulator.toplevel}: {error}: {telling_line(log)} (full log: {log})"
        ) from None
    _raise_on_failure(simulator.toplevel, results, log, telling_line(log))


def _raise_on_failure(toplevel: str, results: Path, log: Path, fallback: str) -> None:
    """Turn a failed, missing or empty results file into an error."""
    if not results.exists():
        raise ToolchainError(f"simulating {toplevel}: no results: {fallback} (full log: {log})")
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    if not cases:
        raise ToolchainError(f"simulating {toplevel}: no test was run (full log: {log})")
    for case in cases:
        for fault in (*case.iter("failure"), *case.iter("error")):
            message = " ".join((fault.get("message") or fallback).split())
            raise ToolchainError(
                f"simulating {toplevel}: {case.get('name')}: {message} (full log: {log})"
            )
