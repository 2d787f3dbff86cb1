"""The one place where the command line asks a fidelity: RTL, golden model or bound.

Fidelities are imported when they are asked: what one needs (a simulator, a compiler) is not needed
for `--help`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from recspeed.scripts.console import CHECK_FAILED, UserError
from recspeed.scripts.options import Fidelity

if TYPE_CHECKING:
    import numpy as np

    from recspeed.models.runs.cluster import ClusterResult, ClusterRun
    from recspeed.models.runs.dram import DramResult, DramRun
    from recspeed.models.spec.cluster import ClusterSettings
    from recspeed.models.spec.front_end import FrontEndSettings
    from recspeed.models.spec.memory import MemoryPreset
    from recspeed.tb.checkers.jedec import JedecReport

WORKLOADS = (
    "scripts/measurements/cluster_workload.py",
    "scripts/measurements/dram_workload.py",
    "models/bounds/visits.py",
)
SOURCES = {
    Fidelity.RTL: ("models/spec", "models/presets", "rtl", "tb", *WORKLOADS),
    Fidelity.GOLDEN: ("models", *WORKLOADS),
    Fidelity.BOUND: ("models",),
}
"""Folders and files that decide what a fidelity answers."""

SUFFIXES = frozenset({".py", ".toml", ".sv", ".cpp", ".h", ".vlt"})


def run_channel(
    fidelity: Fidelity, run: ClusterRun, *, record_commands: bool = True
) -> ClusterResult:
    """Execute `run` on RTL or golden model.

    Raises
    ------
    UserError
        For a run that cannot end, and for a simulation that failed.
    """
    if fidelity is Fidelity.RTL:
        from recspeed.tb.cluster.simulation import simulate_clusters
        from recspeed.tb.simulator.simulation import ChannelError
        from recspeed.tb.simulator.toolchain import ToolchainError

        try:
            return simulate_clusters([run], record_commands=record_commands)[0]
        except (ChannelError, ToolchainError) as error:
            raise UserError(f"rtl on {run.preset.name}: {error}", CHECK_FAILED) from error
    if fidelity is Fidelity.GOLDEN:
        from recspeed.models.cluster.simulation import EndlessRunError, simulate_cluster

        try:
            return simulate_cluster(run, record_commands=record_commands)
        except EndlessRunError as error:
            raise UserError(f"golden on {run.preset.name}: {error}", CHECK_FAILED) from error
    raise ValueError(f"{fidelity} executes no run")


def run_front_ends(fidelity: Fidelity, runs: Sequence[DramRun]) -> tuple[DramResult, ...]:
    """Execute one run, or those of both pseudo channels of an HBM channel, on RTL or golden model.

    The golden model's results hold no beats.

    Raises
    ------
    UserError
        For a run that cannot end, and for a simulation that failed.
    """
    name = runs[0].preset.name
    if fidelity is Fidelity.RTL:
        from recspeed.tb.dram.simulation import (
            simulate_front_ends,
            simulate_hbm_channels,
        )
        from recspeed.tb.simulator.simulation import ChannelError
        from recspeed.tb.simulator.toolchain import ToolchainError

        try:
            if len(runs) == 1:
                return (simulate_front_ends(runs)[0],)
            return simulate_hbm_channels([(runs[0], runs[1])])[0]
        except (ChannelError, ToolchainError) as error:
            raise UserError(f"rtl on {name}: {error}", CHECK_FAILED) from error
    if fidelity is Fidelity.GOLDEN:
        from recspeed.models.dram.hbm_channel import simulate_hbm_channel
        from recspeed.models.dram.simulation import simulate_dram
        from recspeed.models.lib.endless_run import EndlessRunError

        try:
            if len(runs) == 1:
                return (simulate_dram(runs[0], record_beats=False),)
            return simulate_hbm_channel((runs[0], runs[1]), record_beats=False)
        except EndlessRunError as error:
            raise UserError(f"golden on {name}: {error}", CHECK_FAILED) from error
    raise ValueError(f"{fidelity} executes no run")


def run_front_end(fidelity: Fidelity, run: DramRun) -> DramResult:
    """The same for a front-end alone."""
    return run_front_ends(fidelity, (run,))[0]


def channel_bound(preset: MemoryPreset, size: int, settings: ClusterSettings) -> tuple[float, str]:
    """`(clocks, limiter)`: the JEDEC bound per random row visit of a vector of `size` bytes.

    Raises
    ------
    UserError
        For a preset whose refresh leaves no clock.
    """
    from recspeed.models.bounds.visits import visit_bound

    try:
        bound = visit_bound(preset, size, refresh=settings.refresh_group > 0)
    except ValueError as error:
        raise UserError(str(error)) from None
    return float(bound.clocks), bound.limiter


def check_commands(
    preset: MemoryPreset, commands: np.ndarray, settings: FrontEndSettings
) -> JedecReport:
    """Replay a command log against JEDEC's rules of `preset`."""
    from recspeed.tb.checkers import jedec

    return jedec.check(
        preset, commands, refresh=settings.refresh_group > 0, per_bank=settings.per_bank
    )


def check_shared_buses(preset: MemoryPreset, results: Sequence[DramResult]) -> JedecReport:
    """Check that the pseudo channels of an HBM channel share its command buses."""
    from recspeed.tb.checkers import jedec

    return jedec.check_shared_row_bus(preset, results[0].commands, results[1].commands)


@cache
def fidelity_version(fidelity: Fidelity) -> str:
    """Release and a digest of the sources that decide the fidelity's answers."""
    return sources_version(SOURCES[fidelity])


@cache
def sources_version(folders: tuple[str, ...] = ("models", "rtl", "tb")) -> str:
    """Release and a digest of the sources in `folders`, or in files among them."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for folder in folders:
        paths = [root / folder, *sorted((root / folder).rglob("*"))]
        for path in paths:
            if path.suffix in SUFFIXES:
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    return f"{version('recspeed')}+{digest.hexdigest()[:12]}"


def channel_word(preset: MemoryPreset) -> str:
    """What one channel of `preset` is called."""
    return "pseudo channel" if preset.family in ("hbm2", "hbm3") else "channel"
