"""Registers of the DRAM front-end's cycle model, and their values in clock 0.

A timer is kept as the clock in which it permits. Where the scheduler asks for all banks whose timer
permits, the answer is kept as a mask of banks instead, and a *wheel* holds the banks that each
coming clock releases: entry `t & wheel_mask` is added to the mask in clock t. No bank is ever in a
wheel twice, since what sets such a timer waits for it. Arrays by queue have the read queues first,
then the write queues; *direction* is 0 for reads and 1 for writes.

Source of every rule: docs/dram.md.
"""

import numpy as np

from recspeed.models.spec.front_end import WRITE_BUFFER_BURSTS, FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset

READ, WRITE = 0, 1
MAXIMUM_BANKS = 64
MAXIMUM_QUEUE = 64
MAXIMUM_RANKS = 4
MAXIMUM_STACKS = 16
MAXIMUM_WHEEL = 4096
"""Clocks that a bank timer or the way back of the data can take at most, in this model."""
RING = 2 * WRITE_BUFFER_BURSTS
"""Writes that the write buffer's ring can hold: more than bursts in the buffer."""

_TIMINGS = (
    *("tCCD_S", "tCCD_L", "tCCD_R", "tRRD_S", "tRRD_L", "tFAW", "tRFC", "tRFCpb", "tRREFD"),
    *("read_to_write", "write_to_read_s", "write_to_read_l", "visit_gap"),
    *("activate_to_activate", "read_to_returned", "write_to_done"),
    *("refresh_interval", "per_bank_interval", "burst_clocks"),
)
_PARAMETERS = (
    *("banks", "ranks", "stacks", "stacks_per_rank", "all_banks", "shared_bus", "wheel_mask"),
    *("queue_depth", "outstanding", "write_buffer", "refresh_group", "per_bank", "row_hits"),
    "turnaround_limit",
)
_REGISTERS = (
    *("in_flight", "buffered", "writes_done", "ring_oldest", "next_data_beat"),
    *("act_mode", "column_mode", "mode_since"),
    *("bank_ready", "column_ready", "group_act_ready", "group_column_ready"),
    *("visit_gap_end", "group_turn_latest", "rrefd_end", "data_end"),
    *("owed", "next_owed", "round", "victim"),
    *("activates", "refreshes"),
)
_PER_DIRECTION = (
    *("accepted", "waiting", "several", "active", "bursts_left", "overdue_from"),
    *("moved", "turn_end"),
)
_PER_RANK = (
    *("rank_banks", "ccd_s_end", "rrd_s_end", "faw_end", "rfc_end", "due", "next_refresh"),
    "activates_of_rank",
)
_PER_STACK = ("stack_banks", "stack_turn_end")
_PER_BANK = (
    *("rank", "stack", "group", "group_banks", "group_turn_end", "bank_end"),
    *("open_age", "open_left", "open_row", "open_column", "open_tag", "open_served"),
)
_PER_QUEUE = ("queue_head", "queue_count", "head_age")
_PER_REQUEST = ("age", "bursts", "row", "column", "tag")
_WHEELS = (
    *("bank_wheel", "column_wheel", "group_act_wheel", "group_column_wheel"),
    *("returned_wheel", "completed_wheel", "done_wheel"),
)

FRONT_END = np.dtype(
    [(name, "<i8") for name in _TIMINGS + _PARAMETERS + _REGISTERS]
    + [(name, "<i8", (2,)) for name in _PER_DIRECTION]
    + [("activate_to_column", "<i8", (2,)), ("close_to_activate", "<i8", (2,))]
    + [("rank_switch", "<i8", (4,))]
    + [("rank_turn_end", "<i8", (2 * MAXIMUM_RANKS,))]
    + [("activated", "<i8", (4 * MAXIMUM_RANKS,))]
    + [(name, "<i8", (MAXIMUM_RANKS,)) for name in _PER_RANK]
    + [(name, "<i8", (MAXIMUM_STACKS,)) for name in _PER_STACK]
    + [(name, "<i8", (MAXIMUM_BANKS,)) for name in _PER_BANK]
    + [(name, "<i8", (2 * MAXIMUM_BANKS,)) for name in _PER_QUEUE]
    + [(name, "<i8", (2 * MAXIMUM_BANKS * MAXIMUM_QUEUE,)) for name in _PER_REQUEST]
    + [(name, "<i8", (MAXIMUM_WHEEL,)) for name in _WHEELS]
    + [("ring_done", "<i8", (RING,)), ("ring_bursts", "<i8", (RING,))]
)
"""Parameters and registers.

`*_end`: the first clock that the timer permits. `turn_end`, `group_turn_latest`: the latest end of
all turn timers that hold back a direction, and of all group turns. `waiting`, `several`, `active`,
`bank_ready` (bank timer permits), `column_ready`, `group_act_ready` (tRRD_L permits),
`group_column_ready` (tCCD_L permits), `round`, `victim` (at most one), `all_banks`, `..._banks`:
masks of banks; `waiting` has those with a request in their queue, `several` those with two or more.
`bursts_left`: of the active requests of each direction. `overdue_from`: number of accepted requests
up to which none that is active or in a queue is overdue. `moved`: bursts of each direction.
`rank_turn_end[4 direction + rank]`, `rank_switch[2 before + after]`. `mode_since`: the first clock
in which `column_mode` is seen. `open_served`: requests of this activation that are served.
`ring_oldest`: number of the oldest write in the buffer's ring, in entry `mod RING`.
"""


def front_end(preset: MemoryPreset, settings: FrontEndSettings, queue_depth: int) -> np.ndarray:
    """A `FRONT_END` array of one record, as it is in clock 0.

    Raises
    ------
    ValueError
        For a timing that exceeds the model's wheel.
    """
    state = np.zeros(1, dtype=FRONT_END)
    _set_timings(state, preset)
    _set_places(state, preset)
    never = np.iinfo(np.int64).max
    organization, clocks = preset.organization, preset.clocks
    for name in ("outstanding", "write_buffer", "refresh_group", "row_hits", "turnaround_limit"):
        state[name] = getattr(settings, name)
    state["queue_depth"] = queue_depth
    state["shared_bus"] = organization.command_bus == "shared"
    ranks = np.arange(MAXIMUM_RANKS)
    state["per_bank"] = settings.refresh_group > 0 and settings.per_bank
    all_bank = settings.refresh_group > 0 and not settings.per_bank
    first = np.full(len(ranks), clocks.tREFI)
    state["next_refresh"][0] = np.where(all_bank & (ranks < organization.ranks), first, never)
    state["next_owed"] = preset.per_bank_interval if state["per_bank"][0] else never
    return state


def _set_timings(state: np.ndarray, preset: MemoryPreset) -> None:
    """Every timing in clocks, from the clock of one decision to that of what it holds back."""
    clocks = preset.clocks
    for name in _TIMINGS[:9]:
        state[name] = getattr(clocks, name)
    state["read_to_write"] = preset.read_to_write
    state["write_to_read_s"] = preset.write_to_read(same_group=False)
    state["write_to_read_l"] = preset.write_to_read(same_group=True)
    state["visit_gap"] = clocks.tCCD_S + clocks.visit_gap if clocks.visit_gap else 0
    state["activate_to_activate"] = max(clocks.tRC, clocks.tRAS + clocks.tRP)
    state["activate_to_column"][0] = (clocks.tRCD, clocks.tRCD_WR)
    state["close_to_activate"][0] = (
        clocks.tRTP + clocks.tRP,
        preset.write_to_precharge + clocks.tRP,
    )
    for before in (READ, WRITE):
        for after in (READ, WRITE):
            state["rank_switch"][0, 2 * before + after] = preset.rank_switch(
                write_before=before == WRITE, write_after=after == WRITE
            )
    # Decided in t, on the bus in t + 1, last beat tCL + burst - 1 later, seen one later.
    state["read_to_returned"] = 1 + clocks.tCL + preset.burst_clocks
    state["write_to_done"] = 1 + clocks.tCWL + preset.burst_clocks
    state["refresh_interval"] = clocks.tREFI
    state["per_bank_interval"] = preset.per_bank_interval
    state["burst_clocks"] = preset.burst_clocks
    longest = max(
        *(int(state[name][0]) for name in ("activate_to_activate", "write_to_done", "tRFCpb")),
        int(state["read_to_returned"][0]) + 1,
        int(state["activate_to_column"].max()),
        int(state["close_to_activate"].max()),
        clocks.tCCD_L,
        clocks.tRRD_L,
    )
    wheel = 1 << longest.bit_length()
    if wheel > MAXIMUM_WHEEL:
        raise ValueError(
            f"{preset.name}: a timing of {longest} clocks; expected fewer than {MAXIMUM_WHEEL}"
        )
    state["wheel_mask"] = wheel - 1


def _set_places(state: np.ndarray, preset: MemoryPreset) -> None:
    """Ranks, stacks and groups of the banks, and every bank idle with its timers expired."""
    organization = preset.organization
    bank = np.arange(preset.banks)
    bit = np.uint64(1) << bank.astype(np.uint64)
    rank, stack = bank // preset.banks_per_rank, bank // preset.banks_per_stack
    group = stack * organization.bank_groups + bank % organization.bank_groups

    def mask(chosen) -> np.int64:
        return np.bitwise_or.reduce(bit[chosen]).astype(np.int64)

    state["banks"], state["ranks"] = preset.banks, organization.ranks
    state["stacks_per_rank"] = organization.stack_ids
    state["stacks"] = organization.ranks * organization.stack_ids
    for name, value in (("rank", rank), ("stack", stack), ("group", group)):
        state[name][0, : preset.banks] = value
    for number in np.unique(rank):
        state["rank_banks"][0, number] = mask(rank == number)
    for number in np.unique(stack):
        state["stack_banks"][0, number] = mask(stack == number)
    for number in np.unique(group):
        state["group_banks"][0, np.flatnonzero(group == number)] = mask(group == number)
    everything = mask(bank >= 0)
    for name in (
        *("all_banks", "bank_ready", "column_ready"),
        *("group_act_ready", "group_column_ready"),
    ):
        state[name] = everything
