"""The column command slot: which open bank moves a burst in this clock."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.front_end import MAXIMUM_BURSTS
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.distances import Distances
from recspeed.rtl.dram.dram_bus import BankAddress, bits
from recspeed.rtl.dram.request_queue import AGE_BITS
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.timer import Timer

__all__ = ["ColumnScheduler"]


class ColumnScheduler(wiring.Component):
    """Moves a burst for an open request that column spacing and turnarounds permit.

    Overdue requests alone while there are any; else those first whose bank is wanted again, most of
    all by several. Of these, one of the bank group with the most open requests, so that bursts are
    left in many groups; then one with the fewest bursts left; then the oldest.

    The latest bank group is ready again at tCCD_L only and the others at tCCD_S, so the bursts of
    two or more vectors interleave over bank groups; with several stack IDs or ranks, bursts stay on
    one while it has ready banks. Timers that a device or a front-end without writes cannot need are
    left out.

    Members
    -------
    can_move : In(banks)
        Banks that may move a burst as far as they are concerned, of the present direction.
    overdue : In(banks)
        Banks whose open request is overdue.
    wanted_again : In(banks)
        Banks for which another request waits.
    wanted_by_several : In(banks)
        Banks for which two or more other requests wait.
    active : In(banks)
        Banks with an open request of the present direction.
    left : In(range(MAXIMUM_BURSTS + 1)).array(banks)
        Bursts that the open request has left.
    last : In(banks)
        The bank's next burst is the last of its request.
    age : In(AGE_BITS).array(banks)
        Age of the request that is open.
    writing : In(1)
        The present direction: 1 for writes.
    slot_free : In(1)
        No other command takes the column slot.
    wanted : Out(1)
        A command is decided if `slot_free`.
    move : Out(1)
        A column command is decided in this clock.
    bank : Out(range(banks))
        The bank that it is for.
    grant : Out(banks)
        The same, one-hot; 0 without a command.
    waits_on_spacing : Out(1)
        No command is decided though a bank could move: column spacing (tCCD_S, tCCD_L) alone
        forbids it for some bank.
    waits_on_turn : Out(1)
        No command is decided though a bank could move: a turnaround forbids it for every one.

    *Timing*: combinational from the registers; its timers follow in the next clock.

    *Undefined*: `bank` while `wanted` is 0.

    Source: docs/dram.md, "Column scheduler".
    """

    def __init__(self, preset: MemoryPreset, *, writes: bool):
        self.preset = preset
        self.writes = writes
        super().__init__(
            {
                "can_move": In(preset.banks),
                "overdue": In(preset.banks),
                "wanted_again": In(preset.banks),
                "wanted_by_several": In(preset.banks),
                "active": In(preset.banks),
                "left": In(range(MAXIMUM_BURSTS + 1)).array(preset.banks),
                "last": In(preset.banks),
                "age": In(AGE_BITS).array(preset.banks),
                "writing": In(1),
                "slot_free": In(1),
                "wanted": Out(1),
                "move": Out(1),
                "bank": Out(bits(preset.banks)),
                "grant": Out(preset.banks),
                "waits_on_spacing": Out(1),
                "waits_on_turn": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        address = BankAddress(self.preset)
        full = self.preset.organization.banks_per_group
        count = range(full + 1)
        m.submodules.arbiter = arbiter = OldestReady(
            self.preset.banks, AGE_BITS, bits(len(count)) + bits(MAXIMUM_BURSTS + 1)
        )

        def moves(name, belongs):
            hit = Signal(name=f"move_{name}")
            granted = Cat(self.grant[bank] for bank in address.banks if belongs(bank))
            m.d.comb += hit.eq(granted.any())
            return hit

        ranks = [
            moves(f"rank_{rank}", lambda bank, rank=rank: address.rank(bank) == rank)
            for rank in address.ranks
        ]
        groups = [
            moves(f"group_{group}", lambda bank, group=group: address.group(bank) == group)
            for group in address.groups
        ]
        stacks = [
            moves(f"stack_{stack}", lambda bank, stack=stack: address.stack(bank) == stack)
            for stack in address.stacks
        ]
        spacing = self._spacing(m, ranks, groups)
        turned = self._turns(m, ranks, stacks, groups)
        closed = []
        for group in address.groups:
            closed.append(Signal(count, name=f"closed_{group}"))
            members = [self.active[bank] for bank in address.banks if address.group(bank) == group]
            m.d.comb += closed[group].eq(full - sum(members))
        for bank in address.banks:
            m.d.comb += [
                arbiter.order[bank].eq(Cat(self.left[bank], closed[address.group(bank)])),
                arbiter.age[bank].eq(self.age[bank]),
            ]
        open_turned = Signal(self.preset.banks)
        candidates = Signal(self.preset.banks)
        late = Signal(self.preset.banks)
        with m.If(late.any()):
            m.d.comb += arbiter.ready.eq(candidates & late)
        with m.Elif((candidates & self.wanted_by_several).any()):
            m.d.comb += arbiter.ready.eq(candidates & self.wanted_by_several)
        with m.Elif((candidates & self.wanted_again).any()):
            m.d.comb += arbiter.ready.eq(candidates & self.wanted_again)
        with m.Else():
            m.d.comb += arbiter.ready.eq(candidates)
        m.d.comb += [
            open_turned.eq(self.can_move & turned),
            candidates.eq(open_turned & spacing),
            late.eq(self.can_move & self.overdue),
            self.wanted.eq(arbiter.valid),
            self.move.eq(self.wanted & self.slot_free),
            self.bank.eq(arbiter.index),
            self.grant.eq(Mux(self.move, 1 << self.bank, 0)),
            self.waits_on_spacing.eq(~self.move & open_turned.any()),
            self.waits_on_turn.eq(~self.move & self.can_move.any() & ~open_turned.any()),
        ]
        return m

    def _timer(self, m, name, settings):
        """A timer of `(when, clocks)` settings; its `expired`."""
        timer = Timer(max(clocks for _, clocks in settings), name)
        for when, clocks in settings:
            timer.set(when, clocks)
        timer.elaborate_into(m)
        return timer.expired

    def _spacing(self, m, ranks, groups):
        """Banks that tCCD_S and tCCD_L permit."""
        t = Distances(self.preset)
        address = BankAddress(self.preset)
        short = [
            self._timer(m, f"tCCD_S_{rank}", [(hit, t.tCCD_S)]) for rank, hit in enumerate(ranks)
        ]
        long = [
            self._timer(m, f"tCCD_L_{group}", [(hit, t.tCCD_L)]) for group, hit in enumerate(groups)
        ]
        permitted = Signal(self.preset.banks, name="spacing_permits")
        m.d.comb += permitted.eq(
            Cat(short[address.rank(bank)] & long[address.group(bank)] for bank in address.banks)
        )
        return permitted

    def _turns(self, m, ranks, stacks, groups):
        """Banks that no change of stack ID, rank or direction, and no visit gap, holds back."""
        t = Distances(self.preset)
        address = BankAddress(self.preset)
        gap = Const(1)
        visit_gap = self.preset.clocks.visit_gap
        if visit_gap:
            gap = self._timer(
                m, "visit_gap", [((self.grant & self.last).any(), t.tCCD_S + visit_gap)]
            )
        by_stack = [Const(1) for _ in stacks]
        if self.preset.organization.stack_ids > 1:
            for stack in address.stacks:
                others = [
                    (hit, t.tCCD_R)
                    for other, hit in enumerate(stacks)
                    if other != stack
                    and address.rank_of_stack(other) == address.rank_of_stack(stack)
                ]
                by_stack[stack] = self._timer(m, f"stack_turn_{stack}", others)
        by_rank = [self._rank_turn(m, rank, ranks) for rank in address.ranks]
        by_group = [Const(1) for _ in groups]
        if self.writes:
            clocks = t.write_to_read(same_group=True)
            for group, hit in enumerate(groups):
                expired = self._timer(m, f"tWTR_L_{group}", [(hit & self.writing, clocks)])
                by_group[group] = expired | self.writing
        permitted = Signal(self.preset.banks, name="turn_permits")
        m.d.comb += permitted.eq(
            Cat(
                by_stack[address.stack(bank)]
                & by_rank[address.rank(bank)]
                & by_group[address.group(bank)]
                & gap
                for bank in address.banks
            )
        )
        return permitted

    def _rank_turn(self, m, rank, ranks):
        """Whether bursts of the present direction may follow in `rank` what went before."""
        t = Distances(self.preset)
        own = ranks[rank]
        other = Cat(hit for number, hit in enumerate(ranks) if number != rank).any()
        permits = []
        for write_after in (False, True) if self.writes else (False,):
            settings = []
            if self.writes:
                clocks = t.read_to_write if write_after else t.write_to_read(same_group=False)
                settings.append((own & (self.writing != write_after), clocks))
            if len(ranks) > 1:
                for write_before in (False, True) if self.writes else (False,):
                    clocks = t.rank_switch(write_before=write_before, write_after=write_after)
                    settings.append((other & (self.writing == write_before), clocks))
            name = f"rank_turn_{rank}_{'write' if write_after else 'read'}"
            permits.append(self._timer(m, name, settings) if settings else Const(1))
        return Mux(self.writing, permits[-1], permits[0])
