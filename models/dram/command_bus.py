"""Cycle model of the command buses of an HBM channel: which pseudo channel's proposal is granted.

Source of every rule: docs/dram.md, "The two pseudo channels of an HBM channel".
"""

import numpy as np
from numba import njit

from recspeed.models.spec.memory import MemoryPreset

BUSES = np.dtype(
    [(name, "<i8") for name in ("t", "activate_clocks", "latest_row", "latest_column")]
    + [("row_clock", "<i8", (2,)), ("lost_row", "<i8", (2,))]
)
"""`t`: the next clock. `latest_row`, `latest_column`: the pseudo channel that decided the latest
command on the bus. `row_clock`: clock of the latest row command of each pseudo channel; `lost_row`:
whether it has lost a tie on the row bus since then."""


def command_buses(preset: MemoryPreset) -> np.ndarray:
    """A `BUSES` array of one record, as it is in clock 0: pseudo channel 0 goes first."""
    buses = np.zeros(1, dtype=BUSES)
    buses["activate_clocks"] = preset.organization.activate_clocks
    buses["latest_row"], buses["latest_column"] = 0, 1
    buses["row_clock"] = -preset.organization.activate_clocks
    return buses


@njit(error_model="numpy", forceinline=True)
def _granted(preferred, wants_0, wants_1):
    """The pseudo channel that a bus is granted to, in a tie the `preferred` one; or -1."""
    if wants_0 and wants_1:
        return preferred
    if wants_0:
        return 0
    return 1 if wants_1 else -1


@njit(error_model="numpy", forceinline=True)
def _wants_row(buses, t, refresh, activate, other):
    """Whether there is a row command that the pseudo channel `other` does not block."""
    blocked = buses.row_clock[other] > t - buses.activate_clocks
    return refresh >= 0 or (activate >= 0 and not blocked)


@njit(error_model="numpy", forceinline=True)
def grant(buses, t, proposed_0, proposed_1):
    """What of `(refresh, column, activate)` of each pseudo channel is decided in `t`."""
    refresh_0, column_0, activate_0 = proposed_0
    refresh_1, column_1, activate_1 = proposed_1
    row_0 = _wants_row(buses, t, refresh_0, activate_0, 1)
    row_1 = _wants_row(buses, t, refresh_1, activate_1, 0)
    latest = buses.latest_row
    row = _granted(1 - latest if buses.lost_row[1 - latest] else latest, row_0, row_1)
    column = _granted(1 - buses.latest_column, column_0 >= 0, column_1 >= 0)
    if row >= 0:
        buses.latest_row = row
        buses.row_clock[row] = t
        buses.lost_row[row] = 0
        if row_0 and row_1:
            buses.lost_row[1 - row] = 1
    if column >= 0:
        buses.latest_column = column
    return (
        (
            refresh_0 if row == 0 else -1,
            column_0 if column == 0 else -1,
            activate_0 if row == 0 else -1,
        ),
        (
            refresh_1 if row == 1 else -1,
            column_1 if column == 1 else -1,
            activate_1 if row == 1 else -1,
        ),
    )
