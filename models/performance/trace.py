"""A workload whose tables and batch come from a trace file.

The file is the project's `.npz`: `indices` int64[N], `offsets` int64[T*B+1] (table-major: the bag
of table t and sample b is number t*B + b), `rows` int64[T], `dims` int64[T], optionally `dtypes`
(one string per table). The dense layers stay those of the workload that the trace is laid over.
"""

import zipfile
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.presets import explain
from recspeed.models.performance.workload import TableGroup, Workload

NEEDED = ("indices", "offsets", "rows", "dims")


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as data:
            missing = [name for name in NEEDED if name not in data]
            if missing:
                raise SpecificationError(f"trace {path}: no array named {', '.join(missing)}")
            return {name: data[name] for name in (*NEEDED, "dtypes") if name in data}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise SpecificationError(f"trace {path}: cannot be read as .npz: {error}") from None


def _check(path: Path, arrays: dict[str, np.ndarray]) -> int:
    """Batch size of a consistent trace; raises SpecificationError with the first fault."""
    indices, offsets, rows, dims = (arrays[name] for name in NEEDED)
    for name in NEEDED:
        if arrays[name].ndim != 1 or not np.issubdtype(arrays[name].dtype, np.integer):
            raise SpecificationError(f"trace {path}: {name} must be a list of whole numbers")
    tables = len(rows)
    if tables == 0 or len(dims) != tables:
        raise SpecificationError(
            f"trace {path}: {len(rows)} rows and {len(dims)} dims, expected one of each per table"
        )
    bags = len(offsets) - 1
    if bags < tables or bags % tables:
        raise SpecificationError(
            f"trace {path}: {len(offsets)} offsets are not tables x batch + 1 for {tables} tables"
        )
    if offsets[0] != 0 or offsets[-1] != len(indices):
        raise SpecificationError(
            f"trace {path}: offsets run from {offsets[0]} to {offsets[-1]},"
            f" expected 0 to {len(indices)} (the number of indices)"
        )
    if (np.diff(offsets) < 0).any():
        bag = int(np.flatnonzero(np.diff(offsets) < 0)[0])
        raise SpecificationError(f"trace {path}: offsets decrease after bag {bag}")
    if len(indices) == 0:
        raise SpecificationError(f"trace {path}: no lookups at all")
    return bags // tables


def workload_from_trace(base: Workload, path: Path) -> Workload:
    """`base` with tables, batch and pooling factors of the trace.

    A table's pooling factor is its mean over the batch. Tables without a lookup are kept out of the
    load and out of the list.
    """
    arrays = _arrays(path)
    batch = _check(path, arrays)
    rows, dims, offsets = arrays["rows"], arrays["dims"], arrays["offsets"]
    dtypes = arrays.get("dtypes", np.full(len(rows), "fp16"))
    if len(dtypes) != len(rows):
        raise SpecificationError(f"trace {path}: {len(dtypes)} dtypes for {len(rows)} tables")
    groups = []
    try:
        for table in range(len(rows)):
            first, last = offsets[table * batch], offsets[(table + 1) * batch]
            used = arrays["indices"][first:last]
            outside = np.flatnonzero((used < 0) | (used >= rows[table]))
            if len(outside):
                raise SpecificationError(
                    f"trace {path}: table {table}: index {used[outside[0]]} at position"
                    f" {first + outside[0]} is outside 0..{rows[table] - 1}"
                )
            if len(used):
                groups.append(
                    TableGroup(
                        rows=int(rows[table]),
                        dimension=int(dims[table]),
                        lookups=len(used) / batch,
                        dtype=str(dtypes[table]),  # type: ignore[arg-type]  # pydantic checks it
                    )
                )
        return base.changed(
            name=f"{base.name} on {path.name}",
            tables=tuple(groups),
            batch=batch,
            bottom_mlp=(*base.bottom_mlp[:-1], int(dims[0])),
        )
    except ValidationError as error:
        raise SpecificationError(f"trace {path}: {explain(error)}") from None
