"""Cycle model of the DRAM front-end, one clock: what expires, what is decided, what that sets.

A user of the model runs `start_of_clock` first, then asks for acceptance and `decide`, which see
the registers as they are in `t`; then `front_end_clock` carries out what was decided, and requests
that were accepted are put into their queues. All of it is inlined into the clock loop
(`forceinline`): that is a quarter faster than calls.

Source of every rule: docs/dram.md.
"""

from numba import njit

from recspeed.models.dram.attribution import NOTHING_TO_DO, attribute
from recspeed.models.dram.column_scheduler import apply_column, column_choice
from recspeed.models.dram.front_end_record import (
    BANK,
    COLUMN_TIMER,
    COMPLETED,
    DONE,
    GROUP_ACT,
    GROUP_COLUMN,
    READ,
    RETURNED,
)
from recspeed.models.dram.mode_control import apply_modes, next_modes
from recspeed.models.dram.refresh_control import (
    all_bank_choice,
    apply_all_bank,
    apply_per_bank,
    per_bank_choice,
    refreshes_fall_due,
)
from recspeed.models.dram.row_scheduler import activate_choice, apply_activate
from recspeed.models.dram.write_buffer import release_oldest, write_is_done
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.front_end import FEW_DATA_CLOCKS

ACT, RD, RDA, REF = (
    int(code) for code in (CommandCode.ACT, CommandCode.RD, CommandCode.RDA, CommandCode.REF)
)
WR, WRA, REFPB = (int(code) for code in (CommandCode.WR, CommandCode.WRA, CommandCode.REFPB))
PER_BANK = 1 << 16
"""Added to the bank of a REFpb where a refresh is named by one number; a REF has its rank there."""


@njit(error_model="numpy", forceinline=True)
def start_of_clock(fe, t):
    """Let timers expire that permit in `t`; return the tag of the read seen complete, or -1.

    A read is complete two clocks after its last beat is on the bus.
    """
    place = t & fe.wheel_mask
    fe.bank_ready |= fe.wheel[place, BANK]
    fe.column_ready |= fe.wheel[place, COLUMN_TIMER]
    fe.group_act_ready |= fe.wheel[place, GROUP_ACT]
    fe.group_column_ready |= fe.wheel[place, GROUP_COLUMN]
    fe.in_flight -= fe.wheel[place, RETURNED]
    if fe.wheel[place, DONE]:
        write_is_done(fe, fe.wheel[place, DONE] - 1)
    completed = fe.wheel[place, COMPLETED]
    for column in range(DONE + 1):
        fe.wheel[place, column] = 0
    refreshes_fall_due(fe, t)
    return completed - 1


@njit(error_model="numpy", forceinline=True)
def decide(fe, t):
    """`(refresh, column, activate)`: rank of a REF or `PER_BANK` + bank, banks; -1 for none."""
    if fe.per_bank:
        refresh = per_bank_choice(fe, t)
        if refresh >= 0:
            refresh += PER_BANK
    else:
        refresh = all_bank_choice(fe, t)
    if refresh >= 0 and fe.shared_bus:
        return refresh, -1, -1
    column = column_choice(fe, t)
    if refresh >= 0:
        return refresh, column, -1
    activate = activate_choice(fe, t)
    if fe.shared_bus and column >= 0 and activate >= 0:
        if fe.bursts_left[fe.column_mode] * fe.burst_clocks <= FEW_DATA_CLOCKS:
            return refresh, -1, activate
        return refresh, column, -1
    return refresh, column, activate


@njit(error_model="numpy", forceinline=True)
def _log(entry, t, code, bank, row, column):
    entry.cycle = t + 1
    entry.row = row
    entry.column = column
    entry.bank = bank
    entry.command = code


@njit(error_model="numpy", forceinline=True)
def _apply_column_command(fe, t, bank, entry):
    row, column, direction = fe.open_row[bank], fe.open_column[bank], fe.column_mode
    closes = apply_column(fe, bank, t)
    code = (RDA if closes else RD) if direction == READ else (WRA if closes else WR)
    _log(entry, t, code, bank, row, column)


@njit(error_model="numpy", forceinline=True)
def apply_commands(fe, t, refresh, column, activate, first, second):
    """Do what `decide` gave; return how many commands went into the log entries `first`, `second`.

    The column command is applied first: whether it keeps its row depends on the victim as in `t`.
    """
    row_command = refresh >= 0 or activate >= 0
    if column >= 0:
        _apply_column_command(fe, t, column, second if row_command else first)
    if refresh >= PER_BANK:
        apply_per_bank(fe, refresh - PER_BANK, t)
        _log(first, t, REFPB, refresh - PER_BANK, 0, 0)
    elif refresh >= 0:
        apply_all_bank(fe, refresh, t)
        _log(first, t, REF, refresh * (fe.banks // fe.ranks), 0, 0)
    elif activate >= 0:
        apply_activate(fe, activate, t)
        _log(first, t, ACT, activate, fe.open_row[activate], 0)
    return (column >= 0) + row_command


@njit(error_model="numpy", forceinline=True)
def front_end_clock(fe, t, decided, user_cause, counts, first, second):
    """Carry out what was decided in `t`: count its cause, commands, modes, the write buffer's ring.

    Requests accepted in `t` are put into their queues afterwards.

    `decided`: what `decide` gave, as far as it was granted; `user_cause`: why the front-end has
    nothing to do, where it has not; `counts`: the clock is counted; `first`, `second`: the log
    entries for its commands. Returns how many commands there are.
    """
    refresh, column, activate = decided
    act_mode, column_mode = next_modes(fe, t)
    cause, fe.row_cause = attribute(fe, t, activate >= 0, column >= 0, fe.row_cause)
    if counts:
        fe.causes[user_cause if cause == NOTHING_TO_DO else cause] += 1
    commands = apply_commands(fe, t, refresh, column, activate, first, second)
    release_oldest(fe)
    apply_modes(fe, t, act_mode, column_mode)
    return commands
