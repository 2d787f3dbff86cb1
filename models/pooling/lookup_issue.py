"""Cycle model of the lookup issue: sources, bag slots, range policies, stages A and B.

The functions take one `LOOKUP_ISSUE` record. `issue_clock` does everything that a clock does here;
the slots' part of the read-out is in `output.py`.

Source of every rule: ARCHITECTURE.md, "Streams in" and "Lookup issue and bag slots".
"""

import numpy as np
from numba import njit

from recspeed.models.spec.engine import Policy
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.run import ChannelRun

MAXIMUM_SLOTS = 256
FATAL = int(Policy.FATAL)
CLAMP = int(Policy.CLAMP)

TABLE = np.dtype(
    [(name, "<i8") for name in ("rows", "bursts", "beats", "base_row", "row_span", "policy")]
)
"""One table descriptor as the hardware holds it, and the beats of its pooled vectors."""

_PARAMETERS = ("slots", "bags", "banks")
_REGISTERS = (
    *("bag_offered", "next_bag", "index_offered", "next_index"),
    *("open", "left", "position", "occupied", "oldest"),
    *("a_valid", "a_table", "a_vector", "a_slot"),
    *("b_valid", "b_bank", "b_bursts", "b_row", "b_column", "b_slot"),
    *("lookups", "clamped", "dropped", "error", "error_bag", "error_position", "error_index"),
)
LOOKUP_ISSUE = np.dtype(
    [(name, "<i8") for name in _PARAMETERS + _REGISTERS]
    + [(name, "<u8") for name in ("bag_pattern", "index_pattern")]
    + [(name, "<i8", (MAXIMUM_SLOTS,)) for name in ("pending", "closed")]
)
"""Parameters and registers. `open`: state ISSUE. `next_bag`, `next_index`: the item that the source
holds, or will offer next; so the open bag is `next_bag - 1`. `oldest`: number of the oldest
occupied bag, in slot `oldest mod slots`. `pending`:
lookups that a slot has issued and not had back."""


def table_descriptors(run: ChannelRun) -> np.ndarray:
    """`TABLE[tables]` of the run."""
    descriptors = np.zeros(len(run.tables), dtype=TABLE)
    for entry, table in zip(descriptors, run.tables, strict=True):
        entry["rows"], entry["bursts"] = table.rows, table.bursts(run.preset)
        entry["beats"], entry["policy"] = table.beats, table.policy
        entry["base_row"], entry["row_span"] = table.base_row, table.row_span
    return descriptors


def lookup_issue(run: ChannelRun, preset: MemoryPreset, slots: int) -> np.ndarray:
    """A `LOOKUP_ISSUE` array of one record, as it is in clock 0."""
    state = np.zeros(1, dtype=LOOKUP_ISSUE)
    state["slots"], state["bags"], state["banks"] = slots, len(run.bag_lengths), preset.banks
    state["bag_pattern"], state["index_pattern"] = run.patterns.bags, run.patterns.indices
    return state


@njit(error_model="numpy")
def pattern_permits(pattern, t):
    """Bit `t mod 64` of an unsigned pattern."""
    return (pattern >> np.uint64(t & 63)) & np.uint64(1) != 0


@njit(error_model="numpy")
def oldest_complete(issue):
    """Whether the oldest bag is closed and has all its lookups back."""
    slot = issue.oldest & (issue.slots - 1)
    return issue.occupied > 0 and issue.closed[slot] != 0 and issue.pending[slot] == 0


@njit(error_model="numpy")
def _take_bag(issue, length):
    slot = issue.next_bag & (issue.slots - 1)
    issue.pending[slot] = 0
    issue.closed[slot] = length == 0
    issue.open = length != 0
    issue.left = length
    issue.position = 0
    issue.occupied += 1
    issue.next_bag += 1


@njit(error_model="numpy")
def _take_index(issue, table, rows, policy, index):
    """Take one lookup of the open bag: into stage A, dropped, or the end of the run."""
    bag = issue.next_bag - 1
    slot = bag & (issue.slots - 1)
    # A negative int64 is an unsigned index beyond every table.
    inside = 0 <= index < rows
    issue.lookups += 1
    issue.left -= 1
    if inside or policy == CLAMP:
        issue.a_valid = 1
        issue.a_table = table
        issue.a_vector = index if inside else 0
        issue.a_slot = slot
        issue.pending[slot] += 1
        issue.clamped += not inside
    elif policy == FATAL:
        issue.error = 1
        issue.error_bag = bag
        issue.error_position = issue.position
        issue.error_index = index
        issue.left = 0
    else:
        issue.dropped += 1
    issue.position += 1
    issue.next_index += 1
    if issue.left == 0:
        issue.closed[slot] = 1
        issue.open = 0


@njit(error_model="numpy")
def _move_to_b(issue, tables):
    """Map the address of stage A's lookup into stage B."""
    vector = issue.a_vector
    number = vector // issue.banks
    span = tables[issue.a_table].row_span
    bursts = tables[issue.a_table].bursts
    place = number // span
    issue.b_bank = vector - number * issue.banks
    issue.b_row = tables[issue.a_table].base_row + number - place * span
    issue.b_column = place * bursts
    issue.b_bursts = bursts
    issue.b_slot = issue.a_slot
    issue.b_valid = 1
    issue.a_valid = 0


@njit(error_model="numpy")
def issue_clock(issue, tables, bag_tables, bag_lengths, indices, t, accepted, bag_ready):
    """One clock of sources, slots and stages; return whether an item was taken.

    `accepted`: stage B's request goes to the front-end, by the front-end's registers of `t`;
    `bag_ready`: a slot is free, by the registers of `t`.
    """
    if accepted:
        issue.b_valid = 0
    if issue.a_valid and not issue.b_valid:
        _move_to_b(issue, tables)
    index_taken = issue.open and issue.index_offered and not issue.a_valid
    bag_taken = not issue.open and issue.bag_offered and bag_ready and not issue.error
    if index_taken:
        table = bag_tables[issue.next_bag - 1]
        _take_index(
            issue, table, tables[table].rows, tables[table].policy, indices[issue.next_index]
        )
    if bag_taken:
        _take_bag(issue, bag_lengths[issue.next_bag])
    if bag_taken or not issue.bag_offered:
        more = issue.next_bag < issue.bags
        issue.bag_offered = more and pattern_permits(issue.bag_pattern, t)
    if index_taken or not issue.index_offered:
        more = issue.next_index < len(indices)
        issue.index_offered = more and pattern_permits(issue.index_pattern, t)
    return index_taken or bag_taken
