"""Refresh of a channel: one all-bank refresher per rank, or per-bank refresh."""

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher
from recspeed.rtl.dram.dram_bus import BankAddress, bits
from recspeed.rtl.dram.per_bank_refresh import PerBankRefresher

__all__ = ["RefreshControl"]


class RefreshControl(wiring.Component):
    """Proposes at most one refresh per clock for the row slot; all-bank and per-bank exclude.

    Members
    -------
    run : In(1)
        Clocks count from the first one in which this is 1.
    group : In(range(MAXIMUM_REFRESH_DEBT + 1))
        All-bank refreshes per group; 0 switches refresh off.
    per_bank : In(1)
        Per-bank refresh in place of all-bank refresh.
    closed : In(banks)
        Banks that are closed with expired timers.
    waiting : In(banks)
        Banks with a request in a queue.
    spacing_permits : In(banks)
        Banks that tRRD permits a row command to.
    slot_free : In(1)
        The proposed refresh is decided.
    wanted : Out(1)
        A refresh is proposed.
    single : Out(1)
        It is a REFpb, else a REF.
    bank : Out(range(banks))
        The bank that it is for; of a REF the first one of its rank.
    due : Out(banks)
        All-bank refreshes are due in the bank's rank.
    refreshing : Out(banks)
        They are due, or the rank's latest REF is less than tRFC ago.
    victim : Out(banks)
        The bank that per-bank refresh keeps closed, one-hot, or none.
    barred : Out(banks)
        Banks that the victim's place or tRREFD forbids to activate.
    grant : Out(banks)
        REFpb is decided in this clock, for that bank, one-hot.

    *Timing*: combinational from registers and inputs.

    *Undefined*: `single` and `bank` while `wanted` is 0.

    Source: docs/dram.md, "Refresh control".
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        banks = preset.banks
        super().__init__(
            {
                "run": In(1),
                "group": In(range(MAXIMUM_REFRESH_DEBT + 1)),
                "per_bank": In(1),
                "closed": In(banks),
                "waiting": In(banks),
                "spacing_permits": In(banks),
                "slot_free": In(1),
                "wanted": Out(1),
                "single": Out(1),
                "bank": Out(bits(banks)),
                "due": Out(banks),
                "refreshing": Out(banks),
                "victim": Out(banks),
                "barred": Out(banks),
                "grant": Out(banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._all_bank(m)
        if self.preset.per_bank_refresh:
            self._per_bank(m)
        return m

    def _all_bank(self, m):
        taken = Const(0)
        for rank in BankAddress(self.preset).ranks:
            refresher = AllBankRefresher(self.preset)
            m.submodules[f"rank_{rank}"] = refresher
            first, end = rank * self.preset.banks_per_rank, (rank + 1) * self.preset.banks_per_rank
            m.d.comb += [
                refresher.run.eq(self.run),
                refresher.group.eq(Mux(self.per_bank, 0, self.group)),
                refresher.banks_idle.eq(self.closed[first:end].all()),
                refresher.slot_free.eq(self.slot_free & ~taken),
                self.refreshing[first:end].eq(refresher.busy.replicate(end - first)),
                self.due[first:end].eq(refresher.due.replicate(end - first)),
            ]
            with m.If(refresher.ready & ~taken):
                m.d.comb += [self.wanted.eq(1), self.bank.eq(first)]
            taken = taken | refresher.ready

    def _per_bank(self, m):
        m.submodules.per_bank_refresher = single = PerBankRefresher(self.preset)
        m.d.comb += [
            single.enable.eq(self.run & self.per_bank & (self.group != 0)),
            single.available.eq(self.closed & self.spacing_permits),
            single.idle.eq(~self.waiting),
            single.slot_free.eq(self.slot_free),
            self.victim.eq(single.victim),
            self.barred.eq(single.victim | (~single.spacing_permits).replicate(self.preset.banks)),
            self.grant.eq(single.grant),
        ]
        with m.If(single.wanted):
            m.d.comb += [self.wanted.eq(1), self.single.eq(1), self.bank.eq(single.bank)]
