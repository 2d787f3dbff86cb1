"""The distances between commands that the front-end's timers keep, read from the timing table."""

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import Command, Scope, distance, timing_rules

__all__ = ["ACTIVATE_WINDOW", "Distances"]

ACTIVATE_WINDOW = 4
"""Activates in a tFAW window (JEDEC, all families)."""


class Distances:
    """Clocks from one command to another, of `models/spec/timing.py`, under their usual names.

    A distance that the device does not have is 0. Where several rules bind one pair of commands,
    as tRC and tRAS + tRP do, it is the largest.

    Attributes
    ----------
    tRCD, tRCD_WR
        ACT to a read, to a write, of a bank.
    row_cycle, read_to_activate, write_to_activate
        ACT, a read and a write with auto-precharge to the next ACT of a bank.
    tRFCpb
        REFpb to ACT of a bank.
    tRRD_S, tRRD_L, tFAW
        ACT to ACT of a rank, of a bank group; to the `ACTIVATE_WINDOW`th one later of a rank.
    tCCD_S, tCCD_L, tCCD_R
        Burst to burst of a rank, of a bank group, of two stack IDs of a rank.
    read_to_write
        A read to a write of a rank.
    tRFC, tRREFD
        REF, REFpb to ACT of a rank.
    """

    def __init__(self, preset: MemoryPreset):
        self._rules = timing_rules(preset)
        self.tRCD = self._distance("bank", "ACT", "RD")
        self.tRCD_WR = self._distance("bank", "ACT", "WR")
        self.row_cycle = self._distance("bank", "ACT", "ACT")
        self.read_to_activate = self._distance("bank", "RDA", "ACT")
        self.write_to_activate = self._distance("bank", "WRA", "ACT")
        self.tRFCpb = self._distance("bank", "REFPB", "ACT")
        self.tRRD_S = self._distance("rank", "ACT", "ACT")
        self.tRRD_L = self._distance("bank_group", "ACT", "ACT")
        self.tFAW = distance(self._rules, "rank", "ACT", "ACT", window=ACTIVATE_WINDOW)
        self.tCCD_S = self._distance("rank", "RD", "RD")
        self.tCCD_L = self._distance("bank_group", "RD", "RD")
        self.tCCD_R = self._distance("other_stack", "RD", "RD")
        self.read_to_write = self._distance("rank", "RD", "WR")
        self.tRFC = self._distance("rank", "REF", "ACT")
        self.tRREFD = self._distance("rank", "REFPB", "ACT")

    def write_to_read(self, *, same_group: bool) -> int:
        """A write to a read of the same bank group (tWTR_L), or of the same rank (tWTR_S)."""
        return self._distance("bank_group" if same_group else "rank", "WR", "RD")

    def rank_switch(self, *, write_before: bool, write_after: bool) -> int:
        """A burst to one of another rank, by their directions."""
        before, after = ("WR" if write else "RD" for write in (write_before, write_after))
        return self._distance("other_rank", before, after)

    def _distance(self, scope: Scope, previous: Command, following: Command) -> int:
        return distance(self._rules, scope, previous, following)
