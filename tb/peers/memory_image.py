"""The bytes of a pseudo channel that holds given tables: what a host would have loaded before."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.table import ELEMENT_BYTES, Table


def memory_image(
    preset: MemoryPreset, tables: Sequence[Table], contents: Sequence[NDArray[np.uint16]]
) -> NDArray[np.uint8]:
    """Bytes in the order DRAM row, flat bank, byte in row, up to the last row in use.

    `contents[t]` is uint16[rows, elements], the FP16 bit patterns of table t. Padding and unused
    places hold 0xFF (a NaN in every lane), so that a read of the wrong place does not go unseen.
    """
    row_count = max((table.base_row + table.row_span for table in tables), default=0)
    image = np.full((row_count, preset.banks, preset.organization.row_bytes), 0xFF, dtype=np.uint8)
    for table, values in zip(tables, contents, strict=True):
        vectors = np.arange(table.rows)
        bank = vectors % preset.banks
        place = vectors // preset.banks
        row = table.base_row + place % table.row_span
        start = place // table.row_span * table.bursts(preset) * preset.burst_bytes
        data = np.ascontiguousarray(values.astype("<u2")).view(np.uint8)
        data = data.reshape(table.rows, table.elements * ELEMENT_BYTES)
        column = start[:, None] + np.arange(data.shape[1])
        image[row[:, None], bank[:, None], column] = data
    return image


def dram_line(preset: MemoryPreset, seed: int, image: int, number: int = 0) -> str:
    """The line of run.txt that describes DRAM `number` to its peer; `image` is 1 if it has one."""
    return (
        f"dram {number} {preset.banks} {preset.banks_per_rank} {preset.bursts_per_row} "
        f"{preset.burst_bytes} {seed} {image}"
    )
