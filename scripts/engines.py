"""The one place where the command line calls an engine: RTL, golden model or bound.

Engines are imported when they are called: what an engine needs (a simulator, a compiler) is not
needed for `--help`.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from recspeed.models.spec.engine import RunSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.run import ChannelResult, ChannelRun
from recspeed.scripts.options import Engine

SOURCES = {
    Engine.RTL: ("models/spec", "models/presets", "rtl", "tb"),
    Engine.GOLDEN: ("models",),
    Engine.BOUND: ("models",),
}
"""Folders that decide what an engine answers."""

SUFFIXES = frozenset({".py", ".toml", ".sv", ".cpp", ".h", ".vlt"})


def run_channel(
    engine: Engine,
    run: ChannelRun,
    *,
    record_commands: bool = True,
    progress: Callable[[float], None] | None = None,
) -> ChannelResult:
    """Execute `run` on RTL or golden model. `progress` is told the share that is done, 0 to 1."""
    if engine is Engine.RTL:
        from recspeed.tb.channel import simulate_channels

        return simulate_channels([run], record_commands=record_commands)[0]
    if engine is Engine.GOLDEN:
        from recspeed.models.chip.channel import simulate_channel

        return simulate_channel(run, record_commands=record_commands)
    raise ValueError(f"{engine} executes no run")


def channel_bound(preset: MemoryPreset, size: int, settings: RunSettings) -> tuple[float, str]:
    """`(clocks, limiter)`: the JEDEC bound per random row visit of a vector of `size` bytes."""
    from recspeed.models.bounds import jedec_bound

    bound = jedec_bound(preset, size, refresh=settings.refresh_group > 0)
    return float(bound.clocks_per_visit), bound.limiter


@cache
def engine_version(engine: Engine) -> str:
    """Release and a digest of the sources that decide the engine's answers."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for folder in SOURCES[engine]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    return f"{version('recspeed')}+{digest.hexdigest()[:12]}"


def chip_pseudo_channels(preset: MemoryPreset) -> int:
    """Pseudo channels of the chip, which carries six stacks (arXiv 2009.05230, Table XIV)."""
    return STACKS * preset.organization.pseudo_channels_per_stack


STACKS = 6
