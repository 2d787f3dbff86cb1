"""One bank: the requests that wait for it, the one that has its row open, and its own timers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
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
    read_requests, write_requests : In(stream of QueueEntry)
        Accepted requests of the direction; ready while its queue is not full. Without writes no
        write is taken.
    waiting_read, waiting_write : Out(1)
        A request of the direction waits; never a write without writes.
    open_writes : In(1)
        Rows are opened for writes, else for reads.
    move_writes : In(1)
        Bursts are moved for writes, else for reads.
    head_age : Out(AGE_BITS)
        Age of the oldest request that waits in the direction that rows are opened for.
    head_row : Out(row)
        DRAM row of that request.
    activate : In(1)
        ACT for it, decided in this clock.
    move : In(1)
        A column command for the next burst, decided in this clock.
    refresh : In(1)
        REFpb, decided in this clock.
    row_hits : In(HIT_BITS)
        Requests per activation at most; 0: row hits are off.
    keep_permitted : In(1)
        Nothing outside of the bank speaks against a row hit now.
    active : Out(1)
        A request has the row open.
    active_write : Out(1)
        That request is a write.
    timer_expired : Out(1)
        The bank's own timers permit ACT, REF and REFpb where the bank is not active.
    waiting : Out(1)
        A request waits in the direction that rows are opened for.
    several : Out(1)
        Two or more wait in that direction.
    can_activate : Out(1)
        State and timers permit ACT.
    active_of_mode : Out(1)
        The open request is of the direction that bursts are moved for.
    can_move : Out(1)
        It is, and timers permit a burst of it.
    active_age : Out(AGE_BITS)
        Age of the open request.
    left : Out(range(MAXIMUM_BURSTS + 1))
        Bursts that it has left.
    column : Out(column)
        DRAM burst address of its next burst.
    burst : Out(bursts)
        Number of that burst in the request.
    last : Out(1)
        That burst is the request's last one.
    close : Out(1)
        It closes the row.
    tag : Out(tag_bits)
        Tag of the open request.

    *Timing*: a request that is taken waits from the next clock on; `activate` in clock t makes
    `active` from t + 1 and permits column commands from t + tRCD (writes: t + tRCD_WR) on.

    *Undefined*: `activate` without `can_activate`; `move` without `can_move`; `refresh` while the
    bank is active or `timer_expired` is 0; what tells of the open request while there is none.

    Source: docs/dram.md, "Request queues", "Column scheduler" and "Row scheduler".
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
                "read_requests": In(stream.Signature(self.entry_layout)),
                "write_requests": In(stream.Signature(self.entry_layout)),
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
        wiring.connect(m, wiring.flipped(self.read_requests), reads.i)
        next_is_kept = self.move & self.last & keep
        m.d.comb += self.waiting_read.eq(reads.o.valid)
        if not self.writes:
            m.d.comb += [
                reads.o.ready.eq(self.activate | next_is_kept),
                head.eq(reads.o.payload),
                next_hit.eq(reads.o.payload),
                hit_waits.eq(reads.o.valid),
                self.waiting.eq(reads.o.valid),
                self.several.eq(reads.several),
            ]
            return
        m.submodules.write_queue = writes = RequestQueue(
            self.preset, self.tag_bits, self.queue_depth
        )
        wiring.connect(m, wiring.flipped(self.write_requests), writes.i)
        read_is_kept = next_is_kept & ~self.active_write
        write_is_kept = next_is_kept & self.active_write
        m.d.comb += [
            self.waiting_write.eq(writes.o.valid),
            head.eq(Mux(self.open_writes, writes.o.payload, reads.o.payload)),
            self.waiting.eq(Mux(self.open_writes, writes.o.valid, reads.o.valid)),
            self.several.eq(Mux(self.open_writes, writes.several, reads.several)),
            next_hit.eq(Mux(self.active_write, writes.o.payload, reads.o.payload)),
            hit_waits.eq(Mux(self.active_write, writes.o.valid, reads.o.valid)),
            reads.o.ready.eq((self.activate & ~self.open_writes) | read_is_kept),
            writes.o.ready.eq((self.activate & self.open_writes) | write_is_kept),
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
