"""Golden model of a wire: flits on their way, and the faults of a run.

Source of every rule: docs/collective.md, "A run".
"""

import numpy as np
from numba import njit

from recspeed.models.runs.collective import FaultKind
from recspeed.models.spec.link import Kind

WIRE = np.dtype(
    [(name, "<i8") for name in ("ordinal", "next_fault", "end_of_faults", "copies", "dead_from")]
)
"""State of the wire from a rank to a rank.

`ordinal` counts its flits that are not IDLE. Its faults are entries `next_fault` to
`end_of_faults` - 1 of the run's. `copies`: clocks, this one included, until the flit that is
duplicated has taken the place of another. `dead_from`: the first clock without a flit.
"""

FAULT = np.dtype([("ordinal", "<i8"), ("kind", "<i8")])

_CORRUPT, _DROP = int(FaultKind.CORRUPT), int(FaultKind.DROP)
_KIND_IDLE = int(Kind.IDLE)


@njit(error_model="numpy", forceinline=True)
def pass_wire(flit, copy, wire, faults, clock):
    """Apply the faults of a wire to the flit that it carries in `clock`, in place.

    `copy` holds the flit that is duplicated.
    """
    if flit.kind != _KIND_IDLE:
        fault = wire.next_fault
        if fault < wire.end_of_faults and faults[fault].ordinal == wire.ordinal:
            wire.next_fault += 1
            if faults[fault].kind == _CORRUPT:
                flit.bad = 1
            elif faults[fault].kind == _DROP:
                flit.kind = _KIND_IDLE
            elif wire.copies == 0:
                _write(copy, flit)
                wire.copies = 2
        wire.ordinal += 1
    if wire.copies > 0:
        if wire.copies == 1:
            _write(flit, copy)
        wire.copies -= 1
    if clock >= wire.dead_from:
        flit.kind = _KIND_IDLE
        flit.bad = 0


@njit(error_model="numpy")
def _write(place, flit):
    """Write a flit to another place."""
    place.number, place.ack = flit.number, flit.ack
    place.limit[0], place.limit[1] = flit.limit[0], flit.limit[1]
    place.kind, place.channel, place.bad = flit.kind, flit.channel, flit.bad
    place.nak, place.heard = flit.nak, flit.heard
