"""Per-bank refresh: one bank at a time, idle banks first, while the others work on."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.front_end import AHEAD, URGENT
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.distances import Distances
from recspeed.rtl.dram.dram_bus import bits
from recspeed.rtl.lib.timer import Timer

__all__ = ["PerBankRefresher"]


class PerBankRefresher(wiring.Component):
    """Owes one REFpb per tREFIpb, and refreshes every bank once per round (JEDEC: tRFCpb, tRREFD).

    While little is owed only banks without requests are refreshed. When `URGENT` are owed, the
    lowest bank that the round lacks becomes the victim: it is not activated until it was refreshed.

    Members
    -------
    enable : In(1)
        Clocks count from the first one in which this is 1; without it nothing is refreshed.
    available : In(banks)
        Banks that are closed and whose own timers and tRRD permit a refresh.
    idle : In(banks)
        Banks without a waiting request.
    slot_free : In(1)
        The proposed refresh is decided.
    victim : Out(banks)
        The bank that must not be activated, one-hot, or none.
    spacing_permits : Out(1)
        tRREFD permits ACT.
    wanted : Out(1)
        REFpb is proposed in this clock.
    bank : Out(range(banks))
        The bank that it is for.
    grant : Out(banks)
        It is decided, for that bank, one-hot.

    *Timing*: combinational from registers and inputs.

    *Undefined*: `bank` while `wanted` is 0.

    Source: docs/dram.md, "Refresh control".
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        banks = preset.banks
        super().__init__(
            {
                "enable": In(1),
                "available": In(banks),
                "idle": In(banks),
                "slot_free": In(1),
                "victim": Out(banks),
                "spacing_permits": Out(1),
                "wanted": Out(1),
                "bank": Out(bits(banks)),
                "grant": Out(banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        banks = self.preset.banks
        interval_clocks = self.preset.per_bank_interval
        interval = Signal(range(interval_clocks), init=interval_clocks - 1)
        owed = Signal(signed(8))
        refreshed = Signal(banks)
        t = Distances(self.preset)
        spacing = Timer(t.tRREFD, "tRREFD")
        refresh = Signal()
        spacing.set(refresh, t.tRREFD)
        spacing.elaborate_into(m)

        missing = Signal(banks)
        lowest_missing = Signal(banks)
        eligible = Signal(banks)
        idle_eligible = Signal(banks)
        chosen = Signal(banks)
        m.d.comb += [
            self.spacing_permits.eq(spacing.expired),
            missing.eq(~refreshed),
            lowest_missing.eq(missing & -missing),
            self.victim.eq(Mux(owed >= URGENT, lowest_missing, 0)),
            eligible.eq(Mux(self.enable & spacing.expired, missing & self.available, 0)),
            idle_eligible.eq(Mux(owed > -AHEAD, eligible & self.idle, 0)),
        ]
        with m.If((self.victim & eligible) != 0):
            m.d.comb += chosen.eq(self.victim)
        with m.Else():
            m.d.comb += chosen.eq(idle_eligible & -idle_eligible)
        m.d.comb += [
            self.wanted.eq(chosen != 0),
            refresh.eq(self.wanted & self.slot_free),
            self.grant.eq(Mux(refresh, chosen, 0)),
        ]
        for bank in range(banks):
            with m.If(chosen[bank]):
                m.d.comb += self.bank.eq(bank)

        after = Signal(banks)
        m.d.comb += after.eq(refreshed | self.grant)
        m.d.sync += refreshed.eq(Mux(after.all(), 0, after))
        tick = Signal()
        m.d.comb += tick.eq(self.enable & (interval == 0))
        m.d.sync += owed.eq(owed + tick - refresh)
        with m.If(self.enable):
            m.d.sync += interval.eq(Mux(tick, interval_clocks - 1, interval - 1))
        return m
