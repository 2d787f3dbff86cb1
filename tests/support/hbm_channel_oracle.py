"""An oracle for the golden model of an HBM channel: docs/dram.md, "The two pseudo channels ...".

Two literal front-ends and the buses between them, in the page's words: who decided what and when is
a plain history, and every rule looks it up there.
"""

from dataclasses import replace

from recspeed.models.runs.dram import DramResult, DramRun
from support.dram_oracle import Decisions, LiteralDram


class LiteralHbmChannel:
    """Two runs in lock step; `run_to_end` gives their results."""

    def __init__(self, runs: tuple[DramRun, DramRun]):
        self.channels = [LiteralDram(run) for run in runs]
        self.activate_clocks = runs[0].preset.organization.activate_clocks
        self.history = {"row": [], "column": []}
        """(clock, pseudo channel) of every command decided on a bus, in order."""
        self.lost = []
        """(clock, pseudo channel) of every tie lost on the row bus, in order."""

    def run_to_end(self, limit=2_000_000) -> tuple[DramResult, DramResult]:
        results: list = [None, None]
        for t in range(limit):
            for number, channel in enumerate(self.channels):
                channel.front.see(t)
                if results[number] is None and channel.is_done(t):
                    results[number] = channel.result(t)
            if None not in results:
                return results[0], results[1]
            proposals = [channel.front.decide(t) for channel in self.channels]
            decided = self.grant(t, proposals)
            for channel, decisions in zip(self.channels, decided, strict=True):
                channel.clock(t, decisions)
        raise AssertionError("the oracle does not end")

    def is_blocked(self, t, number, proposal: Decisions) -> bool:
        """The proposed row command is an ACT, and the other one's row command is too near."""
        return proposal.activate is not None and any(
            who != number and t - self.activate_clocks + 1 <= clock <= t - 1
            for clock, who in self.history["row"][-2 * self.activate_clocks :]
        )

    def has_lost(self, number) -> bool:
        """The pseudo channel has lost a tie on the row bus since its own latest row command."""
        own = next((clock for clock, who in reversed(self.history["row"]) if who == number), -1)
        lost = next((clock for clock, who in reversed(self.lost) if who == number), -1)
        return lost > own

    def winner(self, bus, those):
        """Of the pseudo channels `those` that want the bus, the one that is granted it."""
        if len(those) < 2:
            return those[0] if those else None
        if not self.history[bus]:
            return 0
        latest = self.history[bus][-1][1]
        if bus == "column" or self.has_lost(1 - latest):
            return 1 - latest
        return latest

    def grant(self, t, proposals: list[Decisions]) -> list[Decisions]:
        """What of each proposal is decided."""
        row = [
            number
            for number, proposal in enumerate(proposals)
            if (proposal.refresh is not None or proposal.activate is not None)
            and not self.is_blocked(t, number, proposal)
        ]
        column = [
            number for number, proposal in enumerate(proposals) if proposal.column is not None
        ]
        granted = {"row": self.winner("row", row), "column": self.winner("column", column)}
        if len(row) == 2:
            self.lost.append((t, 1 - granted["row"]))
        for bus, number in granted.items():
            if number is not None:
                self.history[bus].append((t, number))
        decided = []
        for number, proposal in enumerate(proposals):
            if granted["row"] != number:
                proposal = replace(proposal, refresh=None, activate=None)
            if granted["column"] != number:
                proposal = replace(proposal, column=None)
            decided.append(proposal)
        return decided
