"""Lookup traces: the bags of a batch over several tables, and the `.npz` file that holds them.

Keys of the file, table-major like FBGEMM's table-batched embedding: `indices` int64[N], `offsets`
int64[T*B+1] (the bag of table t and sample b is number t*B+b), `rows` int64[T], `dims` int64[T];
optional `weights` float16[N], `table_0`, `table_1`, ... float16[rows, dim], `modes` and `dtypes`
(strings, one per table). An index may be out of its table's range: what becomes of it is the policy
of whoever executes the trace.
"""

import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

MODES = ("sum", "mean", "max")
DTYPES = ("fp16", "int8", "int4")
MAXIMUM_ROWS = 1 << 40
"""Rows of one table at most, as the specification's table has it."""

INTEGER_KEYS = ("indices", "offsets", "rows", "dims")
TABLE_KEY = re.compile(r"table_(0|[1-9][0-9]*)")
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    EOFError,
    KeyError,
    SyntaxError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
)
"""What NumPy and zipfile raise, between them, for a damaged archive or member."""


class TraceError(ValueError):
    """A trace that cannot be used: one line that says what, where, and what was expected."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A batch of `batch` samples over `len(rows)` tables; checked on construction.

    Attributes
    ----------
    indices : int64[N]
        Row numbers, bag by bag.
    offsets : int64[T*B+1]
        Start of each bag in `indices`; the last one is N.
    rows, dims : int64[T]
        Rows and elements per row of each table.
    weights : float16[N] or None
        Per-sample weights.
    modes, dtypes : tuple of T strings
        Pooling mode and row format per table; `sum` and `fp16` unless given.
    contents : dict of table number to float16[rows, dim]
        Rows of the tables that the file carries.

    Raises
    ------
    TraceError
        For anything that breaks the format.
    """

    indices: NDArray[np.int64]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    dims: NDArray[np.int64]
    weights: NDArray[np.float16] | None = None
    modes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    contents: Mapping[int, NDArray[np.float16]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in INTEGER_KEYS:
            _check_array(key, getattr(self, key), np.dtype(np.int64), 1)
        self._check_tables()
        self._check_offsets()
        if self.weights is not None:
            _check_array("weights", self.weights, np.dtype(np.float16), 1)
            if len(self.weights) != len(self.indices):
                raise TraceError(
                    f"weights: {len(self.weights)} values; expected {len(self.indices)}, "
                    "one per index"
                )
        for key, default, known in (("modes", "sum", MODES), ("dtypes", "fp16", DTYPES)):
            values = getattr(self, key) or (default,) * self.tables
            object.__setattr__(self, key, _check_names(key, values, known, self.tables))
        for number, content in self.contents.items():
            self._check_content(number, content)

    def _check_tables(self) -> None:
        if len(self.rows) == 0:
            raise TraceError("rows: no table; expected at least one")
        if len(self.dims) != len(self.rows):
            raise TraceError(f"dims: {len(self.dims)} values; expected {len(self.rows)} as in rows")
        for key, highest in (("rows", MAXIMUM_ROWS), ("dims", 1 << 20)):
            values = getattr(self, key)
            for table in np.flatnonzero((values < 1) | (values > highest))[:1]:
                raise TraceError(
                    f"{key}[{table}]: {values[table]}; expected at least 1 and at most {highest}"
                )

    def _check_offsets(self) -> None:
        count, offsets = len(self.indices), self.offsets
        if len(offsets) < 1 + self.tables or (len(offsets) - 1) % self.tables:
            raise TraceError(
                f"offsets: {len(offsets)} values; expected T*B+1 for the T = {self.tables} tables "
                "of rows and a batch of B >= 1 samples"
            )
        if offsets[0] != 0:
            raise TraceError(f"offsets[0]: {offsets[0]}; expected 0")
        for place in np.flatnonzero(offsets[1:] < offsets[:-1])[:1]:
            raise TraceError(
                f"offsets[{place + 1}]: {offsets[place + 1]} after {offsets[place]}; expected "
                "offsets that never decrease"
            )
        for place in np.flatnonzero(offsets > count)[:1]:
            raise TraceError(
                f"offsets[{place}]: {offsets[place]} is past the end of indices; expected at most "
                f"{count}"
            )
        if offsets[-1] != count:
            raise TraceError(
                f"offsets[{len(offsets) - 1}]: {offsets[-1]}; expected the last offset to be the "
                f"number of indices, {count}"
            )

    def _check_content(self, number: int, content: np.ndarray) -> None:
        key = f"table_{number}"
        if not 0 <= number < self.tables:
            raise TraceError(f"{key}: there is no such table; rows has {self.tables}")
        if self.dtypes[number] != "fp16":
            raise TraceError(f"{key}: contents are float16, but dtypes names {self.dtypes[number]}")
        _check_array(key, content, np.dtype(np.float16), 2)
        expected = (int(self.rows[number]), int(self.dims[number]))
        if content.shape != expected:
            raise TraceError(
                f"{key}: shape {_shape(content.shape)}; expected {_shape(expected)}, rows by dims"
            )

    @property
    def tables(self) -> int:
        return len(self.rows)

    @property
    def batch(self) -> int:
        """Samples per table."""
        return (len(self.offsets) - 1) // self.tables

    @property
    def bags(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[T*B]: lookups of each bag."""
        return np.diff(self.offsets)

    @property
    def bag_tables(self) -> NDArray[np.int64]:
        """int64[T*B]: table of each bag."""
        return np.repeat(np.arange(self.tables, dtype=np.int64), self.batch)

    def of_table(self, table: int) -> NDArray[np.int64]:
        """The indices of one table, in the order of its bags."""
        first = table * self.batch
        return self.indices[self.offsets[first] : self.offsets[first + self.batch]]

    def place(self, position: int) -> str:
        """Where lookup number `position` is, in words."""
        bag = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return (
            f"lookup {position} (bag {bag}: table {bag // self.batch}, sample {bag % self.batch}, "
            f"position {position - int(self.offsets[bag])})"
        )


def load_trace(path: Path) -> Trace:
    """Read and check a trace file.

    Raises
    ------
    TraceError
        With `path` in front, for a file that cannot be read or is no trace.
    """
    try:
        archive = np.load(path, allow_pickle=False)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UNREADABLE:
        raise TraceError(
            f"{path}: not an .npz file; expected a trace as NumPy's savez writes it"
        ) from None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise TraceError(
            f"{path}: a single .npy array; expected an .npz file with the keys of a trace"
        )
    with archive:
        try:
            return from_arrays({key: _member(archive, key) for key in archive.files})
        except TraceError as error:
            raise TraceError(f"{path}: {error}") from None


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Trace:
    """Make a trace of a trace file's arrays; keys that the format does not know are refused."""
    missing = [key for key in INTEGER_KEYS if key not in arrays]
    if missing:
        raise TraceError(f"missing {_keys(missing)}; expected {_keys(INTEGER_KEYS)}")
    contents: dict[int, np.ndarray] = {}
    names: dict[str, tuple[str, ...]] = {"modes": (), "dtypes": ()}
    for key, array in arrays.items():
        if match := TABLE_KEY.fullmatch(key):
            contents[int(match.group(1))] = array
        elif key in ("modes", "dtypes"):
            if array.ndim != 1 or array.dtype.kind != "U":
                raise TraceError(
                    f"{key}: {array.dtype} of shape {_shape(array.shape)}; expected strings, one "
                    "per table"
                )
            if array.size == 0:
                raise TraceError(f"{key}: empty; expected one string per table")
            names[key] = tuple(str(value) for value in array)
        elif key not in (*INTEGER_KEYS, "weights"):
            raise TraceError(
                f"unknown key '{key}'; expected indices, offsets, rows, dims and optionally "
                "weights, modes, dtypes, table_0, table_1, ..."
            )
    return Trace(
        *(arrays[key] for key in INTEGER_KEYS),
        weights=arrays.get("weights"),
        modes=names["modes"],
        dtypes=names["dtypes"],
        contents=contents,
    )


def to_arrays(trace: Trace) -> dict[str, np.ndarray]:
    """The arrays of the trace's file. `modes` and `dtypes` appear where one is not the default."""
    arrays: dict[str, np.ndarray] = {key: getattr(trace, key) for key in INTEGER_KEYS}
    if trace.weights is not None:
        arrays["weights"] = trace.weights
    if any(mode != "sum" for mode in trace.modes):
        arrays["modes"] = np.array(trace.modes)
    if any(dtype != "fp16" for dtype in trace.dtypes):
        arrays["dtypes"] = np.array(trace.dtypes)
    for number, content in sorted(trace.contents.items()):
        arrays[f"table_{number}"] = content
    return arrays


def save_trace(trace: Trace, file: BinaryIO) -> None:
    """Write `trace` as `.npz` to an open file."""
    np.savez_compressed(file, **to_arrays(trace))  # pyright: ignore[reportArgumentType]: its stub takes the keys for options


def _member(archive: np.lib.npyio.NpzFile, key: str) -> np.ndarray:
    try:
        array = archive[key]
    except (*UNREADABLE, OSError):
        raise TraceError(
            f"{key}: damaged, or an array of Python objects; expected plain numbers"
        ) from None
    if not isinstance(array, np.ndarray):
        raise TraceError(f"{key}: not an array")
    return array


def _check_array(key: str, array: np.ndarray, dtype: np.dtype, dimensions: int) -> None:
    if array.dtype != dtype:
        raise TraceError(f"{key}: {array.dtype}; expected {dtype}")
    if array.ndim != dimensions:
        raise TraceError(f"{key}: {array.ndim} dimensions; expected {dimensions}")


def _check_names(
    key: str, values: tuple[str, ...], known: tuple[str, ...], tables: int
) -> tuple[str, ...]:
    if len(values) != tables:
        raise TraceError(f"{key}: {len(values)} values; expected {tables}, one per table")
    for table, value in enumerate(values):
        if value not in known:
            raise TraceError(f"{key}[{table}]: '{value}'; expected one of {', '.join(known)}")
    return values


def _keys(names: tuple[str, ...] | list[str]) -> str:
    return ("key " if len(names) == 1 else "keys ") + ", ".join(names)


def _shape(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(str(length) for length in shape) + ")"
