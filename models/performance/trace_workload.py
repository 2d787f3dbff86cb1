"""A workload whose tables and batch come from a lookup trace.

The dense layers stay those of the workload that the trace is laid over; its last bottom layer
takes the trace's dimension.
"""

import numpy as np

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.spec.toml import parse
from recspeed.models.spec.workload import Workload
from recspeed.models.traces.trace import Trace


def workload_from_trace(base: Workload, trace: Trace, name: str) -> Workload:
    """`base` with tables, batch and pooling factors of the trace called `name`.

    A table's pooling factor is its mean over the batch. Tables without a lookup are left out; an
    index outside its table is refused, since nothing would read it.
    """
    tables = len(trace.rows)
    batch = (len(trace.offsets) - 1) // tables
    groups = []
    for table in range(tables):
        first, last = trace.offsets[table * batch], trace.offsets[(table + 1) * batch]
        used, rows = trace.indices[first:last], trace.rows[table]
        for place in np.flatnonzero((used < 0) | (used >= rows))[:1]:
            raise SpecificationError(
                f"{name}: indices[{first + place}]: {used[place]} is outside table {table};"
                f" expected 0 to {rows - 1}"
            )
        if len(used):
            groups.append(
                {
                    "rows": int(rows),
                    "dimension": int(trace.dims[table]),
                    "lookups": len(used) / batch,
                    "dtype": trace.dtypes[table],
                }
            )
    values = {key: getattr(base, key) for key in type(base).model_fields}
    bottom = (*base.bottom_mlp[:-1], int(trace.dims[0]))
    changed = {"tables": groups, "batch": batch, "bottom_mlp": bottom}
    return parse(Workload, {**values, **changed, "name": f"{base.name} on {name}"}, name)
