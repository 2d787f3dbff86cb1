"""Name of the harness of a memory channel, and numbers of the peers of its streams."""

TOPLEVEL = "channel_harness"

BAG_SOURCE = 0
INDEX_SOURCE = 1
POOLED_SINK = 0
