"""What crosses the DRAM front-end's borders: requests in, commands and data out, responses back."""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.front_end import MAXIMUM_BURSTS
from recspeed.models.spec.memory import BEAT_BYTES, MemoryPreset

__all__ = ["BankAddress", "DramBus", "ReadResponse", "Request", "bits"]

BEAT_BITS = 8 * BEAT_BYTES


def bits(count: int) -> int:
    """Width that numbers below `count` need, at least 1."""
    return max((count - 1).bit_length(), 1)


class Request(data.StructLayout):
    """One row visit: `bursts` + 1 bursts of one DRAM row, from burst `column` on.

    `bank` is the flat bank number, `tag` comes back with every beat, or with the completed write.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        super().__init__(
            {
                "bank": unsigned(bits(preset.banks)),
                "row": unsigned(bits(preset.organization.rows)),
                "column": unsigned(bits(preset.bursts_per_row)),
                "bursts": unsigned(bits(MAXIMUM_BURSTS)),
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
                "burst": unsigned(bits(MAXIMUM_BURSTS)),
                "beat": unsigned(bits(preset.burst_clocks)),
                "last": unsigned(1),
                "data": unsigned(BEAT_BITS),
            }
        )


class BankAddress:
    """How a flat bank number splits: consecutive numbers rotate over bank groups.

    Groups are counted over all stack IDs and ranks, stacks over all ranks.
    """

    def __init__(self, preset: MemoryPreset):
        self.preset = preset
        org = preset.organization
        self.banks = range(preset.banks)
        self.ranks = range(org.ranks)
        self.stacks = range(org.ranks * org.stack_ids)
        self.groups = range(len(self.stacks) * org.bank_groups)

    def rank(self, bank: int) -> int:
        """Rank of flat bank `bank`."""
        return bank // self.preset.banks_per_rank

    def stack(self, bank: int) -> int:
        """Its stack ID, counted over all ranks."""
        return bank // self.preset.banks_per_stack

    def group(self, bank: int) -> int:
        """Its bank group, counted over all stack IDs."""
        groups = self.preset.organization.bank_groups
        return self.stack(bank) * groups + bank % groups

    def rank_of_stack(self, stack: int) -> int:
        """The rank that holds stack ID `stack`."""
        return stack // self.preset.organization.stack_ids

    def rank_of_group(self, group: int) -> int:
        """The rank that holds bank group `group`."""
        return self.rank_of_stack(group // self.preset.organization.bank_groups)


class DramBus(Signature):
    """A DFI-like bus: row and column command, write data out; read data in.

    Out: `row_valid` with `row_refresh` (REF, or REFpb where `row_per_bank`; else ACT), `row_bank`,
    `row_address`; `column_valid` with `column_write` (else a read), `column_precharge`,
    `column_bank`, `column_address` (in bursts); `write_valid` and `write_data`, tCWL clocks after
    the write. In: `data_valid` and `data`, tCL clocks after the read.
    """

    def __init__(self, preset: MemoryPreset):
        bank = unsigned(bits(preset.banks))
        super().__init__(
            {
                "row_valid": Out(1),
                "row_refresh": Out(1),
                "row_per_bank": Out(1),
                "row_bank": Out(bank),
                "row_address": Out(bits(preset.organization.rows)),
                "column_valid": Out(1),
                "column_write": Out(1),
                "column_precharge": Out(1),
                "column_bank": Out(bank),
                "column_address": Out(bits(preset.bursts_per_row)),
                "write_valid": Out(1),
                "write_data": Out(BEAT_BITS),
                "data_valid": In(1),
                "data": In(BEAT_BITS),
            }
        )
