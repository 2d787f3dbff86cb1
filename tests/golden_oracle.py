"""An oracle for the golden model: ARCHITECTURE.md's memory channel, clock by clock.

It is plain Python in the page's order and words, with every rule in its most literal form. It moves
the data beat by beat from a DRAM that it fills itself, and rounds with fractions.
"""

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from golden_oracle_data import MASK, Dram, half_value, pooled_bits

from recspeed.models.spec.engine import Policy, slot_layout
from recspeed.models.spec.registers import Counter
from recspeed.models.spec.run import COMMAND_LOG, ChannelResult, ChannelRun, CommandCode


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
    age: int
    bank: int
    row: int
    column: int
    left: int
    bag: int
    table: int
    beat: int = 0


@dataclass
class Bag:
    number: int
    table: int
    closed: bool = False
    pending: int = 0
    sums: dict = field(default_factory=dict)
    """Value and set of the special values seen, by element."""


class LiteralChannel:
    """The channel's registers; `run_to_end` steps them and gives the result."""

    def __init__(self, run: ChannelRun):
        self.run = run
        preset = run.preset
        org = preset.organization
        self.t = 0
        self.slots = slot_layout(run.parameters, preset, run.tables)[0]
        self.dram = Dram(run)
        # Streams and lookup issue.
        self.bag_queue = deque(
            (int(a), int(b)) for a, b in zip(run.bag_tables, run.bag_lengths, strict=True)
        )
        self.index_queue = deque(int(index) & MASK for index in run.indices)
        self.bag_held = self.index_held = False
        self.bags = deque()
        self.next_bag = 0
        self.issuing = None
        self.left = self.position = 0
        self.stage_a = self.stage_b = None
        # Front-end.
        banks = range(preset.banks)
        self.group = [
            (b // (org.bank_groups * org.banks_per_group), b % org.bank_groups) for b in banks
        ]
        self.queue = [deque() for _ in banks]
        self.active = [None for _ in banks]
        self.bank_timer = [Timer() for _ in banks]
        self.column_timer = [Timer() for _ in banks]
        self.rrd_l = {group: Timer() for group in self.group}
        self.ccd_l = {group: Timer() for group in self.group}
        self.rrd_s, self.rfc, self.ccd_s, self.ccd_r = (Timer() for _ in range(4))
        self.activates = []
        self.in_flight = self.accepted = self.due = 0
        self.latest_stack = None
        self.latest_read = None
        # What comes later: by the clock in which it is seen.
        self.return_at, self.complete_at, self.beat_at, self.add_at = {}, {}, {}, {}
        # Output.
        self.beats_read = 0
        self.reg_r = self.reg_o = None
        self.bags_out = 0
        self.row_cause = Counter.IDLE_BANK_BUSY
        self.counters = dict.fromkeys(Counter, 0)
        self.commands, self.transfers = [], []

    def run_to_end(self, limit=2_000_000) -> ChannelResult:
        while not self.done():
            self.clock()
            self.t += 1
            assert self.t < limit, "the oracle does not end"
        self.counters[Counter.CYCLES] = self.t
        transfers = self.transfers
        return ChannelResult(
            bag=np.array([x[0] for x in transfers], dtype=np.int64),
            beat=np.array([x[1] for x in transfers], dtype=np.int64),
            lanes=np.array([x[2] for x in transfers], dtype=np.uint32).reshape(-1, 8),
            transfer_cycle=np.array([x[3] for x in transfers], dtype=np.int64),
            commands=np.array(
                [entry for entry in self.commands if entry[0] < self.t], dtype=COMMAND_LOG
            ),
            counters=self.counters,
        )

    def done(self):
        self.arrivals()
        if self.bags_out == len(self.run.bag_lengths):
            return True
        return bool(
            self.counters[Counter.ERROR]
            and not self.bags
            and self.reg_r is None
            and self.reg_o is None
        )

    def arrivals(self):
        """What is first seen in this clock."""
        t, settings = self.t, self.run.settings
        self.in_flight -= self.return_at.pop(t, 0)
        for bag, first, elements in self.add_at.pop(t, []):
            size = self.run.tables[bag.table].elements
            for lane, bits in enumerate(elements):
                if first + lane < size:
                    total, specials = bag.sums.setdefault(first + lane, (Fraction(0), frozenset()))
                    value = half_value(bits)
                    if isinstance(value, str):
                        bag.sums[first + lane] = total, specials | {value}
                    else:
                        bag.sums[first + lane] = total + value, specials
        for bag, first, elements in self.beat_at.pop(t, []):
            self.add_at.setdefault(t + 2, []).append((bag, first, elements))
        for bag in self.complete_at.pop(t, []):
            bag.pending -= 1
        group, interval = settings.refresh_group, self.run.preset.clocks.tREFI
        if group and t >= interval and (t - interval) % (interval * group) == 0:
            self.due += group

    def clock(self):
        t = self.t
        refresh_idle = self.due == 0 and self.rfc.permits(t)
        act = self.act_decision()
        read = self.read_decision()
        refresh = (
            self.due > 0
            and all(request is None for request in self.active)
            and all(timer.permits(t) for timer in self.bank_timer)
            and self.rfc.permits(t)
        )
        oldest_complete = len(self.bags) > 0 and self.bags[0].closed and self.bags[0].pending == 0
        accept = self.stage_b is not None and self.accepts(self.stage_b)
        b_ready = self.stage_b is None or accept
        a_ready = self.stage_a is None or b_ready
        take_index = self.issuing is not None and self.index_held and a_ready
        take_bag = (
            self.issuing is None
            and self.bag_held
            and len(self.bags) < self.slots
            and not self.counters[Counter.ERROR]
        )
        self.attribute(act, read, refresh_idle, oldest_complete)
        if act is not None:
            self.activate(act)
        if refresh:
            self.due -= 1
            self.rfc.set(t, self.run.preset.clocks.tRFC)
            self.counters[Counter.REFRESHES] += 1
            self.commands.append((t + 1, 0, 0, 0, CommandCode.REF))
        if read is not None:
            self.read(read)
        self.output(oldest_complete)
        if accept:
            request = self.stage_b
            request.age = self.accepted
            self.accepted += 1
            self.queue[request.bank].append(request)
            self.in_flight += request.left
        if b_ready:
            self.stage_b = self.address(self.stage_a) if self.stage_a else None
        if a_ready:
            self.stage_a = None
        patterns = self.run.patterns
        if take_index:
            self.take_index()
        if take_index or not self.index_held:
            self.index_held = bool(self.index_queue) and patterns.indices >> t % 64 & 1 == 1
        if take_bag:
            self.take_bag()
        if take_bag or not self.bag_held:
            self.bag_held = bool(self.bag_queue) and patterns.bags >> t % 64 & 1 == 1

    def take_bag(self):
        table, length = self.bag_queue.popleft()
        bag = Bag(self.next_bag, table)
        self.next_bag += 1
        self.bags.append(bag)
        if length == 0:
            bag.closed = True
        else:
            self.issuing, self.left, self.position = bag, length, 0

    def take_index(self):
        index, bag, counters = self.index_queue.popleft(), self.issuing, self.counters
        table = self.run.tables[bag.table]
        counters[Counter.LOOKUPS] += 1
        self.left -= 1
        if index < table.rows:
            self.stage_a = bag, index
        elif table.policy == Policy.CLAMP:
            self.stage_a = bag, 0
            counters[Counter.CLAMPED] += 1
        elif table.policy == Policy.DROP:
            counters[Counter.DROPPED] += 1
        else:
            counters[Counter.ERROR] = 1
            counters[Counter.ERROR_BAG] = bag.number
            counters[Counter.ERROR_POSITION] = self.position
            counters[Counter.ERROR_INDEX] = index
            self.left = 0
        if self.stage_a is not None:
            bag.pending += 1
        self.position += 1
        if self.left == 0:
            bag.closed = True
            self.issuing = None

    def address(self, lookup):
        bag, v = lookup
        preset, table = self.run.preset, self.run.tables[bag.table]
        w, k = v // preset.banks, table.bursts(preset)
        return Request(
            age=-1,
            bank=v % preset.banks,
            row=table.base_row + w % table.row_span,
            column=w // table.row_span * k,
            left=k,
            bag=bag,
            table=bag.table,
        )

    def accepts(self, request):
        return len(self.queue[request.bank]) < self.run.parameters.queue_depth and (
            self.in_flight + request.left <= self.run.settings.outstanding or self.in_flight == 0
        )

    def faw_forbids(self):
        window = self.run.preset.clocks.tFAW
        return sum(self.t - window + 1 <= a <= self.t - 1 for a in self.activates[-8:]) >= 4

    def act_decision(self):
        t = self.t
        if self.due or self.faw_forbids() or not (self.rrd_s.permits(t) and self.rfc.permits(t)):
            return None
        candidates = [
            queue[0]
            for bank, queue in enumerate(self.queue)
            if queue
            and self.active[bank] is None
            and self.bank_timer[bank].permits(t)
            and self.rrd_l[self.group[bank]].permits(t)
        ]
        return min(candidates, key=lambda request: request.age, default=None)

    def read_decision(self):
        t = self.t
        candidates = [
            request
            for bank, request in enumerate(self.active)
            if request is not None
            and self.column_timer[bank].permits(t)
            and self.ccd_l[self.group[bank]].permits(t)
            and self.ccd_s.permits(t)
            and (self.latest_stack in (None, self.group[bank][0]) or self.ccd_r.permits(t))
        ]
        return min(candidates, key=lambda request: request.age, default=None)

    def activate(self, request):
        t, clocks, bank = self.t, self.run.preset.clocks, request.bank
        assert self.queue[bank].popleft() is request
        self.active[bank] = request
        self.column_timer[bank].set(t, clocks.tRCD)
        self.bank_timer[bank].set(t, max(clocks.tRC, clocks.tRAS + clocks.tRP))
        self.rrd_l[self.group[bank]].set(t, clocks.tRRD_L)
        self.rrd_s.set(t, clocks.tRRD_S)
        self.activates.append(t)
        self.counters[Counter.ACTIVATES] += 1
        self.commands.append((t + 1, request.row, 0, bank, CommandCode.ACT))

    def read(self, request):
        t, clocks, bank = self.t, self.run.preset.clocks, request.bank
        self.ccd_l[self.group[bank]].set(t, clocks.tCCD_L)
        self.ccd_s.set(t, clocks.tCCD_S)
        self.ccd_r.set(t, clocks.tCCD_R)
        self.latest_stack, self.latest_read = self.group[bank][0], t
        self.counters[Counter.READS] += 1
        request.left -= 1
        code = CommandCode.RD if request.left else CommandCode.RDA
        bus = t + 1
        self.commands.append((bus, request.row, request.column, bank, code))
        elements = self.dram.read(request.row, bank, request.column)
        for half in range(2):
            beat = request.bag, 8 * request.beat, elements[8 * half : 8 * half + 8]
            self.beat_at.setdefault(bus + clocks.tCL + half, []).append(beat)
            request.beat += 1
        second = bus + clocks.tCL + 1
        self.return_at[second + 1] = self.return_at.get(second + 1, 0) + 1
        request.column += 1
        if request.left == 0:
            self.complete_at.setdefault(second + 2, []).append(request.bag)
            self.active[bank] = None
            self.bank_timer[bank].set(t, clocks.tRTP + clocks.tRP)

    def output(self, oldest_complete):
        t = self.t
        transfer = self.reg_o is not None and self.run.patterns.pooled >> t % 64 & 1
        if transfer:
            bag, beat, last, lanes = self.reg_o
            self.transfers.append((bag, beat, lanes, t))
            self.bags_out += last
        if self.reg_o is not None and not transfer:
            return
        self.reg_o, self.reg_r = self.reg_r, None
        if not oldest_complete:
            return
        bag = self.bags[0]
        table = self.run.tables[bag.table]
        words = [
            bag.sums.get(8 * self.beats_read + lane, (Fraction(0), frozenset()))
            for lane in range(8)
        ]
        lanes = [pooled_bits(*word, self.run.settings.output) for word in words]
        last = self.beats_read == table.beats - 1
        self.reg_r = bag.number, self.beats_read, last, lanes
        self.beats_read += 1
        if last:
            self.bags.popleft()
            self.beats_read = 0

    def attribute(self, act, read, refresh_idle, oldest_complete):
        t, counters = self.t, self.counters
        waiting = [
            bank for bank, queue in enumerate(self.queue) if queue and self.active[bank] is None
        ]
        cause = self.row_cause
        if waiting and act is None:
            if not any(self.bank_timer[bank].permits(t) for bank in waiting):
                cause = Counter.IDLE_BANK_BUSY
            elif self.faw_forbids():
                cause = Counter.IDLE_TFAW
            else:
                cause = Counter.IDLE_TRRD
            if refresh_idle:
                self.row_cause = cause
        burst = self.run.preset.burst_clocks
        ready = [
            bank
            for bank, request in enumerate(self.active)
            if request is not None and self.column_timer[bank].permits(t)
        ]
        if read is not None or (self.latest_read is not None and t - self.latest_read < burst):
            counters[Counter.DATA] += 1
        elif not refresh_idle:
            counters[Counter.IDLE_REFRESH] += 1
        elif ready:
            same = any(self.group[bank][0] == self.latest_stack for bank in ready)
            within = same or self.ccd_r.permits(t)
            counters[Counter.IDLE_TCCD_L if within else Counter.IDLE_TURNAROUND] += 1
        elif waiting:
            counters[cause] += 1
        elif any(request is not None for request in self.active):
            counters[Counter.IDLE_BANK_BUSY] += 1
        elif self.stage_b is not None:
            counters[Counter.IDLE_OUTSTANDING] += 1
        elif len(self.bags) == self.slots and oldest_complete:
            counters[Counter.IDLE_BACK_PRESSURE] += 1
        else:
            counters[Counter.IDLE_NO_REQUEST] += 1
