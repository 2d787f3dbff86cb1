"""Records of a link: its parameters, its flits, and the registers of one end in clock 0.

Numbers are totals that never wrap; the hardware's are the same modulo 4096, and the buffers' depths
keep the two apart from each other. Source of every rule: docs/collective.md, "Link".
"""

import numpy as np

from recspeed.models.runs.collective import COUNTERS
from recspeed.models.spec.link import LinkParameters

CHANNELS = 2
"""Virtual channels that an end has registers for."""

START, UP, DOWN = range(3)
"""States of an end."""

PARAMETERS = (
    *("latency", "replay_depth", "receive_depth", "report_interval", "status_interval"),
    *("retry_timeout", "retry_limit", "nak_hold", "start_interval", "silence_limit"),
    "virtual_channels",
)
"""Properties of `LinkParameters` that the clocks of a link depend on."""

LINK_PARAMETERS = np.dtype([(name, "<i8") for name in PARAMETERS])

FLIT = np.dtype(
    [(name, "<i8") for name in ("number", "ack")]
    + [("limit", "<i8", (CHANNELS,))]
    + [(name, "i1") for name in ("kind", "channel", "nak", "heard", "bad")],
    align=True,
)
"""A flit on the wire; all zero is a good IDLE flit.

`kind` and `bad` (its CRC does not fit) always hold. HEAD and DATA have `channel` and `number`,
CONTROL and INIT have `ack`, `limit` per channel, `nak` and `heard`; what a kind does not have is
undefined.
"""

SENT_FLIT = np.dtype([("kind", "i1"), ("channel", "i1")])
"""What the replay buffer keeps of a flit."""

_TRANSMITTER = (
    *("next", "acked", "cursor", "replaying", "timer", "fruitless"),
    *("since_control", "start_timer"),
)
_RECEIVER = (
    *("expected", "accepted", "freed", "heard", "answer", "nak_pending", "nak_timer"),
    "silence",
)
_PER_CHANNEL = ("limit", "sent", "entered", "popped")

LINK_END = np.dtype(
    [(name, "<i8") for name in ("state", *_TRANSMITTER, *_RECEIVER)]
    + [(name, "<i8", (CHANNELS,)) for name in _PER_CHANNEL]
    + [(name, "<i8") for name in COUNTERS]
)
"""Registers and event counters of one end of a link.

Per virtual channel: credit, new flits sent, flits accepted and flits taken by the engine. `sent`
and `entered` are totals of the same flits, at the two ends of a wire.
"""


def link_parameters(link: LinkParameters) -> np.ndarray:
    """A `LINK_PARAMETERS` array of one record."""
    values = np.zeros(1, LINK_PARAMETERS)
    for name in PARAMETERS:
        values[name] = getattr(link, name)
    return values
