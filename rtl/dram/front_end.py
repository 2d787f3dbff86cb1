"""The DRAM front-end of a channel: row visits in, JEDEC commands out, tagged beats back."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from recspeed.models.spec.front_end import (
    FEW_DATA_CLOCKS,
    MAXIMUM_BURSTS,
    OVERDUE,
    WRITE_BUFFER_BURSTS,
)
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.attribution import Attribution
from recspeed.rtl.dram.bank_machine import BankMachine
from recspeed.rtl.dram.column_scheduler import ColumnScheduler
from recspeed.rtl.dram.command_bus import CommandBusShare
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.dram.front_end_ports import FrontEndPorts
from recspeed.rtl.dram.mode_control import ModeControl
from recspeed.rtl.dram.refresh_control import RefreshControl
from recspeed.rtl.dram.request_queue import AGE_BITS
from recspeed.rtl.dram.return_path import ReturnPath
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.rtl.dram.write_buffer import WriteBuffer

__all__ = ["DramFrontEnd"]


class DramFrontEnd(wiring.Component):
    """Oldest ready first, closed page, for every family (behaviour to the clock: docs/dram.md).

    Parameters
    ----------
    preset : MemoryPreset
        Device; its timings are constants of the hardware.
    tag_bits : int
        Width of a request's tag.
    queue_depth : int
        Requests that can wait per bank and direction, a power of two.
    maximum_outstanding : int
        Largest value of `outstanding`.
    writes : bool
        With write queues, write buffer and turnarounds; without them the write members stay idle.

    Members
    -------
    Those of `FrontEndPorts`, and

    buses : Out(CommandBusShare)
        For a front-end that shares its command buses; unconnected it has them alone.

    Timing: a request accepted in clock t is activated in t + 1 at the earliest; a command is on the
    bus one clock after its decision; the beats of a read on the bus in clock c are the response
    from c + tCL on. One read and one beat of write data are taken per clock while queues and limits
    permit.
    """

    def __init__(
        self,
        preset: MemoryPreset,
        *,
        tag_bits: int,
        queue_depth: int,
        maximum_outstanding: int,
        writes: bool = False,
    ):
        self.preset = preset
        self.tag_bits = tag_bits
        self.queue_depth = queue_depth
        self.maximum_outstanding = maximum_outstanding
        self._writes = writes
        self.port_signature = FrontEndPorts(preset, tag_bits, maximum_outstanding)
        super().__init__(dict(self.port_signature.members) | {"buses": Out(CommandBusShare())})

    @property
    def ports(self) -> SimpleNamespace:
        """Everything but `buses`, as an interface of `FrontEndPorts`."""
        members = {name: getattr(self, name) for name in self.port_signature.members}
        return SimpleNamespace(signature=self.port_signature, **members)

    def elaborate(self, platform):
        m = Module()
        preset = self.preset
        # A queued write carries its place in the write buffer beside the user's tag.
        place = bits(WRITE_BUFFER_BURSTS)
        tag_fields = {"tag": unsigned(self.tag_bits)}
        if self._writes:
            tag_fields |= {"first": unsigned(place), "number": unsigned(place)}
        self.tag_layout = data.StructLayout(tag_fields)

        self.machines = [
            BankMachine(preset, self.tag_layout.size, self.queue_depth, writes=self._writes)
            for _ in range(preset.banks)
        ]
        for number, machine in enumerate(self.machines):
            m.submodules[f"bank_{number}"] = machine
        m.submodules.rows = self.rows = RowScheduler(preset)
        m.submodules.columns = self.columns = ColumnScheduler(preset, writes=self._writes)
        m.submodules.returns = self.returns = ReturnPath(preset, self.tag_bits)
        self.ages = {
            direction: Signal(AGE_BITS, name=f"{direction}_age") for direction in ("read", "write")
        }
        self.open_writes = Signal()
        self.move_writes = Signal()
        m.submodules.refreshes = self.refreshes = RefreshControl(preset)

        accepted_read = self._accept_reads(m)
        accepted_write = self._accept_writes(m)
        self._enqueue(m, accepted_read, accepted_write)
        self._modes(m)
        self._refresh(m)
        self._schedule(m)
        self._drive_bus(m)
        self._attribute(m)
        return m

    def _all(self, name):
        """Member `name` of every bank machine, as one vector."""
        return Cat(getattr(machine, name) for machine in self.machines)

    def _of_bank(self, m, name, bank, member):
        """Member of the machine of bank number `bank`, as a new signal."""
        return self._pick(m, name, bank, [getattr(machine, member) for machine in self.machines])

    @staticmethod
    def _pick(m, name, bank, values):
        """The value of bank number `bank`, as a new signal."""
        chosen = Signal.like(values[0], name=name)
        with m.Switch(bank):
            for number, value in enumerate(values):
                with m.Case(number):
                    m.d.comb += chosen.eq(value)
        return chosen

    def _accept_reads(self, m):
        """Take a read if its bank's queue and the limit on bursts in flight permit."""
        request = self.reads.payload
        in_flight = Signal(range(self.maximum_outstanding + MAXIMUM_BURSTS + 1))
        bursts = Signal(range(MAXIMUM_BURSTS + 1))
        room = [machine.read_requests.ready for machine in self.machines]
        ready = self._pick(m, "read_queue_ready", request.bank, room)
        accepted = Signal()
        m.d.comb += [
            bursts.eq(request.bursts + 1),
            self.reads.ready.eq(
                ready & ((in_flight == 0) | (in_flight + bursts <= self.outstanding))
            ),
            accepted.eq(self.reads.valid & self.reads.ready),
        ]
        m.d.sync += in_flight.eq(in_flight + Mux(accepted, bursts, 0) - self.returns.burst_done)
        return accepted

    def _accept_writes(self, m):
        """Take a write with its data if its bank's queue and the write buffer permit."""
        if not self._writes:
            return Const(0)
        m.submodules.buffer = self.buffer = WriteBuffer(self.preset, self.tag_bits)
        room = [machine.write_requests.ready for machine in self.machines]
        ready = self._pick(m, "write_queue_ready", self.writes.payload.bank, room)
        m.d.comb += [
            self.buffer.limit.eq(self.write_buffer),
            self.buffer.offered.eq(self.writes.valid & ready),
            self.buffer.bursts.eq(self.writes.payload.bursts),
            self.writes.ready.eq(self.buffer.accept),
            self.written.eq(self.buffer.written),
            self.written_tag.eq(self.buffer.written_tag),
        ]
        wiring.connect(m, wiring.flipped(self.write_data), self.buffer.data)
        return self.buffer.accept

    def _enqueue(self, m, accepted_read, accepted_write):
        """Number the accepted requests and put them into their banks' queues."""
        for direction, port, accepted in (
            ("read", self.reads, accepted_read),
            ("write", self.writes, accepted_write),
        ):
            if direction == "write" and not self._writes:
                continue
            request = port.payload
            age = self.ages[direction]
            m.d.sync += age.eq(age + accepted)
            tag = Signal(self.tag_layout, name=f"{direction}_tag")
            entry = Signal(self.machines[0].entry_layout, name=f"{direction}_entry")
            m.d.comb += [
                tag.tag.eq(request.tag),
                entry.row.eq(request.row),
                entry.column.eq(request.column),
                entry.bursts.eq(request.bursts),
                entry.tag.eq(tag),
                entry.age.eq(age),
            ]
            if direction == "write":
                m.d.comb += [tag.first.eq(self.buffer.first), tag.number.eq(self.buffer.number)]
            for number, machine in enumerate(self.machines):
                queue = machine.write_requests if direction == "write" else machine.read_requests
                m.d.comb += [
                    queue.valid.eq(accepted & (request.bank == number)),
                    queue.payload.eq(entry),
                ]

    def _modes(self, m):
        """For which direction rows are opened and bursts are moved."""
        for machine in self.machines:
            m.d.comb += [
                machine.open_writes.eq(self.open_writes),
                machine.move_writes.eq(self.move_writes),
                machine.row_hits.eq(self.row_hits),
            ]
        if not self._writes:
            return
        m.submodules.mode = mode = ModeControl()
        active = self._all("active")
        writing = self._all("active_write")
        m.d.comb += [
            mode.run.eq(self.run),
            mode.limit.eq(self.turnaround_limit),
            mode.reads_wait.eq(self._all("waiting_read").any()),
            mode.writes_wait.eq(self._all("waiting_write").any()),
            mode.reads_open.eq((active & ~writing).any()),
            mode.writes_open.eq((active & writing).any()),
            self.open_writes.eq(mode.open_writes),
            self.move_writes.eq(mode.move_writes),
        ]

    def _refresh(self, m):
        """All-bank refresh per rank and per-bank refresh; at most one of them is on."""
        refreshes = self.refreshes
        m.d.comb += [
            refreshes.run.eq(self.run),
            refreshes.group.eq(self.refresh_group),
            refreshes.per_bank.eq(self.per_bank),
            refreshes.closed.eq(self._all("timer_expired") & ~self._all("active")),
            refreshes.waiting.eq(self._all("waiting_read") | self._all("waiting_write")),
            refreshes.spacing_permits.eq(self.rows.spacing_permits),
            refreshes.slot_free.eq(self.buses.row_grant),
        ]
        for number, machine in enumerate(self.machines):
            m.d.comb += machine.refresh.eq(refreshes.grant[number])

    def _schedule(self, m):
        """Connect banks and schedulers; share the command bus where the device has one."""
        rows, columns, refreshes, buses = self.rows, self.columns, self.refreshes, self.buses
        m.d.comb += [
            buses.refresh.eq(refreshes.wanted),
            buses.activate.eq(rows.wanted & ~refreshes.wanted),
            buses.burst.eq(columns.wanted),
            rows.can_activate.eq(
                self._all("can_activate") & ~refreshes.refreshing & ~refreshes.barred
            ),
            rows.several.eq(self._all("several")),
            rows.slot_free.eq(~refreshes.wanted & buses.row_grant),
            columns.slot_free.eq(buses.burst_grant),
            columns.can_move.eq(self._all("can_move")),
            columns.last.eq(self._all("last")),
            columns.active.eq(self._all("active_of_mode")),
            columns.wanted_again.eq(self._all("waiting")),
            columns.wanted_by_several.eq(self._all("several")),
            columns.writing.eq(self.move_writes),
        ]
        if self.preset.organization.command_bus == "shared":
            # With little data left a burst can wait for a row to be opened; else data goes first.
            left = sum(Mux(machine.active_of_mode, machine.left, 0) for machine in self.machines)
            few = Signal()
            m.d.comb += [
                few.eq(left <= FEW_DATA_CLOCKS // self.preset.burst_clocks),
                rows.slot_free.eq(~refreshes.wanted & (few | ~columns.wanted)),
                columns.slot_free.eq(~refreshes.wanted & ~(few & rows.wanted)),
            ]
        for number, machine in enumerate(self.machines):
            m.d.comb += [
                rows.age[number].eq(machine.head_age),
                rows.overdue[number].eq(self._overdue(self.open_writes, machine.head_age)),
                columns.age[number].eq(machine.active_age),
                columns.left[number].eq(machine.left),
                columns.overdue[number].eq(self._overdue(self.move_writes, machine.active_age)),
                machine.activate.eq(rows.grant[number]),
                machine.move.eq(columns.grant[number]),
                machine.keep_permitted.eq(
                    (self.open_writes == self.move_writes)
                    & ~refreshes.due[number]
                    & ~refreshes.victim[number]
                ),
            ]

    def _overdue(self, writes, age):
        """Whether very many requests of that direction were accepted after the one of that age."""
        accepted = Mux(writes, self.ages["write"], self.ages["read"])
        return (accepted - age).as_unsigned()[:AGE_BITS] > OVERDUE

    def _drive_bus(self, m):
        """Register the decided commands onto the bus; pair returning beats with their tags."""
        bus, rows, columns, returns = self.dram, self.rows, self.columns, self.returns
        refresh = Signal()
        moved = {
            member: self._of_bank(m, f"moved_{member}", columns.bank, member)
            for member in ("column", "close", "tag", "burst", "last")
        }
        tag = self.tag_layout(moved["tag"])
        row = self._of_bank(m, "activated_row", rows.bank, "head_row")
        m.d.comb += refresh.eq(self.refreshes.wanted & self.buses.row_grant)
        m.d.sync += [
            bus.row_valid.eq(rows.activate | refresh),
            bus.row_refresh.eq(refresh),
            bus.row_per_bank.eq(refresh & self.refreshes.single),
            bus.row_bank.eq(Mux(refresh, self.refreshes.bank, rows.bank)),
            bus.row_address.eq(row),
            bus.column_valid.eq(columns.move),
            bus.column_write.eq(self.move_writes),
            bus.column_bank.eq(columns.bank),
            bus.column_precharge.eq(moved["close"]),
            bus.column_address.eq(moved["column"]),
        ]
        m.d.comb += [
            returns.read.eq(self.move_read),
            returns.tag.eq(tag.tag),
            returns.burst.eq(moved["burst"]),
            returns.last.eq(moved["last"]),
            returns.data_valid.eq(bus.data_valid),
            returns.data.eq(bus.data),
            self.response_valid.eq(returns.response_valid),
            self.response.eq(returns.response),
            self.activate.eq(rows.activate),
            self.move_read.eq(columns.move & ~self.move_writes),
            self.move_write.eq(columns.move & self.move_writes),
            self.refresh.eq(refresh),
        ]
        if self._writes:
            m.d.comb += [
                self.buffer.send.eq(self.move_write),
                self.buffer.send_burst.eq(tag.first + moved["burst"]),
                self.buffer.send_last.eq(moved["last"]),
                self.buffer.send_number.eq(tag.number),
                self.buffer.send_tag.eq(tag.tag),
                bus.write_valid.eq(self.buffer.bus_valid),
                bus.write_data.eq(self.buffer.bus_data),
            ]

    def _attribute(self, m):
        m.submodules.attribution = attribution = Attribution(self.preset)
        active = self._all("active")
        other_waits = Mux(
            self.open_writes, self._all("waiting_read").any(), self._all("waiting_write").any()
        )
        m.d.comb += [
            attribution.move.eq(self.columns.move),
            attribution.activate.eq(self.rows.activate),
            attribution.waits_on_spacing.eq(self.columns.waits_on_spacing),
            attribution.waits_on_turn.eq(self.columns.waits_on_turn),
            attribution.waiting.eq(self._all("waiting") & ~active),
            attribution.refreshing.eq(self.refreshes.refreshing),
            attribution.timer_expired.eq(self._all("timer_expired")),
            attribution.barred.eq(self.refreshes.barred),
            attribution.window_permits.eq(self.rows.window_permits),
            attribution.active.eq(active.any()),
            attribution.other_waits.eq(other_waits),
            self.cause.eq(attribution.cause),
        ]
