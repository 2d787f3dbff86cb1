"""Cycle model of the DRAM front-end: bank queues, row and column slot, refresh, data return.

The functions take one `FRONT_END` record and the clock `t`. A caller runs `start_of_clock` first,
then asks the `..._choice` functions, all of which see the registers as they are in `t`, and applies
what was chosen last. A timer is kept as the clock in which it permits; for banks, whose timers are
asked for as a set, a wheel of bank masks holds the banks that each coming clock releases.

Source of every rule: ARCHITECTURE.md, "DRAM front-end".
"""

import numpy as np
from numba import njit

from recspeed.models.dram.bank_mask import lowest_bank
from recspeed.models.spec.engine import EngineParameters, RunSettings
from recspeed.models.spec.memory import MemoryPreset

MAXIMUM_BANKS = 64
MAXIMUM_QUEUE = 64
MAXIMUM_WHEEL = 4096
"""Clocks that a bank timer or the way back of the data can take at most, in this model."""

_PARAMETERS = (
    *("tRCD", "tCCD_S", "tCCD_L", "tCCD_R", "tRRD_S", "tRRD_L", "tFAW", "tRFC"),
    *("activate_to_activate", "read_to_activate", "read_to_returned", "refresh_interval"),
    *(
        "refresh_group",
        "banks",
        "all_banks",
        "queue_depth",
        "outstanding",
        "burst_clocks",
        "wheel_mask",
    ),
)
_REGISTERS = (
    *("in_flight", "accepted", "waiting", "active", "bank_ready", "column_ready", "last_stack"),
    *("rrd_s_end", "faw_end", "rfc_end", "ccd_s_end", "ccd_r_end", "data_end"),
    *("due", "next_refresh", "activates", "reads", "refreshes"),
)
_PER_BANK = (
    *("group", "stack_banks", "rrd_l_end", "ccd_l_end", "bank_end", "queue_head", "queue_count"),
    *("open_age", "open_left", "open_row", "open_column", "open_slot"),
)
_PER_REQUEST = ("age", "bursts", "row", "column", "slot")
_WHEELS = ("bank_wheel", "column_wheel", "returned_wheel", "completed_wheel")

FRONT_END = np.dtype(
    [(name, "<i8") for name in _PARAMETERS + _REGISTERS]
    + [("activated", "<i8", (4,))]
    + [(name, "<i8", (MAXIMUM_BANKS,)) for name in _PER_BANK]
    + [(name, "<i8", (MAXIMUM_BANKS * MAXIMUM_QUEUE,)) for name in _PER_REQUEST]
    + [(name, "<i8", (MAXIMUM_WHEEL,)) for name in _WHEELS]
)
"""Parameters and registers. `*_end`: the first clock that the timer permits. `waiting`, `active`,
`bank_ready` (bank timer expired), `column_ready`, `last_stack` (banks of the latest read's stack
ID), `all_banks` and `stack_banks`: masks of banks. `rrd_l_end`, `ccd_l_end`: by bank group."""


def front_end(
    preset: MemoryPreset, parameters: EngineParameters, settings: RunSettings
) -> np.ndarray:
    """A `FRONT_END` array of one record, as it is in clock 0.

    Raises
    ------
    ValueError
        For a timing that exceeds the model's wheel.
    """
    clocks, organization = preset.clocks, preset.organization
    state = np.zeros(1, dtype=FRONT_END)
    for name in ("tRCD", "tCCD_S", "tCCD_L", "tCCD_R", "tRRD_S", "tRRD_L", "tFAW", "tRFC"):
        state[name] = getattr(clocks, name)
    state["activate_to_activate"] = max(clocks.tRC, clocks.tRAS + clocks.tRP)
    state["read_to_activate"] = clocks.tRTP + clocks.tRP
    # Decided in t, on the bus in t + 1, beats in t + 1 + tCL and t + 2 + tCL, seen one later.
    state["read_to_returned"] = 1 + clocks.tCL + 2
    longest = max(
        int(state["activate_to_activate"][0]),
        int(state["read_to_activate"][0]),
        int(state["read_to_returned"][0]) + 1,
    )
    wheel = 1 << longest.bit_length()
    if wheel > MAXIMUM_WHEEL:
        raise ValueError(
            f"{preset.name}: a timing of {longest} clocks; expected fewer than {MAXIMUM_WHEEL}"
        )
    state["wheel_mask"] = wheel - 1
    state["refresh_group"] = settings.refresh_group
    state["refresh_interval"] = clocks.tREFI
    # Group j falls due in tREFI * (1 + R j).
    state["next_refresh"] = clocks.tREFI if settings.refresh_group else np.iinfo(np.int64).max
    state["banks"] = preset.banks
    state["queue_depth"] = parameters.queue_depth
    state["outstanding"] = settings.outstanding
    state["burst_clocks"] = preset.burst_clocks

    bank = np.arange(preset.banks)
    bit = np.uint64(1) << bank.astype(np.uint64)
    stack = bank // (organization.bank_groups * organization.banks_per_group)
    state["group"][0, : preset.banks] = (
        stack * organization.bank_groups + bank % organization.bank_groups
    )
    for number in range(organization.stack_ids):
        mask = np.bitwise_or.reduce(bit[stack == number]).astype(np.int64)
        state["stack_banks"][0, np.flatnonzero(stack == number)] = mask
    for name in ("all_banks", "bank_ready", "column_ready", "last_stack"):
        state[name] = np.bitwise_or.reduce(bit).astype(np.int64)
    return state


@njit(error_model="numpy")
def start_of_clock(fe, t):
    """Let timers expire that permit in `t`; return the slot of the lookup seen complete, or -1."""
    place = t & fe.wheel_mask
    fe.bank_ready |= fe.bank_wheel[place]
    fe.bank_wheel[place] = 0
    fe.column_ready |= fe.column_wheel[place]
    fe.column_wheel[place] = 0
    fe.in_flight -= fe.returned_wheel[place]
    fe.returned_wheel[place] = 0
    if t == fe.next_refresh:
        fe.due += fe.refresh_group
        fe.next_refresh += fe.refresh_group * fe.refresh_interval
    completed = fe.completed_wheel[place]
    fe.completed_wheel[place] = 0
    return completed - 1


@njit(error_model="numpy")
def accepts(fe, bank, bursts):
    """Whether an offered request of `bursts` for `bank` is accepted."""
    return fe.queue_count[bank] < fe.queue_depth and (
        fe.in_flight + bursts <= fe.outstanding or fe.in_flight == 0
    )


@njit(error_model="numpy")
def activate_choice(fe, t):
    """The bank that an ACT goes to, or -1."""
    if fe.due > 0 or t < fe.rfc_end or t < fe.rrd_s_end or t < fe.faw_end:
        return -1
    candidates = fe.waiting & ~fe.active & fe.bank_ready
    choice, oldest = -1, fe.accepted
    while candidates != 0:
        bank = lowest_bank(candidates)
        candidates &= candidates - 1
        age = fe.age[bank * MAXIMUM_QUEUE + fe.queue_head[bank]]
        if age < oldest and t >= fe.rrd_l_end[fe.group[bank]]:
            choice, oldest = bank, age
    return choice


@njit(error_model="numpy")
def read_choice(fe, t):
    """The bank that a read goes to, or -1."""
    if t < fe.ccd_s_end:
        return -1
    candidates = fe.active & fe.column_ready
    if t < fe.ccd_r_end:
        candidates &= fe.last_stack
    choice, oldest = -1, fe.accepted
    while candidates != 0:
        bank = lowest_bank(candidates)
        candidates &= candidates - 1
        if fe.open_age[bank] < oldest and t >= fe.ccd_l_end[fe.group[bank]]:
            choice, oldest = bank, fe.open_age[bank]
    return choice


@njit(error_model="numpy")
def refresh_choice(fe, t):
    """Whether a REF is decided."""
    return fe.due > 0 and fe.active == 0 and fe.bank_ready == fe.all_banks and t >= fe.rfc_end


@njit(error_model="numpy")
def apply_accept(fe, bank, bursts, row, column, slot):
    """Put the accepted request into its bank's queue."""
    place = fe.queue_head[bank] + fe.queue_count[bank]
    place = bank * MAXIMUM_QUEUE + (place & (fe.queue_depth - 1))
    fe.age[place] = fe.accepted
    fe.bursts[place] = bursts
    fe.row[place] = row
    fe.column[place] = column
    fe.slot[place] = slot
    fe.queue_count[bank] += 1
    fe.waiting |= 1 << bank
    fe.accepted += 1
    fe.in_flight += bursts


@njit(error_model="numpy")
def apply_activate(fe, bank, t):
    """Take the head of the bank's queue, open its row and start the timers of an ACT in `t`."""
    place = bank * MAXIMUM_QUEUE + fe.queue_head[bank]
    fe.open_age[bank] = fe.age[place]
    fe.open_left[bank] = fe.bursts[place]
    fe.open_row[bank] = fe.row[place]
    fe.open_column[bank] = fe.column[place]
    fe.open_slot[bank] = fe.slot[place]
    fe.queue_head[bank] = (fe.queue_head[bank] + 1) & (fe.queue_depth - 1)
    fe.queue_count[bank] -= 1
    bit = 1 << bank
    if fe.queue_count[bank] == 0:
        fe.waiting &= ~bit
    fe.active |= bit
    fe.column_ready &= ~bit
    fe.column_wheel[(t + fe.tRCD) & fe.wheel_mask] |= bit
    # Nothing asks for the bank timer of an active bank: its wheel entry is made when it closes.
    fe.bank_ready &= ~bit
    fe.bank_end[bank] = t + fe.activate_to_activate
    fe.rrd_l_end[fe.group[bank]] = t + fe.tRRD_L
    fe.rrd_s_end = t + fe.tRRD_S
    latest = fe.activates & 3
    fe.activated[latest] = t
    fe.activates += 1
    if fe.activates >= 4:
        fe.faw_end = fe.activated[(latest + 1) & 3] + fe.tFAW


@njit(error_model="numpy")
def apply_read(fe, bank, t):
    """Read the open request's next burst; return whether that is its last (RDA)."""
    fe.open_column[bank] += 1
    fe.open_left[bank] -= 1
    fe.ccd_l_end[fe.group[bank]] = t + fe.tCCD_L
    fe.ccd_s_end = t + fe.tCCD_S
    fe.ccd_r_end = t + fe.tCCD_R
    fe.last_stack = fe.stack_banks[bank]
    fe.data_end = t + fe.burst_clocks
    fe.reads += 1
    returned = t + fe.read_to_returned
    fe.returned_wheel[returned & fe.wheel_mask] = 1
    last = fe.open_left[bank] == 0
    if last:
        bit = 1 << bank
        fe.active &= ~bit
        end = max(fe.bank_end[bank], t + fe.read_to_activate)
        fe.bank_wheel[end & fe.wheel_mask] |= bit
        # The accumulator takes the last beat in the clock after the bus has carried it.
        fe.completed_wheel[(returned + 1) & fe.wheel_mask] = fe.open_slot[bank] + 1
    return last


@njit(error_model="numpy")
def apply_refresh(fe, t):
    """Start a REF in `t`."""
    fe.due -= 1
    fe.rfc_end = t + fe.tRFC
    fe.refreshes += 1
