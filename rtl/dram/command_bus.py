"""The command buses that the two pseudo channels of an HBM channel share."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, Signature

__all__ = ["PSEUDO_CHANNELS", "CommandBusArbiter", "CommandBusShare"]

PSEUDO_CHANNELS = 2
"""Pseudo channels of an HBM channel (JESD235C, JESD238)."""


class CommandBusShare(Signature):
    """One front-end's share of command buses: what it proposes, and what it is granted.

    Out: `refresh` or `activate` for the row bus, `burst` for the column bus. In: `row_grant` and
    `burst_grant`, of the same clock; where nobody connects them the buses are the front-end's own.
    A proposal depends on registers alone, and one that is not granted changes nothing.
    """

    def __init__(self):
        super().__init__(
            {
                "refresh": Out(1),
                "activate": Out(1),
                "burst": Out(1),
                "row_grant": In(1, init=1),
                "burst_grant": In(1, init=1),
            }
        )


class CommandBusArbiter(wiring.Component):
    """Grants each bus to one of two front-ends per clock.

    Where both want the column bus, who had it latest yields: bursts alternate. Where both want the
    row bus, who had it latest keeps it, so that a stretch of ACTs keeps its rhythm, unless the
    other one has lost before since its own latest row command.

    An ACT needs the row bus for `activate_clocks`, the last of which is the clock that counts, so
    it may not follow the other front-end's row command closer than that.

    Members
    -------
    shares : In(CommandBusShare) for each pseudo channel

    Timing: combinational from the proposals and from who was granted what in earlier clocks.
    """

    def __init__(self, activate_clocks: int):
        self.activate_clocks = activate_clocks
        super().__init__({"shares": In(CommandBusShare()).array(PSEUDO_CHANNELS)})

    def elaborate(self, platform):
        m = Module()
        shares = [self.shares[number] for number in range(PSEUDO_CHANNELS)]
        row_granted = Signal(PSEUDO_CHANNELS)
        blocked = self._blocked(m, row_granted)
        rows = [
            share.refresh | (share.activate & ~held)
            for share, held in zip(shares, blocked, strict=True)
        ]
        m.d.comb += [
            row_granted.eq(self._grant_row(m, rows)),
            Cat(share.row_grant for share in shares).eq(row_granted),
            Cat(share.burst_grant for share in shares).eq(
                self._grant_column(m, [share.burst for share in shares])
            ),
        ]
        return m

    def _blocked(self, m, row_granted):
        """Per pseudo channel, whether a command of the other one is where an ACT would start."""
        blocked = [Const(0) for _ in range(PSEUDO_CHANNELS)]
        earlier = row_granted
        for age in range(1, self.activate_clocks):
            registered = Signal(PSEUDO_CHANNELS, name=f"row_granted_{age}_ago")
            m.d.sync += registered.eq(earlier)
            earlier = registered
            blocked = [held | registered[1 - number] for number, held in enumerate(blocked)]
        return blocked

    @staticmethod
    def _grant_column(m, wanted):
        """One of two proposals, one-hot; a tie goes to who did not have the bus latest."""
        latest = Signal(init=1, name="column_latest")
        granted = Signal(PSEUDO_CHANNELS, name="column_granted")
        tie = wanted[0] & wanted[1]
        m.d.comb += granted.eq(Mux(tie, Mux(latest, 0b01, 0b10), Cat(*wanted)))
        with m.If(granted != 0):
            m.d.sync += latest.eq(granted[1])
        return granted

    @staticmethod
    def _grant_row(m, wanted):
        """One of two proposals, one-hot; a tie goes to who had the bus latest, or lost one."""
        latest = Signal(name="row_latest")
        lost = Signal(PSEUDO_CHANNELS, name="row_tie_lost")
        winner = Signal(name="row_tie_winner")
        granted = Signal(PSEUDO_CHANNELS, name="row_granted")
        tie = wanted[0] & wanted[1]
        m.d.comb += [
            winner.eq(Mux(latest, ~lost[0], lost[1])),
            granted.eq(Mux(tie, Mux(winner, 0b10, 0b01), Cat(*wanted))),
        ]
        with m.If(granted != 0):
            m.d.sync += [
                latest.eq(granted[1]),
                lost.eq((lost | Mux(tie, ~granted, 0)) & ~granted),
            ]
        return granted
