"""The error of a run that cannot end, and how long a front-end may stand still."""

from recspeed.models.spec.memory import MemoryPreset


class EndlessRunError(RuntimeError):
    """A run that cannot end: a pattern of no ones, or no clock left between refreshes."""


def patience(preset: MemoryPreset, refresh_group: int) -> int:
    """Clocks without progress after which a run cannot go on.

    Nothing but refresh keeps a request waiting for more than a few hundred clocks. Where tREFI
    leaves little beyond tRFC, refreshes that a drain has delayed are caught up by as little as one
    clock per group, after as many groups as the drain had clocks.
    """
    clocks = preset.clocks
    drain = 1024 + 2 * clocks.tRC + 32 * clocks.tCCD_L + clocks.tCL
    return (1 + refresh_group) * clocks.tREFI * drain


def standstill(progress: int, t: int) -> EndlessRunError:
    """The error of a run in which nothing has moved between two clocks."""
    return EndlessRunError(
        f"the run cannot end: nothing has moved from clock {progress} to clock {t}"
    )
