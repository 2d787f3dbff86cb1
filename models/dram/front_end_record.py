"""Registers of the DRAM front-end's cycle model, and their values in clock 0.

A timer is kept as the clock in which it permits. Where the scheduler asks for all banks whose timer
permits, the answer is kept as a mask of banks instead, and a *wheel* holds what each coming
clock releases: the entries of row `t & wheel_mask` take effect in clock t. No bank is ever in a
wheel twice, since what sets such a timer waits for it. Arrays by queue have the read queues first,
then the write queues; *direction* is 0 for reads and 1 for writes.

What is used together lies together: all wheels of one clock in one line of the processor's cache,
and all fields of one waiting request in another. Clocks and masks have 64 bits; numbers of
requests, banks and places have 32, and so has a wheel whose masks fit. So many front-ends can be
stepped in turn: what they touch stays in the cache.

Source of every rule: docs/dram.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from recspeed.models.runs.dram import DramRun
from recspeed.models.spec.front_end import WRITE_BUFFER_BURSTS, FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter

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
    *("activates", "refreshes", "row_cause"),
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
_PER_BANK = ("group_banks", "group_turn_end", "bank_end")
_SMALL_PER_BANK = (
    *("rank", "stack", "group"),
    *("open_age", "open_left", "open_row", "open_column", "open_tag", "open_served"),
)
_PER_QUEUE = ("queue_head", "queue_count", "head_age")

AGE, BURSTS, ROW, COLUMN, TAG = range(5)
"""Columns of `request`."""

BANK, COLUMN_TIMER, GROUP_ACT, GROUP_COLUMN, RETURNED, COMPLETED, DONE = range(7)
"""Columns of `wheel`: what a clock releases. Banks whose bank timer, tRCD, tRRD_L or tCCD_L
permits; bursts that are back; 1 + tag of a read that is complete; 1 + number of a write that is
done."""


@dataclass(frozen=True)
class Capacity:
    """How much a record has room for: banks, requests per queue, clocks of a wheel."""

    banks: int
    queue_depth: int
    wheel: int

    def holds(self, other: "Capacity") -> bool:
        """Whether there is room for everything that `other` asks for."""
        return (
            self.banks >= other.banks
            and self.queue_depth >= other.queue_depth
            and self.wheel >= other.wheel
        )


CAPACITIES = (Capacity(32, 16, 512), Capacity(MAXIMUM_BANKS, MAXIMUM_QUEUE, MAXIMUM_WHEEL))
"""Records come in these sizes only, since compiled code is made for each: the first is enough for
every preset that ships at the usual queue depth."""


@cache
def front_end_type(capacity: Capacity) -> np.dtype:
    """The type of a record of that capacity: parameters and registers, as described below.

    Numbers of 32 bits have a sign, since numba makes a float64 of uint64 and int64 together, and a
    sum of two uint32 is a uint64. Only a wheel's masks have none: their highest bit is a bank.
    """
    queues = 2 * capacity.banks
    wheel_entry = "<u4" if capacity.banks <= 32 else "<i8"
    return np.dtype(
        [(name, "<i8") for name in _TIMINGS + _PARAMETERS + _REGISTERS]
        + [("causes", "<i8", (len(Counter),))]
        + [(name, "<i8", (2,)) for name in _PER_DIRECTION]
        + [("activate_to_column", "<i8", (2,)), ("close_to_activate", "<i8", (2,))]
        + [("rank_switch", "<i8", (4,))]
        + [("rank_turn_end", "<i8", (2 * MAXIMUM_RANKS,))]
        + [("activated", "<i8", (4 * MAXIMUM_RANKS,))]
        + [(name, "<i8", (MAXIMUM_RANKS,)) for name in _PER_RANK]
        + [(name, "<i8", (MAXIMUM_STACKS,)) for name in _PER_STACK]
        + [(name, "<i8", (capacity.banks,)) for name in _PER_BANK]
        + [(name, "<i4", (capacity.banks,)) for name in _SMALL_PER_BANK]
        + [(name, "<i4", (queues,)) for name in _PER_QUEUE]
        + [("wheel", wheel_entry, (capacity.wheel, 8))]
        + [("request", "<i4", (queues * capacity.queue_depth, 8))]
        + [("ring_done", "<i8", (RING,)), ("ring_bursts", "<i8", (RING,))]
    )


FRONT_END = front_end_type(CAPACITIES[0])
"""The smaller type.

`*_end`: the first clock that the timer permits. `turn_end`, `group_turn_latest`: the latest end of
all turn timers that hold back a direction, and of all group turns. `waiting`, `several`, `active`,
`bank_ready` (bank timer permits), `column_ready`, `group_act_ready` (tRRD_L permits),
`group_column_ready` (tCCD_L permits), `round`, `victim` (at most one), `all_banks`, `..._banks`:
masks of banks; `waiting` has those with a request in their queue, `several` those with two or more.
`bursts_left`: of the active requests of each direction. `overdue_from`: number of accepted requests
up to which none that is active or in a queue is overdue. `moved`: bursts of each direction.
`rank_turn_end[4 direction + rank]`, `rank_switch[2 before + after]`. `mode_since`: the first clock
in which `column_mode` is seen. `open_served`: requests of this activation that are served.
`ring_oldest`: number of the oldest write in the buffer's ring, in entry `mod RING`. `causes`:
clocks of each counter; `row_cause`: what the row rules hold back (`attribution.py`).

`request[queue * queue_depth + place]`: a waiting request; `queue` is `direction * banks + bank`.
"""


def front_ends(runs: Sequence[DramRun]) -> np.ndarray:
    """An array of one record per run, as they are in clock 0, of the smallest type for all.

    Raises
    ------
    ValueError
        For a timing that exceeds the model's wheel.
    """
    needed = [_needed(run.preset, run.settings, run.queue_depth) for run in runs]
    capacity = next(size for size in CAPACITIES if all(map(size.holds, needed)))
    records = np.zeros(len(runs), dtype=front_end_type(capacity))
    for number, run in enumerate(runs):
        records[number] = _record(run.preset, run.settings, run.queue_depth, capacity)[0]
    return records


def front_end(preset: MemoryPreset, settings: FrontEndSettings, queue_depth: int) -> np.ndarray:
    """An array of one record, as it is in clock 0, of the smallest type that has room.

    Raises
    ------
    ValueError
        For a timing that exceeds the model's wheel.
    """
    needed = _needed(preset, settings, queue_depth)
    capacity = next(size for size in CAPACITIES if size.holds(needed))
    return _record(preset, settings, queue_depth, capacity)


def _needed(preset: MemoryPreset, settings: FrontEndSettings, queue_depth: int) -> Capacity:
    return Capacity(preset.banks, queue_depth, _wheel_clocks(preset, settings))


def _record(
    preset: MemoryPreset, settings: FrontEndSettings, queue_depth: int, capacity: Capacity
) -> np.ndarray:
    record = np.zeros(1, dtype=front_end_type(capacity))
    _set_timings(record, preset)
    _set_places(record, preset)
    record["wheel_mask"] = _wheel_clocks(preset, settings) - 1
    record["row_cause"] = Counter.IDLE_BANK_BUSY
    never = np.iinfo(np.int64).max
    organization, clocks = preset.organization, preset.clocks
    for name in ("outstanding", "write_buffer", "refresh_group", "row_hits", "turnaround_limit"):
        record[name] = getattr(settings, name)
    record["queue_depth"] = queue_depth
    record["shared_bus"] = organization.command_bus == "shared"
    ranks = np.arange(MAXIMUM_RANKS)
    record["per_bank"] = settings.refresh_group > 0 and settings.per_bank
    all_bank = settings.refresh_group > 0 and not settings.per_bank
    first = np.full(len(ranks), clocks.tREFI)
    record["next_refresh"][0] = np.where(all_bank & (ranks < organization.ranks), first, never)
    record["next_owed"] = preset.per_bank_interval if record["per_bank"][0] else never
    return record


def _set_timings(record: np.ndarray, preset: MemoryPreset) -> None:
    """Every timing in clocks, from the clock of one decision to that of what it holds back."""
    clocks = preset.clocks
    for name in _TIMINGS[:9]:
        record[name] = getattr(clocks, name)
    record["read_to_write"] = preset.read_to_write
    record["write_to_read_s"] = preset.write_to_read(same_group=False)
    record["write_to_read_l"] = preset.write_to_read(same_group=True)
    record["visit_gap"] = clocks.tCCD_S + clocks.visit_gap if clocks.visit_gap else 0
    record["activate_to_activate"] = max(clocks.tRC, clocks.tRAS + clocks.tRP)
    record["activate_to_column"][0] = (clocks.tRCD, clocks.tRCD_WR)
    record["close_to_activate"][0] = (
        clocks.tRTP + clocks.tRP,
        preset.write_to_precharge + clocks.tRP,
    )
    for before in (READ, WRITE):
        for after in (READ, WRITE):
            record["rank_switch"][0, 2 * before + after] = preset.rank_switch(
                write_before=before == WRITE, write_after=after == WRITE
            )
    # Decided in t, on the bus in t + 1, last beat tCL + burst - 1 later, seen one later.
    record["read_to_returned"] = 1 + clocks.tCL + preset.burst_clocks
    record["write_to_done"] = 1 + clocks.tCWL + preset.burst_clocks
    record["refresh_interval"] = clocks.tREFI
    record["per_bank_interval"] = preset.per_bank_interval
    record["burst_clocks"] = preset.burst_clocks


def _wheel_clocks(preset: MemoryPreset, settings: FrontEndSettings) -> int:
    """Clocks of a wheel in which every timer of the banks and the way back of the data fit.

    tRFCpb, by far the longest, counts only where refresh is per bank.
    """
    clocks = preset.clocks
    longest = max(
        *(clocks.tRC, clocks.tRAS + clocks.tRP, clocks.tRCD, clocks.tRCD_WR),
        clocks.tRFCpb if settings.per_bank else 0,
        *(clocks.tRTP + clocks.tRP, preset.write_to_precharge + clocks.tRP),
        *(clocks.tCCD_L, clocks.tRRD_L),
        2 + clocks.tCL + preset.burst_clocks,
        1 + clocks.tCWL + preset.burst_clocks,
    )
    wheel = 1 << longest.bit_length()
    if wheel > MAXIMUM_WHEEL:
        raise ValueError(
            f"{preset.name}: a timing of {longest} clocks; expected fewer than {MAXIMUM_WHEEL}"
        )
    return wheel


def _set_places(record: np.ndarray, preset: MemoryPreset) -> None:
    """Ranks, stacks and groups of the banks, and every bank idle with its timers expired."""
    organization = preset.organization
    bank = np.arange(preset.banks)
    bit = np.uint64(1) << bank.astype(np.uint64)
    rank, stack = bank // preset.banks_per_rank, bank // preset.banks_per_stack
    group = stack * organization.bank_groups + bank % organization.bank_groups

    def mask(chosen) -> np.int64:
        return np.bitwise_or.reduce(bit[chosen]).astype(np.int64)

    record["banks"], record["ranks"] = preset.banks, organization.ranks
    record["stacks_per_rank"] = organization.stack_ids
    record["stacks"] = organization.ranks * organization.stack_ids
    for name, value in (("rank", rank), ("stack", stack), ("group", group)):
        record[name][0, : preset.banks] = value
    for number in np.unique(rank):
        record["rank_banks"][0, number] = mask(rank == number)
    for number in np.unique(stack):
        record["stack_banks"][0, number] = mask(stack == number)
    for number in np.unique(group):
        record["group_banks"][0, np.flatnonzero(group == number)] = mask(group == number)
    everything = mask(bank >= 0)
    for name in (
        *("all_banks", "bank_ready", "column_ready"),
        *("group_act_ready", "group_column_ready"),
    ):
        record[name] = everything
