"""The DRAM front-end of a pseudo channel: row visits in, JEDEC commands out, tagged beats back."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.attribution import Attribution, Cause
from recspeed.rtl.dram.bank_machine import AGE_BITS, BankMachine
from recspeed.rtl.dram.column_scheduler import ColumnScheduler
from recspeed.rtl.dram.refresh import Refresher
from recspeed.rtl.dram.return_path import ReturnPath
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.rtl.dram.signature import DramBus, ReadRequest, ReadResponse

__all__ = ["DramFrontEnd"]


class DramFrontEnd(wiring.Component):
    """Closed-page reads with auto-precharge, oldest ready first, all-bank refresh (JESD235C).

    Parameters
    ----------
    preset : MemoryPreset
        Device; its timings are constants of the hardware.
    tag_bits : int
        Width of a request's tag.
    queue_depth : int
        Requests that can wait per bank, a power of two.
    maximum_outstanding : int
        Largest value of `outstanding`.

    Members
    -------
    run : In(1)
        Refresh counts clocks from the first one in which this is 1. Hold `requests.valid` at 0
        before.
    outstanding : In
        Bursts that may be between acceptance and their last beat. A larger request is taken alone.
    refresh_group : In
        All-bank refreshes per group; 0 for none.
    requests : In stream of ReadRequest
    response_valid : Out(1), response : Out(ReadResponse)
        Beats; they cannot be stalled. Beats of one request come in order, those of several
        interleave.
    dram : Out(DramBus)
    cause : Out(Cause)
        What this clock is spent on.
    activate, read, refresh : Out(1)
        Commands decided in this clock, for counting.

    Timing: a request accepted in clock t is activated in t + 1 at the earliest, read tRCD later; a
    command is on the bus one clock after its decision; the beats of a read on the bus in clock c
    are the response in c + tCL and the clock after. One request per clock is accepted while its
    bank's queue and `outstanding` permit.
    """

    def __init__(
        self, preset: MemoryPreset, *, tag_bits: int, queue_depth: int, maximum_outstanding: int
    ):
        self.preset = preset
        self.tag_bits = tag_bits
        self.queue_depth = queue_depth
        self.maximum_outstanding = maximum_outstanding
        super().__init__(
            {
                "run": In(1),
                "outstanding": In(range(maximum_outstanding + 1)),
                "refresh_group": In(range(MAXIMUM_REFRESH_DEBT + 1)),
                "requests": In(stream.Signature(ReadRequest(preset, tag_bits))),
                "response_valid": Out(1),
                "response": Out(ReadResponse(preset, tag_bits)),
                "dram": Out(DramBus(preset)),
                "cause": Out(Cause),
                "activate": Out(1),
                "read": Out(1),
                "refresh": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        banks = self.preset.banks
        machines = [BankMachine(self.preset, self.tag_bits, self.queue_depth) for _ in range(banks)]
        for number, machine in enumerate(machines):
            m.submodules[f"bank_{number}"] = machine
        m.submodules.rows = rows = RowScheduler(self.preset)
        m.submodules.columns = columns = ColumnScheduler(self.preset)
        m.submodules.refresher = refresher = Refresher(self.preset)
        m.submodules.returns = returns = ReturnPath(self.preset, self.tag_bits)
        m.submodules.attribution = attribution = Attribution(self.preset)

        self._accept(m, machines, returns)

        for number, machine in enumerate(machines):
            m.d.comb += [
                machine.activate.eq(rows.grant[number]),
                machine.read.eq(columns.grant[number]),
                rows.can_activate[number].eq(machine.can_activate),
                rows.age[number].eq(machine.head_age),
                columns.can_read[number].eq(machine.can_read),
                columns.age[number].eq(machine.active_age),
                attribution.waiting[number].eq(machine.waiting & ~machine.active),
            ]
        active = Signal(banks)
        m.d.comb += [
            active.eq(Cat(machine.active for machine in machines)),
            refresher.run.eq(self.run),
            refresher.group.eq(self.refresh_group),
            refresher.banks_idle.eq(
                (active == 0) & Cat(machine.timer_expired for machine in machines).all()
            ),
            rows.blocked.eq(refresher.busy),
            attribution.read.eq(columns.read),
            attribution.activate.eq(rows.activate),
            attribution.refresh_busy.eq(refresher.busy),
            attribution.waits_on_group.eq(columns.waits_on_group),
            attribution.waits_on_stack.eq(columns.waits_on_stack),
            attribution.can_activate.eq(rows.can_activate),
            attribution.window_open.eq(rows.window_open),
            attribution.active.eq(active != 0),
            self.cause.eq(attribution.cause),
            self.activate.eq(rows.activate),
            self.read.eq(columns.read),
            self.refresh.eq(refresher.refresh),
        ]
        self._drive_bus(m, machines, rows, columns, refresher, returns)
        return m

    def _accept(self, m, machines, returns):
        """Take a request if its bank's queue and the limit on bursts in flight permit."""
        request = self.requests.payload
        in_flight = Signal(range(self.maximum_outstanding + self.preset.bursts_per_row + 1))
        age = Signal(AGE_BITS)
        bursts = Signal(range(self.preset.bursts_per_row + 1))
        queue_free = Signal()
        accepted = Signal()
        with m.Switch(request.bank):
            for number, machine in enumerate(machines):
                with m.Case(number):
                    m.d.comb += queue_free.eq(~machine.full)
        m.d.comb += [
            bursts.eq(request.bursts + 1),
            self.requests.ready.eq(
                queue_free & ((in_flight == 0) | (in_flight + bursts <= self.outstanding))
            ),
            accepted.eq(self.requests.valid & self.requests.ready),
        ]
        m.d.sync += in_flight.eq(in_flight + Mux(accepted, bursts, 0) - returns.burst_done)
        m.d.sync += age.eq(age + accepted)
        for number, machine in enumerate(machines):
            m.d.comb += [
                machine.push.eq(accepted & (request.bank == number)),
                machine.request.eq(request),
                machine.age.eq(age),
            ]

    def _drive_bus(self, m, machines, rows, columns, refresher, returns):
        """Register the decided commands onto the bus; pair the returning beats with their tags."""
        bus = self.dram
        m.d.sync += [
            bus.row_valid.eq(rows.activate | refresher.refresh),
            bus.row_refresh.eq(refresher.refresh),
            bus.row_bank.eq(rows.bank),
            bus.column_valid.eq(columns.read),
            bus.column_bank.eq(columns.bank),
            bus.column_precharge.eq(returns.last),
            bus.column_address.eq(0),
        ]
        with m.Switch(rows.bank):
            for number, machine in enumerate(machines):
                with m.Case(number):
                    m.d.sync += bus.row_address.eq(machine.head_row)
        with m.Switch(columns.bank):
            for number, machine in enumerate(machines):
                with m.Case(number):
                    m.d.sync += bus.column_address.eq(machine.column)
                    m.d.comb += [
                        returns.tag.eq(machine.tag),
                        returns.burst.eq(machine.burst),
                        returns.last.eq(machine.last),
                    ]
        m.d.comb += [
            returns.read.eq(columns.read),
            returns.data_valid.eq(bus.data_valid),
            returns.data.eq(bus.data),
            self.response_valid.eq(returns.response_valid),
            self.response.eq(returns.response),
        ]
