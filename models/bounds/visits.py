"""The JEDEC bound: what no front-end exceeds on random row visits, in closed form.

One *visit* opens a DRAM row, moves the k bursts of one vector and closes the row. Over many visits
that are spread evenly over the banks each of these asks for its share of clocks per visit:

    data bus      k * max(tCCD_S, burst) + visit_gap   every burst takes its turn on the data bus
    tRRD_S        tRRD_S / ranks                       one ACT per visit
    tFAW          tFAW / 4 / ranks                     four ACTs per window
    banks         tRC' / banks                         a bank's visits follow each other by tRC'
    tCCD_L        k * tCCD_L / bank groups             bursts of one bank group
    tRRD_L        tRRD_L / bank groups                 ACTs of one bank group
    command bus   k + 1                                where one bus carries all commands
    row bus       activate_clocks * pseudo channels    where pseudo channels share a row bus

    tRC' = max(tRC, max(tRAS, tRCD + (k - 1) tCCD_L + tRTP) + tRP)                      of a read
    tRC' = max(tRC, max(tRAS, tRCD_WR + (k - 1) tCCD_L + tCWL + burst + tWR) + tRP)     of a write

Banks and bank groups count over all stack IDs and ranks. With ranks, bursts of two of them may
follow each other sooner than tCCD_S, by burst + tRTRS. Reads and writes mixed count each visit with
its own tRC'; what turning the data bus around costs is not counted, nor is switching ranks: a
front-end avoids most of both by grouping, so the bound stays one.

All-bank refresh leaves the part 1 - tRFC / tREFI of a rank's clocks, and so of everything where
there is one rank; several ranks refresh in turn, and the buses lose nothing but the commands.
Per-bank refresh, one command per tREFIpb, takes tRREFD from the ACTs of its rank (tRRD_S, not tFAW,
which counts ACTs alone), tRFCpb per tREFI from every bank, and its own clock on the command bus.
The timings are JESD235C's, and those of the same name in JESD238, JESD79-4 and JESD250.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset

RANK_TERMS: tuple[str, ...] = ("tRRD_S", "tFAW", "banks", "tCCD_L", "tRRD_L")
CHANNEL_TERMS: tuple[str, ...] = ("data bus", "command bus", "row bus")
"""Terms of what each rank has for itself, and of what all ranks share."""


@dataclass(frozen=True)
class VisitBound:
    """The bound of random visits of one vector each.

    Attributes
    ----------
    clocks : Fraction
        Clocks per visit at least, refresh included.
    terms : dict of str to Fraction
        Clocks per visit that each term of the bound asks for, before refresh.
    refreshed_terms : dict of str to Fraction
        The same with what refresh takes from each.
    limiters : tuple of str
        Names of the terms that bind; more than one where they are equal.
    fraction_of_pin : float
        Vector bytes (padding does not count) over what the pins move in that time.
    gb_per_s : float
        Vector bytes per nanosecond of one pseudo channel.
    """

    clocks: Fraction
    terms: dict[str, Fraction]
    refreshed_terms: dict[str, Fraction]
    limiters: tuple[str, ...]
    fraction_of_pin: float
    gb_per_s: float

    @property
    def limiter(self) -> str:
        """The first of `limiters`, in the order of the page's list."""
        return self.limiters[0]


def visit_bound(
    preset: MemoryPreset,
    embedding_bytes: int,
    *,
    refresh: bool = True,
    per_bank: bool = False,
    write_share: float | Fraction = 0,
    pseudo_channels: int = 1,
) -> VisitBound:
    """The bound of `preset` for random rows of vectors of `embedding_bytes`.

    Parameters
    ----------
    refresh, per_bank
        Refresh is on, and in per-bank mode.
    write_share
        Part of the visits that write.
    pseudo_channels
        Equally busy pseudo channels that share one row bus: 1 or 2.

    Raises
    ------
    ValueError
        For a vector of no bytes or of more than a DRAM row, where refresh leaves no clock or the
        device has no per-bank refresh, for a share beyond 0 to 1, or for pseudo channels that the
        device cannot have.
    """
    if not 1 <= embedding_bytes <= preset.organization.row_bytes:
        raise ValueError(
            f"a vector of {embedding_bytes} B; expected 1 to {preset.organization.row_bytes} B"
        )
    if not 0 <= write_share <= 1:
        raise ValueError(f"a write share of {write_share}; expected 0 to 1")
    shareable = 2 if preset.organization.command_bus == "separate" else 1
    if not 1 <= pseudo_channels <= shareable:
        raise ValueError(
            f"{preset.name}: {pseudo_channels} pseudo channels on a row bus; "
            f"expected {'1 or 2' if shareable == 2 else '1'}"
        )
    bursts = ceil(embedding_bytes / preset.burst_bytes)
    terms = _terms(preset, bursts, Fraction(write_share), pseudo_channels)
    lost = _lost_to_refresh(preset, per_bank, pseudo_channels) if refresh else {}
    refreshed = {name: value / (1 - lost.get(name, 0)) for name, value in terms.items()}
    clocks = max(refreshed.values())
    fraction = float(embedding_bytes / (clocks * BEAT_BYTES))
    return VisitBound(
        clocks=clocks,
        terms=terms,
        refreshed_terms=refreshed,
        limiters=tuple(name for name, value in refreshed.items() if value == clocks),
        fraction_of_pin=fraction,
        gb_per_s=fraction * preset.pin_gb_per_s,
    )


def row_cycle(preset: MemoryPreset, bursts: int, *, write: bool) -> int:
    """tRC' in clocks: from the ACT of a visit of that many bursts to the next ACT of the bank."""
    t = preset.clocks
    if write:
        open_clocks = t.tRCD_WR + (bursts - 1) * t.tCCD_L + preset.write_to_precharge
    else:
        open_clocks = t.tRCD + (bursts - 1) * t.tCCD_L + t.tRTP
    return max(t.tRC, max(t.tRAS, open_clocks) + t.tRP)


def _terms(
    preset: MemoryPreset, bursts: int, write_share: Fraction, pseudo_channels: int
) -> dict[str, Fraction]:
    t, org = preset.clocks, preset.organization
    groups = org.ranks * org.stack_ids * org.bank_groups
    spacing = max(t.tCCD_S, preset.burst_clocks)
    if org.ranks > 1:
        spacing = min(spacing, preset.burst_clocks + t.tRTRS)
    cycle = (1 - write_share) * row_cycle(preset, bursts, write=False)
    cycle += write_share * row_cycle(preset, bursts, write=True)
    terms = {
        "data bus": Fraction(bursts * spacing + t.visit_gap),
        "tRRD_S": Fraction(t.tRRD_S, org.ranks),
        "tFAW": Fraction(t.tFAW, 4 * org.ranks),
        "banks": cycle / preset.banks,
        "tCCD_L": Fraction(bursts * t.tCCD_L, groups),
        "tRRD_L": Fraction(t.tRRD_L, groups),
    }
    if org.command_bus == "shared":
        terms["command bus"] = Fraction(bursts + org.activate_clocks)
    else:
        terms["row bus"] = Fraction(org.activate_clocks * pseudo_channels)
    return terms


def _lost_to_refresh(
    preset: MemoryPreset, per_bank: bool, pseudo_channels: int
) -> dict[str, Fraction]:
    """Part of each term's clocks that refresh takes; a term that is left out loses nothing."""
    t, ranks = preset.clocks, preset.organization.ranks
    if not per_bank:
        if t.tRFC >= t.tREFI:
            raise ValueError(f"{preset.name}: tRFC of {t.tRFC} clocks leaves nothing of tREFI")
        part = Fraction(t.tRFC, t.tREFI)
        lost = dict.fromkeys(RANK_TERMS + CHANNEL_TERMS, part)
        if ranks > 1:
            lost |= {"data bus": Fraction(0), "command bus": Fraction(ranks, t.tREFI)}
        return lost
    if not preset.per_bank_refresh:
        raise ValueError(f"{preset.name} has no per-bank refresh")
    interval = preset.per_bank_interval
    return {
        "tRRD_S": Fraction(t.tRREFD, interval * ranks),
        "banks": Fraction(t.tRFCpb, t.tREFI),
        "command bus": Fraction(1, interval),
        "row bus": Fraction(pseudo_channels, interval),
    }
