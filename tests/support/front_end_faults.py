"""Faults of the front-end in what only writes, ranks and a shared command bus have.

Each with the run of `front_end_runs.RUNS` that meets it, and with what must be reported of it.
"""

import re

from recspeed.rtl.dram.attribution import Attribution
from recspeed.rtl.dram.bank_machine import BankMachine
from recspeed.rtl.dram.column_scheduler import ColumnScheduler
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.dram.mode_control import ModeControl
from recspeed.rtl.dram.refresh_control import RefreshControl
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.rtl.dram.write_buffer import WriteBuffer
from recspeed.rtl.lib.queue import Queue
from support.mutation import Mutant

COMMAND = "command at entry"
BEAT = "beat at entry"
WRITTEN = "completed write at entry"
MISSING = "write data missing in clock"
HBM, PER_BANK, ROW_HITS = "HBM", "HBM, per-bank refresh", "HBM, row hits"
DDR4, NINE_LEFT, IDLE = "DDR4", "DDR4, nine bursts left", "DDR4, idle"
GDDR6 = "GDDR6"
OVERDUE, OVERDUE_ROW, WRITES_ALONE = "overdue", "overdue row", "writes alone"

Case = tuple[str, Mutant]


def faults(owner: type, method: str, *cases: tuple[str, str, str, str]) -> tuple[Case, ...]:
    """Faults of one method; a case is `(run, name, change, shows)`.

    A change is a piece of source with `{old -> new}` in it.
    """
    found = []
    for run, name, change, shows in cases:
        old, new = (re.sub(r"\{(.*) -> (.*)\}", place, change) for place in (r"\1", r"\2"))
        assert old != new, f"{name}: changes nothing"
        found.append((run, Mutant(name, owner, method, old, new, shows)))
    return tuple(found)


def jedec(rule: str) -> str:
    """How a violation of `rule` is reported."""
    return f"JEDEC: {rule} in clock"


def _rank_switch(before: str, after: str) -> tuple[str, str, str, str]:
    """The switch between ranks one clock short for these two directions alone."""
    short = f" - (write_before == {before == 'write'} and write_after == {after == 'write'})"
    return (
        DDR4,
        f"rank switch, {before} to {after}, short",
        f"write_before=write_before, write_after=write_after){{ -> {short}}}",
        jedec(f"rank switch, {before} to {after}"),
    )


TURNS = (
    *faults(
        ColumnScheduler,
        "_rank_turn",
        (HBM, "tWTR_S short", "write_to_read(same_group=False){ ->  - 1}", jedec("tWTR_S")),
        (HBM, "tWTR_S long", "write_to_read(same_group=False){ ->  + 1}", COMMAND),
        (HBM, "read to write short", "t.read_to_write{ ->  - 1} if", jedec("read to write")),
        (HBM, "read to write long", "t.read_to_write{ ->  + 1} if", COMMAND),
        (DDR4, "turnaround of the other ranks", "{own -> (own | other)} & (self.wri", COMMAND),
        _rank_switch("read", "read"),
        _rank_switch("read", "write"),
        _rank_switch("write", "read"),
        _rank_switch("write", "write"),
        (DDR4, "rank switch long", "write_after=write_after){ ->  + 1}", COMMAND),
        (DDR4, "rank switch ignored", "len(ranks) > {1 -> 9}", jedec("rank switch, write to read")),
    ),
    *faults(
        ColumnScheduler,
        "_turns",
        (DDR4, "tWTR_L short", "write_to_read(same_group=True){ ->  - 1}", jedec("tWTR_L")),
        (DDR4, "tWTR_L long", "write_to_read(same_group=True){ ->  + 1}", COMMAND),
        (HBM, "tWTR_L after reads", "(hit{ & self.writing -> }, clocks)", COMMAND),
        (HBM, "tWTR_L holds writes", "expired{ | self.writing -> }", COMMAND),
        (HBM, "tCCD_R short", "(hit, t.tCCD_R{ ->  - 1})", jedec("tCCD_R")),
        (HBM, "tCCD_R long", "(hit, t.tCCD_R{ ->  + 1})", COMMAND),
        (GDDR6, "visit gap short", "t.tCCD_S + visit_gap{ ->  - 1}", COMMAND),
        (GDDR6, "visit gap long", "t.tCCD_S + visit_gap{ ->  + 1}", COMMAND),
        (GDDR6, "visit gap without tCCD_S", "{t.tCCD_S +  -> }visit_gap)]", COMMAND),
        (GDDR6, "visit gap after every burst", "self.grant{ & self.last -> }", COMMAND),
    ),
    *faults(
        ColumnScheduler,
        "_spacing",
        (
            DDR4,
            "tCCD_S of the first rank",
            "short[{address.rank(bank) -> 0}]",
            jedec("tCCD_S write"),
        ),
    ),
)

BANKS = (
    *faults(
        BankMachine,
        "_timers",
        (HBM, "tWR short", "t.write_to_activate{ ->  - 1}", jedec("tWR+tRP")),
        (HBM, "tWR long", "t.write_to_activate{ ->  + 1}", COMMAND),
        (HBM, "tRTP for tWR", "active_write, {after_write -> after_read}", jedec("tWR+tRP")),
        (HBM, "tRCD for tRCD_WR", "& self.open_writes, t.{tRCD_WR -> tRCD}", COMMAND),
        (DDR4, "tRCD for a longer tRCD_WR", "s, t.{tRCD_WR -> tRCD})", jedec("tRCD_WR")),
        (HBM, "tRCD_WR for tRCD", "~self.open_writes, t.{tRCD -> tRCD_WR})", jedec("tRCD")),
        (HBM, "tRCD by the wrong mode", "activate & ~self.{open -> move}_writes", COMMAND),
        (HBM, "moves in either mode", "{(self.active_write == self.move_writes) -> 1}", COMMAND),
    ),
    *faults(
        BankMachine,
        "_queues",
        (ROW_HITS, "row hit of the other queue", "hit.eq(Mux({ -> ~}self.active_write", COMMAND),
        (HBM, "head of the other queue", "head.eq(Mux({ -> ~}self.open_writes", COMMAND),
    ),
    *faults(
        Queue,
        "elaborate",
        (WRITES_ALONE, "one request fewer", "self.level != self.depth{ ->  - 1}", COMMAND),
    ),
    *faults(
        DramFrontEnd,
        "_accept_writes",
        (WRITES_ALONE, "write queue never full", "self.writes.valid{ & ready -> }", COMMAND),
    ),
    *faults(
        DramFrontEnd,
        "_schedule",
        (ROW_HITS, "row hit in a turn", "{(self.open_writes == self.move_writes) -> 1}", COMMAND),
    ),
    *faults(
        RowScheduler,
        "elaborate",
        (DDR4, "both ranks in one window", "address.rank(bank) {== rank -> >= 0}))", COMMAND),
    ),
)

WRITES = (
    *faults(
        WriteBuffer,
        "_retire",
        (
            HBM,
            "freed one clock early",
            "bit_select(oldest, 1){ ->  | (self.written & (self.finished_number == oldest))}),",
            COMMAND,
        ),
        (HBM, "freed out of order", "finished.{bit_select(oldest, 1) -> any()}),", COMMAND),
        (HBM, "never freed", "retire.eq({finished.bit_select(oldest, 1) -> 0})", COMMAND),
    ),
    *faults(
        WriteBuffer,
        "_fill",
        (HBM, "wrong place", "self.first + {wanted -> self.bursts}", BEAT),
        (HBM, "every beat in one place", "self.first * beats{ + taken -> }", BEAT),
        (HBM, "limit ignored", "held + wanted <= {self.limit -> WRITE_BUFFER_BURSTS}", COMMAND),
        (HBM, "one burst fewer", "held + wanted {<= -> <} self.limit", COMMAND),
        (HBM, "large writes never taken", "({(held == 0) -> 0} | ", COMMAND),
        (HBM, "one burst too few freed", "Mux(retire, retired{ + 1 -> }, 0)", COMMAND),
        (HBM, "accepted one beat early", "wanted * beats - {1 -> 2}", COMMAND),
    ),
    *faults(
        WriteBuffer,
        "_drain",
        (HBM, "order of data", "head.data.burst * beats + {beat -> beats - 1 - beat}", BEAT),
        (HBM, "write data one clock late", "<< {(cwl - 1) -> cwl}", MISSING),
        (HBM, "write data one clock early", "<< (cwl - {1 -> 2})", MISSING),
        (
            HBM,
            "written one clock early",
            "self.written.eq({last_beat -> reading & (beat == beats - 2)}",
            WRITTEN,
        ),
        (HBM, "written with every burst", "last_beat{ & head.data.last -> }", WRITTEN),
        (WRITES_ALONE, "number for tag", "written_tag.eq(head.data.{tag -> number})", WRITTEN),
    ),
    *faults(
        DramFrontEnd,
        "_drive_bus",
        (HBM, "data of the first burst", 'tag.first{ + moved["burst"] -> }', BEAT),
        (HBM, "writes as reads", "column_write.eq({self.move_writes -> 0})", COMMAND),
        (
            HBM,
            "writes count as reads",
            "move_read.eq(columns.move{ & ~self.move_writes -> })",
            BEAT,
        ),
    ),
)

MODES = faults(
    ModeControl,
    "elaborate",
    (HBM, "turnaround limit ignored", "{(clocks >= self.limit) -> 0}", COMMAND),
    (HBM, "yields one clock late", "clocks {>= -> >} self.limit", COMMAND),
    (HBM, "yields one clock early", "clocks{ ->  + 1} >= self.limit", COMMAND),
    (HBM, "yields at the limit alone", "({~own_wait |  -> }(clocks", COMMAND),
    (HBM, "yields to nobody", "settled{ & other_wait -> }", COMMAND),
    (HBM, "switches with active banks", "~settled{ & ~own_open -> }", COMMAND),
    (HBM, "rows never opened ahead", "settled{ ->  & ~own_open} & other_wait", COMMAND),
    (HBM, "clocks not counted anew", "{, clocks.eq(0) -> }", COMMAND),
    (HBM, "clocks counted from 1", "clocks.eq({0 -> 1})", COMMAND),
    (
        HBM,
        "open writes for open reads",
        "Mux(self.move_writes, self.{writes -> reads}_open",
        COMMAND,
    ),
)

REFRESHES = (
    *faults(
        DramFrontEnd,
        "_refresh",
        (PER_BANK, "REFpb though writes wait", '{ | self._all("waiting_write") -> }', COMMAND),
        (PER_BANK, "REFpb though reads wait", '{self._all("waiting_read") |  -> }', COMMAND),
    ),
    *faults(
        RefreshControl,
        "_all_bank",
        (DDR4, "rank 0 goes first", "taken | refresher.{ready -> due}", COMMAND),
        (IDLE, "both ranks in one clock", "self.slot_free{ & ~taken -> }", COMMAND),
        (DDR4, "REF waits for both ranks", "self.closed{[first:end] -> }.all()", COMMAND),
        (DDR4, "REF of the wrong rank", "self.bank.eq({first -> 0})", COMMAND),
        (DDR4, "one rank is due for both", "self.due{[first:end] -> }.eq", COMMAND),
    ),
)

COUNTERS = (
    *faults(
        DramFrontEnd,
        "_attribute",
        (
            HBM,
            "own requests for others'",
            '{ -> ~}self.open_writes, self._all("waiting_read")',
            "counter",
        ),
    ),
    *faults(
        Attribution,
        "elaborate",
        (HBM, "turnaround for tCCD_L", "Cause.{TCCD_L -> TURNAROUND})", "counter IDLE_TCCD_L"),
    ),
)

SHARED_BUS = faults(
    DramFrontEnd,
    "_schedule",
    (NINE_LEFT, "ACT first with one burst more", "self.preset.burst_clocks{ ->  + 1})", COMMAND),
    (DDR4, "ACT first with one burst fewer", "self.preset.burst_clocks{ ->  - 1})", COMMAND),
    (DDR4, "data left of both directions", "Mux(machine.active{_of_mode -> }, mach", COMMAND),
    (
        GDDR6,
        "ACT beside a burst",
        "~refreshes.wanted{ & ~(few & rows.wanted) -> }",
        jedec("command bus"),
    ),
    (
        GDDR6,
        "burst beside an ACT",
        "~refreshes.wanted & {(few | ~columns.wanted) -> 1}",
        jedec("command bus"),
    ),
    (GDDR6, "burst beside a refresh", "{~refreshes.wanted &  -> }~(few", jedec("command bus")),
    (GDDR6, "ACT beside a refresh", "{~refreshes.wanted &  -> }(few", COMMAND),
    (PER_BANK, "ACT beside a REFpb", "{~refreshes.wanted &  -> }buses.row_grant", COMMAND),
)

OVERDUE_RULE = (
    *faults(
        DramFrontEnd,
        "_overdue",
        (OVERDUE, "overdue rule ignored", "> {OVERDUE -> 4 * OVERDUE}", COMMAND),
        (OVERDUE, "overdue one request late", "> OVERDUE{ ->  + 1}", COMMAND),
        (OVERDUE, "overdue one request early", "> OVERDUE{ ->  - 1}", COMMAND),
        (OVERDUE_ROW, "overdue row one request late", "> OVERDUE{ ->  + 1}", COMMAND),
    ),
    *faults(
        RowScheduler,
        "elaborate",
        (
            OVERDUE_ROW,
            "rows are never overdue",
            "{(candidates & self.overdue).any() -> 0}",
            COMMAND,
        ),
    ),
)

CASES: tuple[Case, ...] = (
    *(*TURNS, *BANKS, *WRITES, *MODES),
    *(*REFRESHES, *COUNTERS, *SHARED_BUS, *OVERDUE_RULE),
)
