"""An oracle for the golden model: docs/cluster.md, clock by clock.

It is plain Python in the page's order and words, with every rule in its most literal form, around
the front-end of `dram_oracle.py`. It moves
the data beat by beat from a DRAM that it fills itself, and rounds with fractions.
"""

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.cluster import slot_layout
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import Policy
from support.dram_oracle import READ, LiteralFrontEnd, Request, hashed_word

MASK = (1 << 64) - 1


@dataclass
class Bag:
    number: int
    table: int
    closed: bool = False
    pending: int = 0
    sums: dict = field(default_factory=dict)
    """Value and set of the special values seen, by element."""


def half_value(bits):
    """FP16 bits as a Fraction, or "nan", "+inf", "-inf"."""
    sign, exponent, mantissa = bits >> 15, bits >> 10 & 31, bits & 1023
    if exponent == 31:
        return "nan" if mantissa else ("-inf" if sign else "+inf")
    scale = Fraction(2) ** (max(exponent, 1) - 25)
    return (-1) ** sign * ((1024 if exponent else 0) + mantissa) * scale


def rounded_bits(value, precision, minimum_exponent, maximum_exponent):
    """Bits without sign of the positive Fraction, rounded to nearest even in a binary format."""
    exponent = minimum_exponent
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - precision + 1)
    whole = value // unit
    rest = value - whole * unit
    if rest * 2 > unit or (rest * 2 == unit and whole % 2):
        whole += 1
    if whole == 1 << precision:
        whole, exponent = whole >> 1, exponent + 1
    hidden = 1 << (precision - 1)
    if exponent > maximum_exponent:
        return (maximum_exponent - minimum_exponent + 2) << (precision - 1)
    if whole < hidden:
        return int(whole)
    return ((exponent - minimum_exponent + 1) << (precision - 1)) + int(whole) - hidden


def pooled_bits(total, specials, output):
    """Result bits of an exact sum and the special values among its addends."""
    half = output == "fp16"
    sign_bit, infinity = (0x8000, 0x7C00) if half else (0x80000000, 0x7F800000)
    if "nan" in specials or {"+inf", "-inf"} <= specials:
        return 0x7E00 if half else 0x7FC00000
    if specials:
        return infinity | (sign_bit if "-inf" in specials else 0)
    if total == 0:
        return 0
    bits = rounded_bits(abs(total), *((11, -14, 15) if half else (24, -126, 127)))
    return bits | (sign_bit if total < 0 else 0)


class Dram:
    """What a read returns: the FP16 bit patterns of a burst."""

    def __init__(self, run: ClusterRun):
        self.run = run
        self.bursts = {}
        self.elements = run.preset.burst_bytes // 2
        if run.contents is None:
            return
        preset = run.preset
        rubbish = np.random.default_rng(1)
        for table, vectors in zip(run.tables, run.contents, strict=True):
            for v, vector in enumerate(vectors):
                w = v // preset.banks
                row = table.base_row + w % table.row_span
                first = w // table.row_span * table.bursts(preset)
                data = rubbish.integers(0, 1 << 16, table.bursts(preset) * self.elements).tolist()
                data[: len(vector)] = vector.tolist()
                for burst in range(table.bursts(preset)):
                    place = (row, v % preset.banks, first + burst)
                    first_element = self.elements * burst
                    self.bursts[place] = data[first_element : first_element + self.elements]

    def read(self, row, bank, burst):
        if self.run.contents is not None:
            return self.bursts[row, bank, burst]
        preset, words = self.run.preset, self.elements // 4
        first = ((row * preset.banks + bank) * preset.bursts_per_row + burst) * words
        return [
            hashed_word(first + word, self.run.seed) >> 16 * e & 0xFFFF
            for word in range(words)
            for e in range(4)
        ]


class LiteralChannel:
    """The channel's registers; `run_to_end` steps them and gives the result."""

    def __init__(self, run: ClusterRun):
        self.run = run
        preset = run.preset
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
        settings = run.settings
        self.front = LiteralFrontEnd(
            preset,
            FrontEndSettings(
                outstanding=settings.outstanding,
                refresh_group=settings.refresh_group,
                per_bank=settings.per_bank,
                row_hits=settings.row_hits,
            ),
            run.parameters.queue_depth,
        )
        # What comes later: by the clock in which it is seen.
        self.complete_at, self.beat_at, self.add_at = {}, {}, {}
        # Output.
        self.beats_read = 0
        self.reg_r = self.reg_o = None
        self.bags_out = 0
        self.counters = dict.fromkeys(Counter, 0)
        self.transfers = []

    def run_to_end(self, limit=2_000_000) -> ClusterResult:
        while not self.done():
            self.clock()
            self.t += 1
            assert self.t < limit, "the oracle does not end"
        self.counters[Counter.CYCLES] = self.t
        self.counters.update(self.front.counters)
        transfers = self.transfers
        return ClusterResult(
            bag=np.array([x[0] for x in transfers], dtype=np.int64),
            beat=np.array([x[1] for x in transfers], dtype=np.int64),
            lanes=np.array([x[2] for x in transfers], dtype=np.uint32).reshape(-1, 8),
            transfer_cycle=np.array([x[3] for x in transfers], dtype=np.int64),
            commands=np.array(
                [entry for entry, _ in self.front.commands if entry[0] < self.t], dtype=COMMAND_LOG
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
        t = self.t
        self.front.see(t)
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

    def clock(self):
        t = self.t
        decided = self.front.decide(t)
        oldest_complete = len(self.bags) > 0 and self.bags[0].closed and self.bags[0].pending == 0
        accept = self.stage_b is not None and self.front.accepts_read(
            self.stage_b.bank, self.stage_b.bursts
        )
        b_ready = self.stage_b is None or accept
        a_ready = self.stage_a is None or b_ready
        take_index = self.issuing is not None and self.index_held and a_ready
        take_bag = (
            self.issuing is None
            and self.bag_held
            and len(self.bags) < self.slots
            and not self.counters[Counter.ERROR]
        )
        cause = self.front.attribute(t, decided)
        self.counters[self.user_cause(oldest_complete) if cause is None else cause] += 1
        self.front.apply(t, decided)
        if decided.column is not None:
            self.data_of(*self.front.commands[-1])
        self.output(oldest_complete)
        if accept:
            self.front.put(t, READ, self.stage_b)
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
            bank=v % preset.banks,
            row=table.base_row + w % table.row_span,
            column=w // table.row_span * k,
            bursts=k,
            user=bag,
        )

    def data_of(self, entry, request):
        """The beats of a read on the bus, and what they complete."""
        bus, row, column, bank, _ = entry
        preset = self.run.preset
        elements = self.dram.read(row, bank, column)
        burst = column - request.column
        for beat in range(preset.burst_clocks):
            first = 8 * (burst * preset.burst_clocks + beat)
            what = request.user, first, elements[8 * beat : 8 * beat + 8]
            self.beat_at.setdefault(bus + preset.clocks.tCL + beat, []).append(what)
        if burst == request.bursts - 1:
            last = bus + preset.clocks.tCL + preset.burst_clocks - 1
            self.complete_at.setdefault(last + 2, []).append(request.user)

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

    def user_cause(self, oldest_complete):
        """Why the front-end has nothing to do."""
        if self.stage_b is not None:
            return Counter.IDLE_OUTSTANDING
        if len(self.bags) == self.slots and oldest_complete:
            return Counter.IDLE_BACK_PRESSURE
        return Counter.IDLE_NO_REQUEST
