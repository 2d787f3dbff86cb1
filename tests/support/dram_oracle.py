"""An oracle for the golden model of the DRAM front-end: docs/dram.md, clock by clock.

It is plain Python in the page's order and words, with every rule in its most literal form:
registers are read as they are in t, and what is written is put off to the end of the clock.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from recspeed.models.runs.command_log import COMMAND_LOG, CommandCode
from recspeed.models.runs.dram import BEATS, WRITTEN, DramResult, DramRun
from recspeed.models.spec import hashed_contents as content
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter

MASK = (1 << 64) - 1
READ, WRITE = "read", "write"


def other(direction):
    return WRITE if direction == READ else READ


class Timer:
    """Set to n in clock t it blocks through t + n - 1; of two settings the later end stays."""

    def __init__(self):
        self.end = 0

    def set(self, t, clocks):
        self.end = max(self.end, t + clocks)

    def permits(self, t):
        return t >= self.end


@dataclass
class Request:
    bank: int
    row: int
    column: int
    bursts: int
    user: object = None
    """Whatever the front-end's user knows it by."""
    age: int = -1
    moved: int = 0
    accepted_in: int = -1
    last_in: int = -1
    """Clocks in which it was accepted, and in which its last burst was decided."""


@dataclass
class Decisions:
    """What is decided in one clock."""

    refresh: object = None
    """None, ("REF", rank) or ("REFPB", bank)."""
    column: object = None
    activate: object = None
    modes: tuple = ()


@dataclass
class BankState:
    number: int
    rank: int
    stack: tuple
    group: tuple
    queue: dict = field(default_factory=lambda: {READ: deque(), WRITE: deque()})
    active: Request | None = None
    direction: str = ""
    served: int = 0
    """Requests served in this activation."""
    timer: Timer = field(default_factory=Timer)
    column_timer: Timer = field(default_factory=Timer)


def timers(keys):
    return {key: Timer() for key in keys}


class LiteralFrontEnd:
    """The page's registers. In each clock: `see`, ask, `decide`, `attribute`, `apply`, `put`."""

    def __init__(self, preset: MemoryPreset, settings: FrontEndSettings, queue_depth: int):
        self.preset, self.settings, self.queue_depth = preset, settings, queue_depth
        org = preset.organization
        self.banks = []
        for rank in range(org.ranks):
            for stack in range(org.stack_ids):
                for bank in range(org.banks_per_group):
                    for group in range(org.bank_groups):
                        b = (rank * org.stack_ids + stack) * org.banks_per_group + bank
                        b = b * org.bank_groups + group
                        place = BankState(b, rank, (rank, stack), (rank, stack, group))
                        assert b == len(self.banks)
                        self.banks.append(place)
        self.ranks = list(range(org.ranks))
        groups, stacks = {b.group for b in self.banks}, {b.stack for b in self.banks}
        self.ccd_s, self.rrd_s, self.rfc = (timers(self.ranks) for _ in range(3))
        self.ccd_l, self.rrd_l, self.group_turn = (timers(groups) for _ in range(3))
        self.stack_turn = timers(stacks)
        self.rank_turn = timers((r, d) for r in self.ranks for d in (READ, WRITE))
        self.visit_gap, self.rrefd = Timer(), Timer()
        self.act_mode = self.column_mode = READ
        self.mode_clocks = 0  # M
        self.activated = {r: [] for r in self.ranks}
        self.due = dict.fromkeys(self.ranks, 0)
        self.owed, self.round = 0, set()
        self.in_flight = self.buffered = 0
        self.ages = {READ: 0, WRITE: 0}
        self.ring = deque()
        self.done = set()
        """Ages of the writes that are seen done."""
        self.returned_at, self.done_at = {}, {}
        self.latest_column = None
        self.row_cause = Counter.IDLE_BANK_BUSY
        self.counters = dict.fromkeys(
            (Counter.ACTIVATES, Counter.READS, Counter.WRITES, Counter.REFRESHES), 0
        )
        self.commands = []
        """(bus clock, row, column, bank, code) and the request of a column command."""

    # What is first seen in clock t.

    def see(self, t):
        self.in_flight -= self.returned_at.pop(t, 0)
        self.done |= self.done_at.pop(t, set())
        group, clocks = self.settings.refresh_group, self.preset.clocks
        if group and not self.settings.per_bank:
            for r in self.ranks:
                since = t - clocks.tREFI
                if since >= 0 and since % (clocks.tREFI * group) == 0:
                    self.due[r] += group
        if group and self.settings.per_bank and t and t % self.preset.per_bank_interval == 0:
            self.owed += 1

    # Streams.

    def accepts_read(self, bank, bursts):
        return len(self.banks[bank].queue[READ]) < self.queue_depth and (
            self.in_flight + bursts <= self.settings.outstanding or self.in_flight == 0
        )

    def admits_write(self, bank, bursts):
        return len(self.banks[bank].queue[WRITE]) < self.queue_depth and (
            self.buffered + bursts <= self.settings.write_buffer or self.buffered == 0
        )

    def put(self, t, direction, request):
        request.age, request.accepted_in = self.ages[direction], t
        self.ages[direction] += 1
        self.banks[request.bank].queue[direction].append(request)
        if direction == READ:
            self.in_flight += request.bursts
        else:
            self.buffered += request.bursts
            self.ring.append(request)

    # Decisions of clock t.

    def decide(self, t):
        decided = Decisions(modes=self.decide_modes())
        decided.refresh = self.decide_refresh(t)
        decided.column = self.decide_column(t)
        if self.preset.organization.command_bus == "shared" and decided.refresh:
            decided.column = None
        decided.activate = self.decide_activate(t)
        if decided.refresh:
            decided.activate = None
        if self.preset.organization.command_bus == "shared" and None not in (
            decided.column,
            decided.activate,
        ):
            left = sum(b.active.bursts - b.active.moved for b in self.active_for_columns())
            if self.preset.burst_clocks * left <= 32:
                decided.column = None
            else:
                decided.activate = None
        return decided

    def waits(self, direction):
        return any(b.queue[direction] for b in self.banks)

    def decide_modes(self):
        act, column = self.act_mode, self.column_mode
        if act == column and self.waits(other(act)):
            limit = self.settings.turnaround_limit
            if not self.waits(act) or self.mode_clocks >= limit:
                return other(act), column
        if act != column and not any(
            b.active is not None and b.direction == column for b in self.banks
        ):
            return act, act
        return act, column

    def turns_permit(self, t, b):
        return (
            self.stack_turn[b.stack].permits(t)
            and self.rank_turn[b.rank, self.column_mode].permits(t)
            and (self.column_mode == WRITE or self.group_turn[b.group].permits(t))
            and self.visit_gap.permits(t)
        )

    def active_for_columns(self):
        return [b for b in self.banks if b.active is not None and b.direction == self.column_mode]

    def decide_column(self, t):
        candidates = [
            b
            for b in self.banks
            if b.active is not None
            and b.direction == self.column_mode
            and b.column_timer.permits(t)
            and self.ccd_s[b.rank].permits(t)
            and self.ccd_l[b.group].permits(t)
            and self.turns_permit(t, b)
        ]
        accepted = self.ages[self.column_mode]
        overdue = [
            b
            for b in self.banks
            if b.active is not None
            and b.direction == self.column_mode
            and b.column_timer.permits(t)
            and accepted - b.active.age - 1 >= 512
        ]
        two = [b for b in candidates if len(b.queue[self.act_mode]) >= 2]
        one = [b for b in candidates if len(b.queue[self.act_mode]) == 1]
        if overdue:
            candidates = [b for b in candidates if b in overdue]
        elif two or one:
            candidates = two or one
        if not candidates:
            return None

        def active_in_group(b):
            return sum(a.group == b.group for a in self.active_for_columns())

        def left(b):
            return b.active.bursts - b.active.moved

        most = max(active_in_group(b) for b in candidates)
        candidates = [b for b in candidates if active_in_group(b) == most]
        fewest = min(left(b) for b in candidates)
        candidates = [b for b in candidates if left(b) == fewest]
        return min(candidates, key=lambda b: b.active.age)

    def faw_forbids(self, t, rank):
        window = self.preset.clocks.tFAW
        return sum(t - window + 1 <= a <= t - 1 for a in self.activated[rank]) >= 4

    def rank_is_open(self, t, rank):
        """No all-bank refresh is due, and tRFC permits."""
        return not self.due[rank] and self.rfc[rank].permits(t)

    def victim(self):
        if self.owed >= 4:
            return min(b.number for b in self.banks if b.number not in self.round)
        return None

    def decide_activate(self, t):
        candidates = [
            b
            for b in self.banks
            if b.queue[self.act_mode]
            and b.active is None
            and b.timer.permits(t)
            and self.rrd_l[b.group].permits(t)
            and self.rrd_s[b.rank].permits(t)
            and not self.faw_forbids(t, b.rank)
            and self.rank_is_open(t, b.rank)
            and self.rrefd.permits(t)
            and b.number != self.victim()
        ]

        def age(b):
            return b.queue[self.act_mode][0].age

        oldest = min(candidates, key=age, default=None)
        if oldest is None or self.ages[self.act_mode] - age(oldest) - 1 >= 512:
            return oldest
        two = [b for b in candidates if len(b.queue[self.act_mode]) >= 2]
        return min(two or candidates, key=age)

    def decide_refresh(self, t):
        if not self.settings.refresh_group:
            return None
        if not self.settings.per_bank:
            for r in self.ranks:
                banks = [b for b in self.banks if b.rank == r]
                if (
                    self.due[r]
                    and all(b.active is None for b in banks)
                    and all(b.timer.permits(t) for b in banks)
                    and self.rfc[r].permits(t)
                ):
                    return "REF", r
            return None
        eligible = [
            b
            for b in self.banks
            if b.number not in self.round
            and b.active is None
            and b.timer.permits(t)
            and self.rrefd.permits(t)
            and self.rrd_s[b.rank].permits(t)
            and self.rrd_l[b.group].permits(t)
        ]
        if self.victim() in [b.number for b in eligible]:
            return "REFPB", self.victim()
        idle = [b.number for b in eligible if not b.queue[READ] and not b.queue[WRITE]]
        if self.owed > -4 and idle:
            return "REFPB", min(idle)
        return None

    # What is seen from clock t + 1 on.

    def apply(self, t, decided):
        """All but `put`; to be called after everything of clock t is decided."""
        if self.ring and self.ring[0].age in self.done:
            self.buffered -= self.ring.popleft().bursts
        keeps = decided.column is not None and self.keeps_row(decided.column)
        if decided.refresh:
            self.apply_refresh(t, *decided.refresh)
        if decided.activate is not None:
            self.apply_activate(t, decided.activate)
        if decided.column is not None:
            self.apply_column(t, decided.column, keeps)
        act_mode, column_mode = decided.modes
        self.mode_clocks = 0 if column_mode != self.column_mode else self.mode_clocks + 1
        self.act_mode, self.column_mode = act_mode, column_mode

    def apply_refresh(self, t, kind, which):
        clocks = self.preset.clocks
        self.counters[Counter.REFRESHES] += 1
        if kind == "REF":
            self.due[which] -= 1
            self.rfc[which].set(t, clocks.tRFC)
            bank = min(b.number for b in self.banks if b.rank == which)
            self.commands.append(((t + 1, 0, 0, bank, CommandCode.REF), None))
            return
        self.owed -= 1
        self.round.add(which)
        if len(self.round) == len(self.banks):
            self.round = set()
        self.banks[which].timer.set(t, clocks.tRFCpb)
        self.rrefd.set(t, clocks.tRREFD)
        self.commands.append(((t + 1, 0, 0, which, CommandCode.REFPB), None))

    def apply_activate(self, t, b):
        clocks = self.preset.clocks
        b.active = b.queue[self.act_mode].popleft()
        b.direction, b.served = self.act_mode, 0
        b.column_timer.set(t, clocks.tRCD if b.direction == READ else clocks.tRCD_WR)
        b.timer.set(t, max(clocks.tRC, clocks.tRAS + clocks.tRP))
        self.rrd_l[b.group].set(t, clocks.tRRD_L)
        self.rrd_s[b.rank].set(t, clocks.tRRD_S)
        self.activated[b.rank] = [*self.activated[b.rank][-7:], t]
        self.counters[Counter.ACTIVATES] += 1
        self.commands.append(((t + 1, b.active.row, 0, b.number, CommandCode.ACT), None))

    def keeps_row(self, b):
        """As in t: the burst is the last of its request, and the row is kept for another one."""
        queue = b.queue[b.direction]
        return (
            self.settings.row_hits > 0
            and b.active.moved == b.active.bursts - 1
            and b.served + 1 < self.settings.row_hits
            and len(queue) > 0
            and queue[0].row == b.active.row
            and self.act_mode == self.column_mode
            and not self.due[b.rank]
            and b.number != self.victim()
        )

    def apply_column(self, t, b, keeps):
        preset, request = self.preset, b.active
        clocks, bus = preset.clocks, t + 1
        writes = b.direction == WRITE
        self.latest_column = t
        self.counters[Counter.WRITES if writes else Counter.READS] += 1
        column = request.column + request.moved
        request.moved += 1
        last = request.moved == request.bursts
        self.set_column_timers(t, b, last)
        if writes:
            code = CommandCode.WRA if last and not keeps else CommandCode.WR
            if last:
                on_bus = bus + clocks.tCWL + preset.burst_clocks - 1
                self.done_at.setdefault(on_bus + 1, set()).add(request.age)
        else:
            code = CommandCode.RDA if last and not keeps else CommandCode.RD
            seen = bus + clocks.tCL + preset.burst_clocks
            self.returned_at[seen] = self.returned_at.get(seen, 0) + 1
        self.commands.append(((bus, request.row, column, b.number, code), request))
        if not last:
            return
        request.last_in = t
        b.served += 1
        if keeps:
            b.active = b.queue[b.direction].popleft()
            return
        b.active = None
        precharge = preset.write_to_precharge if writes else clocks.tRTP
        b.timer.set(t, precharge + clocks.tRP)

    def set_column_timers(self, t, b, last):
        preset, clocks = self.preset, self.preset.clocks
        direction = b.direction
        self.ccd_s[b.rank].set(t, clocks.tCCD_S)
        self.ccd_l[b.group].set(t, clocks.tCCD_L)
        for stack, timer in self.stack_turn.items():
            if stack[0] == b.rank and stack != b.stack:
                timer.set(t, clocks.tCCD_R)
        for rank in self.ranks:
            if rank != b.rank:
                for after in (READ, WRITE):
                    switch = preset.rank_switch(
                        write_before=direction == WRITE, write_after=after == WRITE
                    )
                    self.rank_turn[rank, after].set(t, switch)
        if direction == READ:
            self.rank_turn[b.rank, WRITE].set(t, preset.read_to_write)
        else:
            self.rank_turn[b.rank, READ].set(t, preset.write_to_read(same_group=False))
            self.group_turn[b.group].set(t, preset.write_to_read(same_group=True))
        if last and clocks.visit_gap:
            self.visit_gap.set(t, clocks.tCCD_S + clocks.visit_gap)

    # Where the clock goes.

    def rule_3(self, t, w):
        """What holds back the banks W, if no ACT is decided."""
        e = [b for b in w if b.timer.permits(t)]
        if not e:
            return Counter.IDLE_BANK_BUSY
        if not self.rrefd.permits(t) or [b.number for b in e] == [self.victim()]:
            return Counter.IDLE_REFRESH
        if all(self.faw_forbids(t, b.rank) for b in e):
            return Counter.IDLE_TFAW
        return Counter.IDLE_TRRD

    def attribute(self, t, decided):
        """The counter of clock t, or None where the user says why."""
        waiting = [b for b in self.banks if b.queue[self.act_mode] and b.active is None]
        w = [b for b in waiting if self.rank_is_open(t, b.rank)]
        rule_1 = not any(self.rank_is_open(t, r) for r in self.ranks)
        row_cause = self.row_cause
        if not rule_1 and w and decided.activate is None:
            self.row_cause = self.rule_3(t, w)
        if decided.column is not None or (
            self.latest_column is not None and t - self.latest_column < self.preset.burst_clocks
        ):
            return Counter.DATA
        if rule_1:
            return Counter.IDLE_REFRESH
        ready = [
            b
            for b in self.banks
            if b.active is not None
            and b.direction == self.column_mode
            and b.column_timer.permits(t)
        ]
        if ready:
            permitted = any(self.turns_permit(t, b) for b in ready)
            return Counter.IDLE_TCCD_L if permitted else Counter.IDLE_TURNAROUND
        if waiting:
            if not w:
                return Counter.IDLE_REFRESH
            return self.rule_3(t, w) if decided.activate is None else row_cause
        if any(b.active is not None for b in self.banks):
            return Counter.IDLE_BANK_BUSY
        if self.waits(other(self.act_mode)):
            return Counter.IDLE_TURNAROUND
        return None


def hashed_word(w, seed):
    """Word w of 8 bytes of hashed content."""
    x = (w + seed * content.SEED_FACTOR) * content.FACTOR_1 & MASK
    x ^= x >> 32
    x = x * content.FACTOR_2 & MASK
    x ^= x >> 32
    for e in range(4):
        if x >> 16 * e + 10 & 31 == 31:
            x &= ~(1 << 16 * e + 14)
    return x


class Source:
    """Holds an item until it is taken; takes idle clocks from a pattern."""

    def __init__(self, items, pattern):
        self.items, self.pattern = deque(items), pattern
        self.held = None

    def clock(self, t, taken):
        if taken:
            self.held = None
        if self.held is None and self.items and self.pattern >> t % 64 & 1:
            self.held = self.items.popleft()


class LiteralDram:
    """A run of the front-end alone; `run_to_end` gives its result."""

    def __init__(self, run: DramRun):
        self.run = run
        self.front = LiteralFrontEnd(run.preset, run.settings, run.queue_depth)

        def requests(array):
            return [
                Request(*(int(entry[name]) for name in ("bank", "row", "column", "bursts")), number)
                for number, entry in enumerate(array)
            ]

        self.reads, self.writes = requests(run.reads), requests(run.writes)
        beats = sum(request.bursts for request in self.writes) * run.preset.burst_clocks
        words = [
            (hashed_word(2 * n, run.seed + 1), hashed_word(2 * n + 1, run.seed + 1))
            for n in range(beats)
        ]
        self.read_source = Source(self.reads, run.patterns.reads)
        self.write_source = Source(self.writes, run.patterns.writes)
        self.data_source = Source(words, run.patterns.write_data)
        self.taken = []
        """Beats of the offered write."""
        self.write_beats = {}
        self.counters = dict.fromkeys((Counter.DATA, *IDLE_CAUSES), 0)

    def run_to_end(self, limit=2_000_000) -> DramResult:
        t = 0
        while True:
            self.front.see(t)
            if self.is_done(t):
                return self.result(t)
            self.clock(t, self.front.decide(t))
            t += 1
            assert t < limit, "the oracle does not end"

    def result(self, t) -> DramResult:
        """The result of the run, which is done in t."""
        counters = {**self.counters, **self.front.counters, Counter.CYCLES: t}
        before = [(entry, request) for entry, request in self.front.commands if entry[0] < t]
        beats, written = self.data(before)
        return DramResult(
            commands=np.array([entry for entry, _ in before], dtype=COMMAND_LOG),
            beats=np.array(beats, dtype=BEATS),
            written=np.array(written, dtype=WRITTEN),
            counters=counters,
        )

    def is_done(self, t):
        """Every read has returned its last beat before t, every write was written before t."""
        clocks, burst = self.run.preset.clocks, self.run.preset.burst_clocks
        return all(r.last_in >= 0 and r.last_in + clocks.tCL + burst < t for r in self.reads) and (
            all(w.last_in >= 0 and w.last_in + clocks.tCWL + burst < t for w in self.writes)
        )

    def clock(self, t, decided):
        """All of clock t after `see`; `decided`: what the front-end decides in it."""
        front = self.front
        read, write, beat = self.read_source.held, self.write_source.held, self.data_source.held
        accept_read = read is not None and front.accepts_read(read.bank, read.bursts)
        admissible = write is not None and front.admits_write(write.bank, write.bursts)
        take_beat = admissible and beat is not None
        if take_beat:
            self.taken.append(beat)
        accept_write = take_beat and (
            len(self.taken) == write.bursts * self.run.preset.burst_clocks
        )
        cause = front.attribute(t, decided)
        if cause is None:
            offered = read is not None or write is not None
            cause = Counter.IDLE_OUTSTANDING if offered else Counter.IDLE_NO_REQUEST
        self.counters[cause] += 1
        front.apply(t, decided)
        if accept_read:
            front.put(t, READ, read)
        if accept_write:
            front.put(t, WRITE, write)
            self.write_beats[write.user], self.taken = self.taken, []
        self.read_source.clock(t, accept_read)
        self.write_source.clock(t, accept_write)
        self.data_source.clock(t, take_beat)

    def data(self, commands):
        """Beats and completions of the log, command by command."""
        preset, memory = self.run.preset, {}
        burst, clocks = preset.burst_clocks, preset.clocks
        beats, written = [], []
        for (bus, row, column, bank, code), request in commands:
            where = (row, bank, column)
            if code in (CommandCode.WR, CommandCode.WRA):
                n = column - request.column
                memory[where] = self.write_beats[request.user][n * burst : (n + 1) * burst]
                if n == request.bursts - 1:
                    written.append((bus + clocks.tCWL + burst - 1, request.user % (1 << 16)))
            elif code in (CommandCode.RD, CommandCode.RDA):
                first = ((row * preset.banks + bank) * preset.bursts_per_row + column) * 2 * burst
                for beat in range(burst):
                    words = tuple(hashed_word(first + 2 * beat + i, self.run.seed) for i in (0, 1))
                    if where in memory:
                        words = memory[where][beat]
                    at = bus + clocks.tCL + beat
                    tag = request.user % (1 << 16)
                    beats.append((at, tag, column - request.column, beat, words))
        return sorted(beats, key=lambda beat: beat[0]), sorted(written, key=lambda w: w[0])
