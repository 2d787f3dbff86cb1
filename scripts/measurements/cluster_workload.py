"""Runs of one memory channel: from a trace, or of uniformly random rows; and results as arrays."""

from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import MAXIMUM_BAG, Policy, place_tables
from recspeed.models.traces.trace import Trace
from recspeed.scripts.console import CHECK_FAILED, UserError

DEFAULT_REFRESH_GROUP = ClusterSettings().refresh_group
LOOKUPS_PER_BAG = 80
"""Lookups of each bag of a random run: the paper's pooling factor."""


def full_table_rows(preset: MemoryPreset, size: int) -> int:
    """Rows of the largest table of `size` B per row that a pseudo channel of `preset` holds."""
    place_tables(preset, [(1, size)])
    per_row = preset.bursts_per_row // ceil(size / preset.burst_bytes)
    return preset.banks * preset.organization.rows * per_row


def uniform_run(
    preset: MemoryPreset,
    size: int,
    lookups: int,
    settings: ClusterSettings,
    seed: int,
    lookups_per_bag: int = LOOKUPS_PER_BAG,
) -> ClusterRun:
    """Lookups of uniformly random rows of one table that fills the pseudo channel.

    Bags hold `lookups_per_bag` lookups, the last one the rest. Vectors have `size` bytes, contents
    are hashed. The rows depend on seed, preset and size alone.

    Raises
    ------
    SpecificationError
        When a vector of `size` bytes fits no burst.
    """
    rows = full_table_rows(preset, size)
    generator = np.random.default_rng([seed, size, preset.organization.data_rate_mtps])
    bags = ceil(lookups / lookups_per_bag)
    lengths = np.full(bags, lookups_per_bag, dtype=np.int64)
    lengths[-1] = lookups - lookups_per_bag * (bags - 1)
    return ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(rows, size)]),
        bag_tables=np.zeros(bags, dtype=np.int64),
        bag_lengths=lengths,
        indices=generator.integers(0, rows, lookups, dtype=np.int64),
        settings=settings,
        seed=seed,
    )


def trace_run(
    trace: Trace, preset: MemoryPreset, settings: ClusterSettings, policy: Policy, seed: int
) -> ClusterRun:
    """The bags of a trace, in its order, on one memory channel that holds all of its tables.

    Raises
    ------
    UserError
        For what a trace may ask and the pooling engine does not do, by name.
    SpecificationError
        When the tables do not fit, or a vector fits no burst.
    """
    parameters = ClusterParameters()
    _check_supported(trace, parameters)
    shapes = [
        (rows, 2 * dim) for rows, dim in zip(trace.rows.tolist(), trace.dims.tolist(), strict=True)
    ]
    contents = None
    if trace.contents:
        contents = tuple(
            np.ascontiguousarray(trace.contents[table]).view(np.uint16)
            for table in range(trace.tables)
        )
    return ClusterRun(
        preset=preset,
        tables=place_tables(preset, shapes, policy),
        bag_tables=trace.bag_tables,
        bag_lengths=trace.lengths,
        indices=trace.indices,
        settings=settings,
        parameters=parameters,
        contents=contents,
        seed=seed,
    )


def _check_supported(trace: Trace, parameters: ClusterParameters) -> None:
    if trace.weights is not None:
        raise UserError("weights: the pooling engine has no per-sample weights; expected none")
    for table, mode in enumerate(trace.modes):
        if mode != "sum":
            raise UserError(f"modes[{table}]: '{mode}' is not pooled in hardware; expected 'sum'")
    for table, dtype in enumerate(trace.dtypes):
        if dtype != "fp16":
            raise UserError(f"dtypes[{table}]: '{dtype}' rows are not read; expected 'fp16'")
    if trace.tables > parameters.tables:
        raise UserError(
            f"rows: {trace.tables} tables; expected at most {parameters.tables}, the engine's "
            "table descriptors"
        )
    for bag in np.flatnonzero(trace.lengths > MAXIMUM_BAG)[:1]:
        raise UserError(
            f"bag {bag} (table {bag // trace.batch}, sample {bag % trace.batch}): "
            f"{trace.lengths[bag]} lookups; expected at most {MAXIMUM_BAG}"
        )
    if trace.contents and len(trace.contents) != trace.tables:
        missing = min(set(range(trace.tables)) - set(trace.contents))
        raise UserError(
            f"table_{missing}: missing, while others carry their rows; expected all tables or none"
        )


def bytes_read(run: ClusterRun) -> int:
    """Bytes of the vectors that `run` reads: lookups out of range read row 0, or nothing."""
    sizes = np.array([table.bytes for table in run.tables], dtype=np.int64)
    rows = np.array([table.rows for table in run.tables], dtype=np.int64)
    clamps = np.array([table.policy is Policy.CLAMP for table in run.tables])
    tables = np.repeat(run.bag_tables, run.bag_lengths)
    read = clamps[tables] | ((run.indices >= 0) & (run.indices < rows[tables]))
    return int(sizes[tables[read]].sum())


def check_fatal(trace: Trace, result: ClusterResult, where: str) -> None:
    """Raise the fatal lookup of a run of trace `where`: its place, and the range expected."""
    counters = result.counters
    if not counters[Counter.ERROR]:
        return
    bag = counters[Counter.ERROR_BAG]
    table = bag // trace.batch
    position = int(trace.offsets[bag]) + counters[Counter.ERROR_POSITION]
    index = counters[Counter.ERROR_INDEX]
    index -= (1 << 64) if index >> 63 else 0
    raise UserError(
        f"{where}: {trace.place(position)}: row {index} is out of range; expected 0 to "
        f"{int(trace.rows[table]) - 1}",
        CHECK_FAILED,
    )


def pooled_array(
    trace: Trace, result: ClusterResult, output: Literal["fp16", "fp32"]
) -> NDArray[np.floating]:
    """float[batch, sum of dims]: sample by sample, the tables side by side, as FBGEMM returns it.

    Raises
    ------
    UserError
        When a beat is missing or came twice: a fault of the engine that made `result`.
    """
    columns = np.concatenate([[0], np.cumsum(trace.dims)])
    bits = np.zeros(
        (trace.batch, int(columns[-1])), dtype=np.uint16 if output == "fp16" else np.uint32
    )
    table_of, sample_of = np.divmod(result.bag, trace.batch)
    column = columns[table_of][:, None] + 8 * result.beat[:, None] + np.arange(8)
    # A vector's last beat may have fewer than 8 lanes.
    valid = column < columns[table_of + 1][:, None]
    taken = np.zeros(bits.shape, dtype=np.uint8)
    sample = np.broadcast_to(sample_of[:, None], column.shape)[valid]
    np.add.at(taken, (sample, column[valid]), 1)
    if not (taken == 1).all():
        raise UserError(
            f"{int((taken != 1).sum())} pooled elements are missing or came twice", CHECK_FAILED
        )
    bits[sample, column[valid]] = result.lanes[valid].astype(bits.dtype)
    return bits.view(np.float16 if output == "fp16" else np.float32)
