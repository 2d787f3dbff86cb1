"""Where a vector lies: from a table's row number to bank, DRAM row and burst."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import bits

__all__ = ["AddressMap"]


class AddressMap(wiring.Component):
    """Spreads vectors over banks and packs them into DRAM rows, none across a row's end.

    Vector v is in flat bank `v mod banks`. Of that bank's vectors it is number `w = v div banks`,
    in DRAM row `base_row + w mod row_span` at burst `(w div row_span) * bursts`. The quotient is
    below the vectors per row, at most `bursts_per_row`, so the division is that many subtractions
    of powers of two.

    Members
    -------
    vector : In
        Row number within the table, below the table's rows.
    base_row, row_span, bursts : In
        From the table's descriptor.
    bank, row, column : Out

    Timing: combinational.
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        rows = preset.organization.rows
        # The largest table holds one vector per burst.
        self.vector_bits = bits(preset.banks) + bits(rows) + bits(preset.bursts_per_row)
        super().__init__(
            {
                "vector": In(self.vector_bits),
                "base_row": In(bits(rows)),
                "row_span": In(bits(rows + 1)),
                "bursts": In(bits(preset.bursts_per_row + 1)),
                "bank": Out(bits(preset.banks)),
                "row": Out(bits(rows)),
                "column": Out(bits(preset.bursts_per_row)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bank_bits = bits(self.preset.banks)
        quotient_bits = bits(self.preset.bursts_per_row)
        remainder = self.vector[bank_bits:]
        quotient = Signal(quotient_bits)
        for bit in reversed(range(quotient_bits)):
            following = Signal(len(self.vector) - bank_bits, name=f"remainder_{bit}")
            m.d.comb += [
                quotient[bit].eq(remainder >= (self.row_span << bit)),
                following.eq(Mux(quotient[bit], remainder - (self.row_span << bit), remainder)),
            ]
            remainder = following
        m.d.comb += [
            self.bank.eq(self.vector[:bank_bits]),
            self.row.eq(self.base_row + remainder),
            self.column.eq(quotient * self.bursts),
        ]
        return m
