"""The row command slot: which bank is activated in this clock."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.distances import ACTIVATE_WINDOW, Distances
from recspeed.rtl.dram.dram_bus import BankAddress, bits
from recspeed.rtl.dram.request_queue import AGE_BITS
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.timer import Timer

__all__ = ["RowScheduler"]


class RowScheduler(wiring.Component):
    """Activates a request that tRRD_S, tRRD_L, tFAW and refresh permit.

    The oldest one if it is overdue; else the oldest of a bank where another one waits behind it,
    since these banks take longest to be done; else the oldest.

    Since the queue heads of other bank groups become ready at tRRD_S and those of the latest bank
    group at tRRD_L only, oldest-ready-first rotates over bank groups by itself.

    Members
    -------
    can_activate : In(banks)
        Banks that may be activated as far as they and refresh are concerned.
    age : In(AGE_BITS).array(banks)
        Age of the request that would be activated.
    overdue : In(banks)
        Banks where that request is overdue.
    several : In(banks)
        Banks where another request waits behind it.
    slot_free : In(1)
        No other command takes the row slot.
    wanted : Out(1)
        A command is decided if `slot_free`.
    activate : Out(1)
        ACT is decided in this clock.
    bank : Out(range(banks))
        The bank that it is for.
    grant : Out(banks)
        The same, one-hot; 0 without ACT.
    spacing_permits : Out(banks)
        tRRD_S and tRRD_L permit a row command to the bank.
    window_permits : Out(banks)
        tFAW permits an ACT in the bank's rank.

    *Timing*: combinational from the registers; its timers follow in the next clock.

    *Undefined*: `bank` while `wanted` is 0.

    Source: docs/dram.md, "Row scheduler".
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        super().__init__(
            {
                "can_activate": In(preset.banks),
                "age": In(AGE_BITS).array(preset.banks),
                "overdue": In(preset.banks),
                "several": In(preset.banks),
                "slot_free": In(1),
                "wanted": Out(1),
                "activate": Out(1),
                "bank": Out(bits(preset.banks)),
                "grant": Out(preset.banks),
                "spacing_permits": Out(preset.banks),
                "window_permits": Out(preset.banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = Distances(self.preset)
        address = BankAddress(self.preset)
        m.submodules.arbiter = arbiter = OldestReady(self.preset.banks, AGE_BITS)

        def granted(belongs):
            return Cat(self.grant[bank] for bank in address.banks if belongs(bank)).any()

        ranks, windows = [], []
        for rank in address.ranks:
            hit = Signal(name=f"activate_rank_{rank}")
            m.d.comb += hit.eq(granted(lambda bank, rank=rank: address.rank(bank) == rank))
            spacing = Timer(t.tRRD_S, f"tRRD_S_{rank}")
            spacing.set(hit, t.tRRD_S)
            spacing.elaborate_into(m)
            ranks.append(spacing)
            windows.append(self._window(m, rank, hit))
        groups = []
        for group in address.groups:
            spacing = Timer(t.tRRD_L, f"tRRD_L_{group}")
            spacing.set(granted(lambda bank, group=group: address.group(bank) == group), t.tRRD_L)
            spacing.elaborate_into(m)
            groups.append(spacing)

        for bank in address.banks:
            rank = address.rank(bank)
            m.d.comb += [
                self.spacing_permits[bank].eq(
                    ranks[rank].expired & groups[address.group(bank)].expired
                ),
                self.window_permits[bank].eq(windows[rank]),
                arbiter.age[bank].eq(self.age[bank]),
            ]
        candidates = Signal(self.preset.banks)
        with m.If((candidates & self.overdue).any()):
            m.d.comb += arbiter.ready.eq(candidates & self.overdue)
        with m.Elif((candidates & self.several).any()):
            m.d.comb += arbiter.ready.eq(candidates & self.several)
        with m.Else():
            m.d.comb += arbiter.ready.eq(candidates)
        m.d.comb += [
            candidates.eq(self.can_activate & self.spacing_permits & self.window_permits),
            self.wanted.eq(arbiter.valid),
            self.activate.eq(self.wanted & self.slot_free),
            self.bank.eq(arbiter.index),
            self.grant.eq(self.activate << self.bank),
        ]
        return m

    def _window(self, m, rank, hit):
        """One timer for each of the rank's latest four activates; the oldest of them rules."""
        t = Distances(self.preset)
        oldest = Signal(range(ACTIVATE_WINDOW), name=f"oldest_{rank}")
        window = [Timer(t.tFAW, f"tFAW_{rank}_{slot}") for slot in range(ACTIVATE_WINDOW)]
        for slot, timer in enumerate(window):
            timer.set(hit & (oldest == slot), t.tFAW)
            timer.elaborate_into(m)
        permits = Signal(name=f"window_{rank}")
        m.d.sync += oldest.eq(oldest + hit)
        with m.Switch(oldest):
            for slot, timer in enumerate(window):
                with m.Case(slot):
                    m.d.comb += permits.eq(timer.expired)
        return permits
