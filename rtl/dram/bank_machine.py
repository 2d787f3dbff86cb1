"""One bank: the requests that wait for it, the one that has its row open, and its own timers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.front_end import MAXIMUM_BURSTS, MAXIMUM_ROW_HITS
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.distances import Distances
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.dram.request_queue import AGE_BITS, QueueEntry, RequestQueue
from recspeed.rtl.lib.timer import Timer

__all__ = ["BankMachine"]

HIT_BITS = bits(MAXIMUM_ROW_HITS + 1)


class BankMachine(wiring.Component):
    """Queues, row state and timing of a bank (JEDEC: tRCD, tRC, tRAS, tRP, tRTP, tWR, tRFCpb).

    A row is opened for one request and closed by the auto-precharge of its last burst, unless row
    hits are on and the next request of the same direction is for the same row.

    Parameters
    ----------
    writes : bool
        The bank has a queue for writes too.

    Members
    -------
    push_read, read_entry, push_write, write_entry : In
        Enqueue a request of that direction. Not while its queue is full.
    full_read, full_write, waiting_read, waiting_write : Out(1)
        State of the queues; the write ones are 0 without writes.
    open_writes : In(1)
        Rows are opened for writes, else for reads.
    move_writes : In(1)
        Bursts are moved for writes, else for reads.
    head_age, head_row : Out
        Of the oldest request that waits in the direction that rows are opened for.
    activate : In(1)
        ACT for it, decided in this clock. Only while `can_activate`.
    move : In(1)
        A column command for the next burst, decided in this clock. Only while `can_move`.
    refresh : In(1)
        REFpb, decided in this clock. Only while the bank is not active and `timer_expired`.
    row_hits : In, keep_permitted : In(1)
        Requests per activation at most (0: row hits are off); nothing speaks against a row hit now.
    active, active_write : Out(1)
        A request has the row open; it is a write.
    timer_expired : Out(1)
        The bank's own timers permit ACT, REF and REFpb where the bank is not active.
    waiting, several : Out(1)
        A request waits in the direction that rows are opened for; two or more do.
    can_activate, active_of_mode, can_move : Out(1)
        State and timers permit ACT; the open request is of the direction that bursts are moved for;
        timers permit a burst of it.
    active_age, left, column, burst, last, close, tag : Out
        The open request: its age, its bursts left, DRAM burst address of its next burst, that
        burst's number in the request, whether it is the last one, whether it closes the row, and
        the tag.

    Timing: a pushed request waits from the next clock on; `activate` in clock t makes `active` from
    t + 1 and permits column commands from t + tRCD (writes: t + tRCD_WR) on.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int, queue_depth: int, *, writes: bool):
        self.preset = preset
        self.tag_bits = tag_bits
        self.queue_depth = queue_depth
        self.writes = writes
        self.entry_layout = QueueEntry(preset, tag_bits)
        fields = self.entry_layout.members
        super().__init__(
            {
                "push_read": In(1),
                "read_entry": In(self.entry_layout),
                "push_write": In(1),
                "write_entry": In(self.entry_layout),
                "full_read": Out(1),
                "full_write": Out(1),
                "waiting_read": Out(1),
                "waiting_write": Out(1),
                "open_writes": In(1),
                "move_writes": In(1),
                "head_age": Out(AGE_BITS),
                "head_row": Out(fields["row"]),
                "activate": In(1),
                "move": In(1),
                "refresh": In(1),
                "row_hits": In(HIT_BITS),
                "keep_permitted": In(1),
                "active": Out(1),
                "active_write": Out(1),
                "timer_expired": Out(1),
                "waiting": Out(1),
                "several": Out(1),
                "can_activate": Out(1),
                "active_of_mode": Out(1),
                "can_move": Out(1),
                "active_age": Out(AGE_BITS),
                "left": Out(range(MAXIMUM_BURSTS + 1)),
                "column": Out(fields["column"]),
                "burst": Out(fields["bursts"]),
                "last": Out(1),
                "close": Out(1),
                "tag": Out(tag_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        head = Signal(self.entry_layout)
        next_hit = Signal(self.entry_layout)
        hit_waits = Signal()
        keep = Signal()
        self._queues(m, head, next_hit, hit_waits, keep)
        self._timers(m)

        fields = self.entry_layout.members
        bursts = Signal(fields["bursts"])
        first_column = Signal(fields["column"])
        open_row = Signal(fields["row"])
        served = Signal(HIT_BITS)
        m.d.comb += [
            self.head_age.eq(head.age),
            self.head_row.eq(head.row),
            self.can_activate.eq(self.waiting & ~self.active & self.timer_expired),
            self.column.eq(first_column + self.burst),
            self.left.eq(bursts - self.burst + 1),
            self.last.eq(self.burst == bursts),
            keep.eq(
                (served < self.row_hits)
                & self.keep_permitted
                & hit_waits
                & (next_hit.row == open_row)
            ),
            self.close.eq(self.last & ~keep),
        ]

        def load(entry):
            return [
                self.active_age.eq(entry.age),
                first_column.eq(entry.column),
                bursts.eq(entry.bursts),
                self.burst.eq(0),
                self.tag.eq(entry.tag),
            ]

        with m.If(self.activate):
            m.d.sync += [self.active.eq(1), open_row.eq(head.row), served.eq(1), *load(head)]
            if self.writes:
                m.d.sync += self.active_write.eq(self.open_writes)
        with m.If(self.move):
            m.d.sync += self.burst.eq(self.burst + 1)
            with m.If(self.last & keep):
                m.d.sync += [served.eq(served + 1), *load(next_hit)]
            with m.Elif(self.last):
                m.d.sync += self.active.eq(0)
        return m

    def _queues(self, m, head, next_hit, hit_waits, keep):
        """One queue per direction; the one that rows are opened for shows its head."""
        m.submodules.read_queue = reads = RequestQueue(self.preset, self.tag_bits, self.queue_depth)
        next_is_kept = self.move & self.last & keep
        m.d.comb += [
            reads.push.eq(self.push_read),
            reads.entry.eq(self.read_entry),
            self.full_read.eq(reads.full),
            self.waiting_read.eq(reads.waiting),
        ]
        if not self.writes:
            m.d.comb += [
                reads.pop.eq(self.activate | next_is_kept),
                head.eq(reads.head),
                next_hit.eq(reads.head),
                hit_waits.eq(reads.waiting),
                self.waiting.eq(reads.waiting),
                self.several.eq(reads.several),
            ]
            return
        m.submodules.write_queue = writes = RequestQueue(
            self.preset, self.tag_bits, self.queue_depth
        )
        m.d.comb += [
            writes.push.eq(self.push_write),
            writes.entry.eq(self.write_entry),
            self.full_write.eq(writes.full),
            self.waiting_write.eq(writes.waiting),
            head.eq(Mux(self.open_writes, writes.head, reads.head)),
            self.waiting.eq(Mux(self.open_writes, writes.waiting, reads.waiting)),
            self.several.eq(Mux(self.open_writes, writes.several, reads.several)),
            next_hit.eq(Mux(self.active_write, writes.head, reads.head)),
            hit_waits.eq(Mux(self.active_write, writes.waiting, reads.waiting)),
            reads.pop.eq((self.activate & ~self.open_writes) | (next_is_kept & ~self.active_write)),
            writes.pop.eq((self.activate & self.open_writes) | (next_is_kept & self.active_write)),
        ]

    def _timers(self, m):
        """The bank's own spacing of ACT, column commands, precharge and refresh."""
        t = Distances(self.preset)
        row_cycle = t.row_cycle
        after_read = t.read_to_activate
        after_write = t.write_to_activate
        bank_timer = Timer(max(row_cycle, after_read, after_write, t.tRFCpb), "bank")
        bank_timer.set(self.activate, row_cycle)
        bank_timer.set(self.move & self.close & ~self.active_write, after_read)
        if self.writes:
            bank_timer.set(self.move & self.close & self.active_write, after_write)
        if t.tRFCpb:
            bank_timer.set(self.refresh, t.tRFCpb)
        bank_timer.elaborate_into(m)
        column_timer = Timer(max(t.tRCD, t.tRCD_WR), "column")
        column_timer.set(self.activate & ~self.open_writes, t.tRCD)
        if self.writes:
            column_timer.set(self.activate & self.open_writes, t.tRCD_WR)
        column_timer.elaborate_into(m)
        of_mode = self.active & (self.active_write == self.move_writes)
        m.d.comb += [
            self.timer_expired.eq(bank_timer.expired),
            self.active_of_mode.eq(of_mode if self.writes else self.active),
            self.can_move.eq(self.active_of_mode & column_timer.expired),
        ]
