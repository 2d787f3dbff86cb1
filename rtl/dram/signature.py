"""What crosses the DRAM front-end's borders: requests in, commands and data out, responses back."""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset

__all__ = ["BankAddress", "DramBus", "ReadRequest", "ReadResponse"]

BEAT_BITS = 8 * BEAT_BYTES


def bits(count: int) -> int:
    """Width that numbers below `count` need, at least 1."""
    return max((count - 1).bit_length(), 1)


class ReadRequest(data.StructLayout):
    """One row visit: `bursts` + 1 bursts of one DRAM row, from burst `column` on.

    `bank` is the flat bank number, `tag` comes back with every beat.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        super().__init__(
            {
                "bank": unsigned(bits(preset.banks)),
                "row": unsigned(bits(preset.organization.rows)),
                "column": unsigned(bits(preset.bursts_per_row)),
                "bursts": unsigned(bits(preset.bursts_per_row)),
                "tag": unsigned(tag_bits),
            }
        )


class ReadResponse(data.StructLayout):
    """One beat of data: of burst `burst` of the request, `beat` of that burst, 16 B.

    `last` marks the beats of a request's last burst.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        super().__init__(
            {
                "tag": unsigned(tag_bits),
                "burst": unsigned(bits(preset.bursts_per_row)),
                "beat": unsigned(bits(preset.burst_clocks)),
                "last": unsigned(1),
                "data": unsigned(BEAT_BITS),
            }
        )


class BankAddress:
    """How a flat bank number splits: consecutive numbers rotate over bank groups."""

    def __init__(self, preset: MemoryPreset):
        self.bank_groups = preset.organization.bank_groups
        self.banks_per_stack = self.bank_groups * preset.organization.banks_per_group

    def stack(self, bank: int) -> int:
        """Stack ID of flat bank `bank`."""
        return bank // self.banks_per_stack

    def group(self, bank: int) -> int:
        """Number of its bank group, counted over all stack IDs."""
        return self.stack(bank) * self.bank_groups + bank % self.bank_groups


class DramBus(Signature):
    """A DFI-like bus: one row command and one column command per clock, and read data.

    Out: `row_valid` with `row_refresh` (REF, else ACT), `row_bank`, `row_address`; `column_valid`
    with `column_precharge` (RDA, else RD), `column_bank`, `column_address` (in bursts). In:
    `data_valid` and `data`, tCL clocks after the read for `burst_clocks` clocks.
    """

    def __init__(self, preset: MemoryPreset):
        bank = unsigned(bits(preset.banks))
        super().__init__(
            {
                "row_valid": Out(1),
                "row_refresh": Out(1),
                "row_bank": Out(bank),
                "row_address": Out(bits(preset.organization.rows)),
                "column_valid": Out(1),
                "column_precharge": Out(1),
                "column_bank": Out(bank),
                "column_address": Out(bits(preset.bursts_per_row)),
                "data_valid": In(1),
                "data": In(BEAT_BITS),
            }
        )
