"""Files of facebookresearch/dlrm: one table's trace as text or binary, and stack-distance profiles.

DeepRecSys keeps its tables and profiles in the same forms; its profiles lack the line of ids. With
NumPy 2 dlrm's writer prints `np.uint64(1)` for 1: both are read, plain integers are written.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recspeed.models.traces.distributions import StackProfile
from recspeed.models.traces.trace import TraceError

ID = re.compile(r"(?:np\.uint64\()?([0-9]+)\)?")
FIELD = re.compile(r"[^,\s]+")
HIGHEST_ID = (1 << 63) - 1


def read_text_trace(path: Path) -> NDArray[np.int64]:
    """int64[n] row ids of a text trace, separated by commas, blanks or line ends.

    Raises
    ------
    TraceError
        With line and field for anything that is no unsigned integer below 2^63; for a file without
        any.
    """
    ids: list[int] = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        ids.extend(_line_ids(line, f"{path}: line {number}"))
    if not ids:
        raise TraceError(f"{path}: no row id; expected integers separated by commas or line ends")
    return np.array(ids, dtype=np.int64)


def read_binary_trace(path: Path) -> NDArray[np.int64]:
    """int64[n] row ids of a binary trace: little-endian unsigned 64-bit integers."""
    data = path.read_bytes()
    if not data or len(data) % 8:
        raise TraceError(
            f"{path}: {len(data)} bytes; expected a multiple of 8, one uint64 per row id"
        )
    ids = np.frombuffer(data, dtype="<u8")
    for place in np.flatnonzero(ids > HIGHEST_ID)[:1]:
        raise TraceError(f"{path}: row id {place}: {ids[place]}; expected at most {HIGHEST_ID}")
    return ids.astype(np.int64)


def text_trace(ids: NDArray[np.int64]) -> str:
    """The text trace of `ids`: plain integers, comma-separated, one line."""
    return ",".join(str(row) for row in ids.tolist()) + "\n"


def binary_trace(ids: NDArray[np.int64]) -> bytes:
    """The binary trace of `ids`."""
    return ids.astype("<u8").tobytes()


def profile_text(profile: StackProfile) -> str:
    """The profile in dlrm's form; a line is left out where it has no ids."""
    lines = [] if profile.ids is None else [profile.ids.tolist()]
    lines += [profile.distances.tolist(), profile.cumulative.tolist()]
    return "".join(", ".join(map(repr, line)) + "\n" for line in lines)


def read_profile(path: Path) -> StackProfile:
    """A stack-distance profile: ids (not in DeepRecSys), distances, cumulative probabilities."""
    lines = [line for line in _text(path).splitlines() if line.strip()]
    if len(lines) not in (2, 3):
        raise TraceError(
            f"{path}: {len(lines)} lines; expected ids (optional), stack distances and cumulative "
            "probabilities, a line each"
        )
    ids = np.array(_line_ids(lines[0], f"{path}: ids"), dtype=np.int64) if len(lines) == 3 else None
    distances = np.array(_line_ids(lines[-2], f"{path}: stack distances"), dtype=np.int64)
    cumulative = []
    for number, match in enumerate(FIELD.finditer(lines[-1]), 1):
        try:
            cumulative.append(float(match.group()))
        except ValueError:
            raise TraceError(
                f"{path}: cumulative probabilities, "
                f"field {number}: '{match.group()[:40]}'; expected a number"
            ) from None
    try:
        return StackProfile(ids, distances, np.array(cumulative))
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


def _line_ids(line: str, where: str) -> list[int]:
    ids: list[int] = []
    for number, field in enumerate(FIELD.findall(line), 1):
        match = ID.fullmatch(field)
        if match is None or field.startswith("np") != field.endswith(")"):
            raise TraceError(
                f"{where}, field {number}: '{field[:40]}'; expected an unsigned integer"
            )
        value = int(match.group(1))
        if value > HIGHEST_ID:
            raise TraceError(f"{where}, field {number}: {value}; expected at most {HIGHEST_ID}")
        ids.append(value)
    return ids


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not text; expected row ids in ASCII") from None
