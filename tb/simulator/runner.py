"""cocotb's runner for Verilator, with our environment, a log, and a limit on wall-clock time."""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from cocotb_tools import config, runner

from recspeed.tb.simulator.errors import SimulationTimeoutError, ToolchainError
from recspeed.tb.simulator.installation import verilator, verilator_environment

__all__ = ["VerilatorRunner", "telling_line"]


class VerilatorRunner(runner.Verilator):
    """Builds and starts a simulator.

    Parameters
    ----------
    timeout_seconds
        Wall-clock limit of each command; its whole process group ends with it.
    make_variables
        Assignments that makefiles get besides those of `verilator_environment`.
    """

    def __init__(self, timeout_seconds: float, make_variables: Sequence[str] = ()) -> None:
        super().__init__()
        self.timeout_seconds = timeout_seconds
        self.make_variables = make_variables

    def _simulator_in_path_build_only(self) -> None:
        self.executable = str(verilator().program_folder / "verilator")

    def _set_env_common(self) -> None:
        given = dict(self.env)
        super()._set_env_common()
        self.env.update(verilator_environment(*self.make_variables))
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


def telling_line(log: Path) -> str:
    """The line of a log that most likely says what went wrong."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    telling = [line for line in lines if re.search(r"[Ee]rror|Exception", line)]
    return (telling or lines or [""])[-1][:300]
