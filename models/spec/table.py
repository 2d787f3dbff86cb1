"""Embedding tables as a channel holds them, their placement, and what lookups outside do."""

from enum import IntEnum
from math import ceil
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from recspeed.models.spec.memory import FROZEN, MemoryPreset
from recspeed.models.spec.toml import SpecificationError

ELEMENT_BYTES = 2


MAXIMUM_VECTOR_BYTES = 1024


MAXIMUM_BAG = 4095
"""Lookups of one bag: 12 bits of growth above a single FP16 value's 41 bits."""


class Policy(IntEnum):
    """What a lookup outside its table does. It never reads memory under any of them.

    FATAL ends the run with an error; CLAMP reads row 0 instead and is counted; DROP adds nothing
    and is counted.
    """

    FATAL = 0
    CLAMP = 1
    DROP = 2


class Table(BaseModel):
    """One embedding table as a channel holds it.

    Vector v lies in flat bank `v mod banks`; of that bank's vectors, number `w = v // banks`, it is
    in DRAM row `base_row + w mod row_span` at burst `(w // row_span) * bursts`. So it never crosses
    a DRAM row, and the last place of a row is used before a table needs another row.
    """

    model_config = FROZEN
    rows: Annotated[int, Field(ge=1, le=(1 << 40))]
    bytes: Annotated[int, Field(ge=4, le=MAXIMUM_VECTOR_BYTES)]
    base_row: Annotated[int, Field(ge=0)]
    row_span: Annotated[int, Field(ge=1)]
    policy: Policy = Policy.FATAL

    @model_validator(mode="after")
    def _whole_pairs(self) -> Self:
        if self.bytes % 4:
            raise ValueError(f"an embedding of {self.bytes} B is not a multiple of 4 B")
        return self

    @property
    def elements(self) -> int:
        return self.bytes // ELEMENT_BYTES

    @property
    def beats(self) -> int:
        """Beats of 8 lanes that hold the vector."""
        return ceil(self.bytes / 16)

    def bursts(self, preset: MemoryPreset) -> int:
        return ceil(self.bytes / preset.burst_bytes)


def place_tables(
    preset: MemoryPreset, shapes: list[tuple[int, int]], policy: Policy = Policy.FATAL
) -> tuple[Table, ...]:
    """Place tables of `(rows, bytes)` one behind another from DRAM row 0 of every bank.

    Raises
    ------
    SpecificationError
        When they do not fit the pseudo channel, or a shape is out of range.
    """
    placed: list[Table] = []
    next_row = 0
    for number, (rows, size) in enumerate(shapes):
        if size % 4 or not 4 <= size <= MAXIMUM_VECTOR_BYTES:
            raise SpecificationError(
                f"table {number}: an embedding of {size} B fits no burst: expected a multiple of "
                f"4 B from 4 to {MAXIMUM_VECTOR_BYTES} B"
            )
        if rows < 1:
            raise SpecificationError(f"table {number}: {rows} rows; expected at least 1")
        per_row = preset.bursts_per_row // ceil(size / preset.burst_bytes)
        span = ceil(ceil(rows / preset.banks) / per_row)
        if next_row + span > preset.organization.rows:
            raise SpecificationError(
                f"table {number}: {rows} rows of {size} B do not fit {preset.name}: they need DRAM "
                f"rows {next_row} to {next_row + span - 1} of each bank, and there are "
                f"{preset.organization.rows}"
            )
        placed.append(Table(rows=rows, bytes=size, base_row=next_row, row_span=span, policy=policy))
        next_row += span
    return tuple(placed)
