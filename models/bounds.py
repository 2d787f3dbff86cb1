"""The JEDEC bound: what no front-end exceeds on random row visits, in closed form.

One *visit* opens a DRAM row, reads the k bursts of one vector and closes the row. Over many visits
that are spread evenly over the banks each of these asks for its share of clocks; the largest rules:

    data bus   k * max(tCCD_S, burst)   every burst takes its turn on the data bus
    tRRD_S     tRRD_S                   one ACT per visit
    tFAW       tFAW / 4                 four ACTs per window
    banks      tRC' / banks             a bank's visits follow each other by tRC'

    tRC' = max(tRC, max(tRAS, tRCD + (k - 1) tCCD_L + tRTP) + tRP)

All-bank refresh leaves the part 1 - tRFC / tREFI of the clocks. The timings are JESD235C's.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset


@dataclass(frozen=True)
class VisitBound:
    """The bound of random visits of one vector each.

    Attributes
    ----------
    clocks : Fraction
        Clocks per visit at least, refresh included.
    terms : dict of str to Fraction
        Clocks per visit that each term of the bound asks for, before refresh.
    limiters : tuple of str
        Names of the terms that bind; more than one where they are equal.
    fraction_of_pin : float
        Vector bytes (padding does not count) over what the pins move in that time.
    gb_per_s : float
        Vector bytes per nanosecond of one pseudo channel.
    """

    clocks: Fraction
    terms: dict[str, Fraction]
    limiters: tuple[str, ...]
    fraction_of_pin: float
    gb_per_s: float

    @property
    def limiter(self) -> str:
        """The first of `limiters`: where terms tie, the data bus, then tRRD_S, tFAW, banks."""
        return self.limiters[0]


def visit_bound(preset: MemoryPreset, embedding_bytes: int, *, refresh: bool = True) -> VisitBound:
    """The bound of `preset` for random rows of vectors of `embedding_bytes`.

    Raises
    ------
    ValueError
        For a vector of no bytes or of more than a DRAM row, or where refresh leaves no clock.
    """
    if not 1 <= embedding_bytes <= preset.organization.row_bytes:
        raise ValueError(
            f"a vector of {embedding_bytes} B; expected 1 to {preset.organization.row_bytes} B"
        )
    t, bursts = preset.clocks, ceil(embedding_bytes / preset.burst_bytes)
    open_clocks = max(t.tRAS, t.tRCD + (bursts - 1) * t.tCCD_L + t.tRTP)
    terms = {
        "data bus": Fraction(bursts * max(t.tCCD_S, preset.burst_clocks)),
        "tRRD_S": Fraction(t.tRRD_S),
        "tFAW": Fraction(t.tFAW, 4),
        "banks": Fraction(max(t.tRC, open_clocks + t.tRP), preset.banks),
    }
    largest = max(terms.values())
    clocks = largest
    if refresh:
        if t.tRFC >= t.tREFI:
            raise ValueError(f"{preset.name}: tRFC of {t.tRFC} clocks leaves nothing of tREFI")
        clocks /= 1 - Fraction(t.tRFC, t.tREFI)
    fraction = float(embedding_bytes / (clocks * BEAT_BYTES))
    return VisitBound(
        clocks=clocks,
        terms=terms,
        limiters=tuple(name for name, value in terms.items() if value == largest),
        fraction_of_pin=fraction,
        gb_per_s=fraction * preset.pin_gb_per_s,
    )
