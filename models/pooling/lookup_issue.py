"""Cycle model of the lookup issue: sources, bag slots, range policies, stages A and B.

The functions take one `LOOKUP_ISSUE` record. `issue_clock` does everything that a clock does here;
the slots' part of the read-out is in `output.py`. They are given no arrays: numba counts references
to an array that is passed between compiled functions, which takes longer than all else here.

Source of every rule: docs/cluster.md, "Streams in" and "Lookup issue and bag slots".
"""

import numpy as np
from numba import njit

from recspeed.models.lib.patterns import pattern_permits
from recspeed.models.runs.cluster import ClusterRun
from recspeed.models.spec.table import Policy

MAXIMUM_SLOTS = 256
FATAL = int(Policy.FATAL)
CLAMP = int(Policy.CLAMP)

MAXIMUM_TABLES = 64

_PARAMETERS = ("slots", "banks", "bags", "lookups_of_run")
_REGISTERS = (
    *("bag_offered", "next_bag", "index_offered", "next_index"),
    *("open", "table", "left", "position", "occupied", "oldest"),
    *("a_valid", "a_table", "a_vector", "a_slot"),
    *("b_valid", "b_bank", "b_bursts", "b_row", "b_column", "b_slot"),
    *("lookups", "clamped", "dropped", "error", "error_bag", "error_position", "error_index"),
)
_PER_TABLE = ("rows", "bursts", "beats", "base_row", "row_span", "policy")
_PER_SLOT = ("slot_pending", "slot_closed", "slot_beats")
LOOKUP_ISSUE = np.dtype(
    [(name, "<i8") for name in _PARAMETERS + _REGISTERS]
    + [(name, "<u8") for name in ("bag_pattern", "index_pattern")]
    + [(name, "<i8", (MAXIMUM_TABLES,)) for name in _PER_TABLE]
    + [(name, "<i8", (MAXIMUM_SLOTS,)) for name in _PER_SLOT]
)
"""Parameters and registers. `open`: state ISSUE. `next_bag`, `next_index`: the item that the source
holds, or will offer next; so the open bag is `next_bag - 1`. `oldest`: number of the oldest
occupied bag, in slot `oldest mod slots`. `slot_pending`:
lookups that a slot has issued and not had back; `slot_beats`: beats of its pooled vector."""


def lookup_issue(run: ClusterRun, slots: int) -> np.ndarray:
    """A `LOOKUP_ISSUE` array of one record, as it is in clock 0."""
    record = np.zeros(1, dtype=LOOKUP_ISSUE)
    record["slots"], record["banks"] = slots, run.preset.banks
    record["bags"], record["lookups_of_run"] = len(run.bag_lengths), len(run.indices)
    for number, table in enumerate(run.tables):
        record["bursts"][0, number] = table.bursts(run.preset)
        for name in ("rows", "beats", "base_row", "row_span", "policy"):
            record[name][0, number] = getattr(table, name)
    record["bag_pattern"], record["index_pattern"] = run.patterns.bags, run.patterns.indices
    return record


@njit(error_model="numpy")
def oldest_complete(issue):
    """Whether the oldest bag is closed and has all its lookups back."""
    slot = issue.oldest & (issue.slots - 1)
    return issue.occupied > 0 and issue.slot_closed[slot] and issue.slot_pending[slot] == 0


@njit(error_model="numpy")
def _take_bag(issue, table, length):
    slot = issue.next_bag & (issue.slots - 1)
    issue.slot_pending[slot] = 0
    issue.slot_closed[slot] = length == 0
    issue.slot_beats[slot] = issue.beats[table]
    issue.table = table
    issue.open = length != 0
    issue.left = length
    issue.position = 0
    issue.occupied += 1
    issue.next_bag += 1


@njit(error_model="numpy")
def _take_index(issue, index):
    """Take one lookup of the open bag: into stage A, dropped, or the end of the run."""
    bag = issue.next_bag - 1
    slot = bag & (issue.slots - 1)
    # A negative int64 is an unsigned index beyond every table.
    inside = 0 <= index < issue.rows[issue.table]
    policy = issue.policy[issue.table]
    issue.lookups += 1
    issue.left -= 1
    if inside or policy == CLAMP:
        issue.a_valid = 1
        issue.a_table = issue.table
        issue.a_vector = index if inside else 0
        issue.a_slot = slot
        issue.slot_pending[slot] += 1
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
        issue.slot_closed[slot] = 1
        issue.open = 0


@njit(error_model="numpy")
def _move_to_b(issue):
    """Map the address of stage A's lookup into stage B."""
    vector = issue.a_vector
    number = vector // issue.banks
    span = issue.row_span[issue.a_table]
    bursts = issue.bursts[issue.a_table]
    place = number // span
    issue.b_bank = vector - number * issue.banks
    issue.b_row = issue.base_row[issue.a_table] + number - place * span
    issue.b_column = place * bursts
    issue.b_bursts = bursts
    issue.b_slot = issue.a_slot
    issue.b_valid = 1
    issue.a_valid = 0


@njit(error_model="numpy")
def issue_clock(issue, t, accepted, bag_ready, table, length, index):
    """One clock of sources, slots and stages; return whether an item was taken.

    `accepted`: stage B's request goes to the front-end, by the front-end's registers of `t`;
    `bag_ready`: a slot is free, by the registers of `t`; `table`, `length`, `index`: what the
    sources offer, or anything.
    """
    if accepted:
        issue.b_valid = 0
    if issue.a_valid and not issue.b_valid:
        _move_to_b(issue)
    index_taken = issue.open and issue.index_offered and not issue.a_valid
    bag_taken = not issue.open and issue.bag_offered and bag_ready and not issue.error
    if index_taken:
        _take_index(issue, index)
    if bag_taken:
        _take_bag(issue, table, length)
    if bag_taken or not issue.bag_offered:
        more = issue.next_bag < issue.bags
        issue.bag_offered = more and pattern_permits(issue.bag_pattern, t)
    if index_taken or not issue.index_offered:
        more = issue.next_index < issue.lookups_of_run
        issue.index_offered = more and pattern_permits(issue.index_pattern, t)
    return index_taken or bag_taken
