"""One bank: the requests that wait for it, the one that has its row open, and its own timers."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.signature import ReadRequest
from recspeed.rtl.lib.timer import Timer

__all__ = ["AGE_BITS", "BankMachine"]

AGE_BITS = 16
"""Width of a request's age. A bank's queue drains within a few thousand requests of other banks."""


class BankMachine(wiring.Component):
    """Queue, row state and bank-scope timing (JESD235C: tRCD, tRC, tRAS, tRTP, tRP) of one bank.

    Closed page: a row is opened for one request and closed by the auto-precharge of its last burst.

    Members
    -------
    push, request, age : In
        Enqueue `request` with `age`. Not while `full`.
    full, waiting : Out(1)
        The queue takes no more; the queue holds a request.
    head_age, head_row : Out
        Of the oldest waiting request.
    activate : In(1)
        ACT for the oldest waiting request, decided in this clock. Only while `can_activate`.
    read : In(1)
        A read of the next burst, decided in this clock. Only while `can_read`.
    active : Out(1)
        A request has the row open.
    timer_expired : Out(1)
        The bank's own timers permit ACT, and REF where the bank is not active.
    can_activate, can_read : Out(1)
        What the bank's own state and timers permit.
    active_age, column, burst, last, tag : Out
        The open request: its age, DRAM burst address of its next read, that read's number in the
        request, whether it is the last one, and the tag.

    Timing: a pushed request waits from the next clock on; `activate` in clock t makes `active` from
    t + 1 and permits reads from t + tRCD.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int, queue_depth: int):
        self.preset = preset
        self.queue_depth = queue_depth
        self.request_layout = ReadRequest(preset, tag_bits)
        fields = self.request_layout.members
        super().__init__(
            {
                "push": In(1),
                "request": In(self.request_layout),
                "age": In(AGE_BITS),
                "full": Out(1),
                "waiting": Out(1),
                "head_age": Out(AGE_BITS),
                "head_row": Out(fields["row"]),
                "activate": In(1),
                "read": In(1),
                "active": Out(1),
                "timer_expired": Out(1),
                "can_activate": Out(1),
                "can_read": Out(1),
                "active_age": Out(AGE_BITS),
                "column": Out(fields["column"]),
                "burst": Out(fields["bursts"]),
                "last": Out(1),
                "tag": Out(tag_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = self.preset.clocks
        fields = self.request_layout.members
        entry = data.StructLayout(
            {
                "row": fields["row"],
                "column": fields["column"],
                "bursts": fields["bursts"],
                "tag": fields["tag"],
                "age": unsigned(AGE_BITS),
            }
        )
        m.submodules.queue = queue = Memory(shape=entry, depth=self.queue_depth, init=[])
        write = queue.write_port()
        head = queue.read_port(domain="comb")
        write_pointer = Signal(range(self.queue_depth))
        read_pointer = Signal(range(self.queue_depth))
        level = Signal(range(self.queue_depth + 1))
        m.d.comb += [
            write.en.eq(self.push),
            write.addr.eq(write_pointer),
            write.data.age.eq(self.age),
            head.addr.eq(read_pointer),
            self.full.eq(level == self.queue_depth),
            self.waiting.eq(level != 0),
            self.head_age.eq(head.data.age),
            self.head_row.eq(head.data.row),
        ]
        m.d.comb += [
            write.data[name].eq(self.request[name]) for name in ("row", "column", "bursts", "tag")
        ]
        m.d.sync += level.eq(level + self.push - self.activate)
        with m.If(self.push):
            m.d.sync += write_pointer.eq(write_pointer + 1)
        with m.If(self.activate):
            m.d.sync += read_pointer.eq(read_pointer + 1)

        bank_timer = Timer(max(t.tRC, t.tRAS + t.tRP, t.tRTP + t.tRP), "bank")
        bank_timer.set(self.activate, max(t.tRC, t.tRAS + t.tRP))
        bank_timer.set(self.read & self.last, t.tRTP + t.tRP)
        bank_timer.elaborate_into(m)
        column_timer = Timer(t.tRCD, "column")
        column_timer.set(self.activate, t.tRCD)
        column_timer.elaborate_into(m)

        bursts = Signal(fields["bursts"])
        first_column = Signal(fields["column"])
        m.d.comb += [
            self.timer_expired.eq(bank_timer.expired),
            self.can_activate.eq(self.waiting & ~self.active & bank_timer.expired),
            self.can_read.eq(self.active & column_timer.expired),
            self.column.eq(first_column + self.burst),
            self.last.eq(self.burst == bursts),
        ]
        with m.If(self.activate):
            m.d.sync += [
                self.active.eq(1),
                self.active_age.eq(head.data.age),
                first_column.eq(head.data.column),
                bursts.eq(head.data.bursts),
                self.burst.eq(0),
                self.tag.eq(head.data.tag),
            ]
        with m.If(self.read):
            m.d.sync += self.burst.eq(self.burst + 1)
            with m.If(self.last):
                m.d.sync += self.active.eq(0)
        return m
