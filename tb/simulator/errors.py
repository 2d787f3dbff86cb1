"""What can go wrong between a design and its results."""

__all__ = ["ChannelError", "SimulationTimeoutError", "ToolchainError"]


class ToolchainError(RuntimeError):
    """A simulator that cannot be found, built or run: one line, and where the full log is."""


class SimulationTimeoutError(ToolchainError):
    """The watchdog ended a simulation that took longer than its limit of wall-clock time."""


class ChannelError(RuntimeError):
    """A run that did not end as a run must: too many clocks, or a broken stream law."""
