"""Records of a chip's engine: its registers, those of a link's two engines, and descriptors.

Source of every rule: docs/collective.md, "Engine".
"""

import numpy as np

IDLE, HEAD, BODY = range(3)
"""States of a send and of a receive engine."""

LOCAL_PORT = 15
"""Number of the local write port among a chip's write ports."""

_DESCRIPTOR = ("operation", "wire", "sequence", "local_bytes", "result_bytes")

DESCRIPTOR = np.dtype([(name, "<i8") for name in (*_DESCRIPTOR, "ready_from")])
"""What a descriptor says for all links; `ready_from`: the first clock in which it is offered."""

MESSAGE = np.dtype([("source_bytes", "<i8"), ("destination_bytes", "<i8")])
"""Bytes that a descriptor sends over a link, and that it receives there to its destination."""

PROGRESS = np.dtype([("start", "<i8"), ("completion", "<i8")])
"""Clocks in which a descriptor is taken and completed; -1 before."""

CHIP = np.dtype(
    [(name, "<i8") for name in _DESCRIPTOR]
    + [
        (name, "<i8")
        for name in (
            *("descriptors", "number", "completed", "busy", "finished", "peers"),
            *("error", "error_link", "error_clock"),
            *("local_left", "local_fetch", "local_held"),
            *("stage_1", "stage_2", "stage_3", "offered", "part", "inputs"),
            *("result_left", "written"),
        )
    ]
)
"""Registers of an engine but for its links.

The first ones are the descriptor in force. `descriptors`: how many the chip is given; `number`:
taken so far. `peers`: a bit for each link that has nothing left to do. `error_clock`: clock in
which the host saw the error, -1 while it has not. Lines: `local_left` to hand over, `local_fetch`
to read, `inputs` to reduce, `result_left` to write, `written` of the result. `stage_*`, `offered`:
occupied stages of the reduction; `part`: inputs in the line that is put together.
"""

_SEND = ("state", "phase", "length", "left", "fetch", "index", "held")
_RECEIVE = ("state", "phase", "left", "bytes")

PORT = np.dtype(
    [(f"send_{name}", "<i8") for name in _SEND] + [(f"receive_{name}", "<i8") for name in _RECEIVE]
)
"""Registers of the send and the receive engine of one link.

`send_left`: flits to hand over; `send_fetch`: lines to read; `send_index`: lines read;
`receive_bytes`: of a message that goes to the destination.
"""

HEAD_CONTENTS = np.dtype(
    [(name, "<i8") for name in ("operation", "wire", "phase", "rank", "sequence", "length")]
)
"""Payload of a HEAD."""

STALL = np.dtype([("rate", "<i8"), ("begin", "<i8"), ("end", "<i8")])
"""Clocks in which a chip's write ports are not ready, as `runs.collective.Stall` says."""
