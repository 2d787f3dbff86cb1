"""The command log as CSV: `cycle,command,rank,bank_group,bank,row,column`."""

from typing import TextIO

import numpy as np

from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.memory import MemoryPreset

HEADER = "cycle,command,rank,bank_group,bank,row,column"
ROWS_AT_ONCE = 100_000


def write_command_log(commands: np.ndarray, preset: MemoryPreset, file: TextIO) -> None:
    """Write commands of type `COMMAND_LOG`, a line each.

    `rank` is `rank * stack_ids + stack ID`: the rank of DDR4, the stack ID of HBM, which has no
    ranks. `bank` counts within its bank group, `column` counts bursts. What a command does not have
    is 0: ACT has no column, REFPB neither row nor column; REF refreshes all banks of its rank
    (HBM: of the pseudo channel, whatever the stack ID).
    """
    org = preset.organization
    names = np.array([code.name for code in CommandCode])
    file.write(HEADER + "\n")
    for start in range(0, len(commands), ROWS_AT_ONCE):
        part = commands[start : start + ROWS_AT_ONCE]
        flat = part["bank"].astype(np.int64)
        columns = (
            part["cycle"].tolist(),
            names[part["command"]].tolist(),
            (flat // (org.bank_groups * org.banks_per_group)).tolist(),
            (flat % org.bank_groups).tolist(),
            (flat // org.bank_groups % org.banks_per_group).tolist(),
            part["row"].tolist(),
            part["column"].tolist(),
        )
        file.writelines(
            f"{cycle},{name},{rank},{group},{bank},{row},{column}\n"
            for cycle, name, rank, group, bank, row, column in zip(*columns, strict=True)
        )
