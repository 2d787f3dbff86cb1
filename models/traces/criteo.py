"""Criteo's click logs (Kaggle and Terabyte): label, 13 integers, 26 hashed categories per line."""

import re
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recspeed.models.traces.convert import RowMap, join_tables, map_rows
from recspeed.models.traces.trace import Trace, TraceError

INTEGERS = 13
CATEGORIES = 26
FIELDS = 1 + INTEGERS + CATEGORIES
HASH = re.compile(r"[0-9a-fA-F]{1,16}")
INTEGER = re.compile(r"-?[0-9]+")
PROGRESS_LINES = 20_000


def read_criteo(
    path: Path,
    *,
    tables: Sequence[int] = tuple(range(CATEGORIES)),
    row_map: RowMap = "dense",
    rows: Sequence[int] | None = None,
    dim: int = 32,
    progress: Callable[[int], None] = lambda _: None,
) -> Trace:
    """The chosen categories (0 to 25) as tables: one sample per line, one lookup per table.

    An empty category is an empty bag. `rows` has one number per chosen table. `progress` is told
    the bytes read since it was called last.

    Raises
    ------
    TraceError
        With line and field for a line that is not Criteo's.
    """
    for table in tables:
        if not 0 <= table < CATEGORIES:
            raise TraceError(f"category {table}; expected 0 to {CATEGORIES - 1}")
    if rows is not None and len(rows) != len(tables):
        raise TraceError(f"{len(rows)} numbers of rows; expected {len(tables)}, one per table")
    ids = [array("q") for _ in tables]
    lengths = [array("b") for _ in tables]
    read = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            values = parse_line(line, f"{path}: line {number}")
            for position, table in enumerate(tables):
                value = values[table]
                lengths[position].append(value is not None)
                if value is not None:
                    ids[position].append(value)
            read += len(line)
            if number % PROGRESS_LINES == 0:
                progress(read)
                read = 0
    progress(read)
    if not lengths or not lengths[0]:
        raise TraceError(f"{path}: no line; expected at least one sample")
    joined, table_rows = [], []
    for position, table in enumerate(tables):
        found = np.array(ids[position], dtype=np.int64)
        wanted = rows[position] if rows is not None else None
        mapped, needed = map_rows(found, row_map, wanted, f"{path}: category {table}")
        counts = np.array(lengths[position], dtype=np.int64)
        joined.append((mapped, np.append(np.int64(0), np.cumsum(counts))))
        table_rows.append(needed)
    return join_tables(joined, table_rows, dim, [f"category {table}" for table in tables])


def parse_line(line: bytes, where: str) -> list[int | None]:
    """The 26 hashes of a line, None where a category is empty; every field is checked."""
    try:
        fields = line.decode("ascii").rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        raise TraceError(f"{where}: not text; expected tab-separated ASCII") from None
    if len(fields) != FIELDS:
        raise TraceError(
            f"{where}: {len(fields)} fields; expected {FIELDS} (label, {INTEGERS} integers, "
            f"{CATEGORIES} categories) separated by tabs"
        )
    for position, text in enumerate(fields[: 1 + INTEGERS]):
        if text and not INTEGER.fullmatch(text):
            raise TraceError(f"{where}, field {position + 1}: '{text[:40]}'; expected an integer")
    values: list[int | None] = []
    for position, text in enumerate(fields[1 + INTEGERS :]):
        if text and not HASH.fullmatch(text):
            raise TraceError(
                f"{where}, field {position + 2 + INTEGERS} (category {position}): '{text[:40]}'; "
                "expected a hexadecimal hash"
            )
        value = int(text, 16) if text else None
        if value is not None and value >= 1 << 63:
            raise TraceError(f"{where}, category {position}: hash {text}; expected below 2^63")
        values.append(value)
    return values
