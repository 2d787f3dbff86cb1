"""The trace file: what is written is read again, every malformed case is refused by one line."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recspeed.models.traces.trace import (
    Trace,
    TraceError,
    from_arrays,
    load_trace,
    save_trace,
    to_arrays,
)

ROWS, DIMS = [10, 7], [4, 6]


def arrays(**changes):
    """A valid trace of 2 tables and 3 samples, with changes; None takes a key out."""
    made = {
        "indices": np.array([1, 2, 3, 9, 0, 6, 6], dtype=np.int64),
        "offsets": np.array([0, 2, 2, 4, 5, 5, 7], dtype=np.int64),
        "rows": np.array(ROWS, dtype=np.int64),
        "dims": np.array(DIMS, dtype=np.int64),
    }
    made.update(changes)
    return {key: value for key, value in made.items() if value is not None}


def int64(*values):
    return np.array(values, dtype=np.int64)


MALFORMED = {
    "indices missing": ({"indices": None}, "missing key indices"),
    "two missing": ({"rows": None, "dims": None}, "missing keys rows, dims; expected keys indices"),
    "int32 indices": (
        {"indices": np.arange(7, dtype=np.int32)},
        "indices: int32; expected int64",
    ),
    "float offsets": ({"offsets": np.zeros(7)}, "offsets: float64; expected int64"),
    "big-endian rows": ({"rows": np.array(ROWS, dtype=">i8")}, "rows: >i8; expected int64"),
    "two-dimensional": (
        {"indices": np.zeros((7, 1), dtype=np.int64)},
        "indices: 2 dimensions; expected 1",
    ),
    "decreasing": (
        {"offsets": int64(0, 2, 1, 4, 5, 5, 7)},
        "offsets[2]: 1 after 2; expected offsets that never decrease",
    ),
    "past the end": (
        {"offsets": int64(0, 2, 2, 4, 5, 5, 8)},
        "offsets[6]: 8 is past the end of indices; expected at most 7",
    ),
    "last too small": (
        {"offsets": int64(0, 2, 2, 4, 5, 5, 6)},
        "offsets[6]: 6; expected the last offset to be the number of indices, 7",
    ),
    "first not 0": ({"offsets": int64(1, 2, 2, 4, 5, 5, 7)}, "offsets[0]: 1; expected 0"),
    "not T*B+1": (
        {"offsets": int64(0, 2, 2, 4, 5, 7)},
        "offsets: 6 values; expected T*B+1 for the T = 2 tables",
    ),
    "no sample": ({"offsets": int64(0), "indices": int64()}, "offsets: 1 values; expected T*B+1"),
    "no table": ({"rows": int64(), "dims": int64()}, "rows: no table; expected at least one"),
    "dims too few": ({"dims": int64(4)}, "dims: 1 values; expected 2"),
    "no row": ({"rows": int64(10, 0)}, "rows[1]: 0; expected at least 1"),
    "negative dim": ({"dims": int64(-4, 6)}, "dims[0]: -4; expected at least 1"),
    "rows beyond 2^40": ({"rows": int64((1 << 40) + 1, 7)}, "rows[0]: 1099511627777; expected"),
    "weights of float32": (
        {"weights": np.zeros(7, dtype=np.float32)},
        "weights: float32; expected float16",
    ),
    "weights too few": (
        {"weights": np.zeros(6, dtype=np.float16)},
        "weights: 6 values; expected 7, one per index",
    ),
    "unknown mode": (
        {"modes": np.array(["sum", "median"])},
        "modes[1]: 'median'; expected one of sum, mean, max",
    ),
    "modes too few": ({"modes": np.array(["sum"])}, "modes: 1 values; expected 2"),
    "modes empty": ({"modes": np.array([], dtype="U3")}, "modes: empty; expected one string"),
    "modes as numbers": ({"modes": np.array([0, 1])}, "modes: int64 of shape (2); expected"),
    "unknown dtype": (
        {"dtypes": np.array(["fp16", "bf16"])},
        "dtypes[1]: 'bf16'; expected one of fp16, int8, int4",
    ),
    "contents of float32": (
        {"table_1": np.zeros((7, 6), dtype=np.float32)},
        "table_1: float32; expected float16",
    ),
    "contents of another shape": (
        {"table_1": np.zeros((6, 7), dtype=np.float16)},
        "table_1: shape (6, 7); expected (7, 6)",
    ),
    "contents flat": (
        {"table_0": np.zeros(40, dtype=np.float16)},
        "table_0: 1 dimensions; expected 2",
    ),
    "contents of no table": (
        {"table_2": np.zeros((7, 6), dtype=np.float16)},
        "table_2: there is no such table; rows has 2",
    ),
    "contents of int8 rows": (
        {"table_0": np.zeros((10, 4), dtype=np.float16), "dtypes": np.array(["int8", "fp16"])},
        "table_0: contents are float16, but dtypes names int8",
    ),
    "unknown key": ({"weigths": np.zeros(7, dtype=np.float16)}, "unknown key 'weigths'; expected"),
    "table with a leading zero": (
        {"table_00": np.zeros((10, 4), dtype=np.float16)},
        "unknown key 'table_00'",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file_is_refused_by_name(case, tmp_path):
    changes, message = MALFORMED[case]
    path = tmp_path / "trace.npz"
    np.savez(path, **arrays(**changes))
    with pytest.raises(TraceError) as error:
        load_trace(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_the_unchanged_file_is_accepted(tmp_path):
    path = tmp_path / "trace.npz"
    np.savez(path, **arrays())
    trace = load_trace(path)
    assert (trace.tables, trace.batch, trace.bags) == (2, 3, 6)
    assert trace.lengths.tolist() == [2, 0, 2, 1, 0, 2]
    assert trace.bag_tables.tolist() == [0, 0, 0, 1, 1, 1]
    assert trace.of_table(0).tolist() == [1, 2, 3, 9]
    assert trace.of_table(1).tolist() == [0, 6, 6]
    assert trace.modes == ("sum", "sum")
    assert trace.dtypes == ("fp16", "fp16")


def whole_archive() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays(indices=np.arange(5000, dtype=np.int64) % 7, offsets=None))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an .npz file"),
        (b"1, 2, 3\n", "not an .npz file"),
        (b"PK\x03\x04 and then something else", "not an .npz file"),
        (whole_archive()[:-30], "not an .npz file"),
    ],
)
def test_no_npz(content, message, tmp_path):
    path = tmp_path / "trace.npz"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        load_trace(path)


def test_damaged_member(tmp_path):
    data = bytearray(whole_archive())
    data[200:260] = bytes(60)
    path = tmp_path / "trace.npz"
    path.write_bytes(data)
    with pytest.raises(TraceError, match="indices: damaged"):
        load_trace(path)


def test_member_that_is_no_array(tmp_path):
    path = tmp_path / "trace.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indices", "hello")
    with pytest.raises(TraceError, match="indices: not an array"):
        load_trace(path)


def test_header_that_promises_too_much(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (1 << 55,)}
    )
    path = tmp_path / "trace.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indices.npy", header.getvalue())
    with pytest.raises(TraceError, match="indices: damaged"):
        load_trace(path)


def test_python_objects_are_never_unpickled(tmp_path):
    path = tmp_path / "trace.npz"
    np.savez(path, **arrays(modes=np.array(["sum", None], dtype=object)))
    with pytest.raises(TraceError, match="modes: damaged, or an array of Python objects"):
        load_trace(path)


def test_single_array(tmp_path):
    path = tmp_path / "trace.npy"
    np.save(path, np.arange(3))
    with pytest.raises(TraceError, match=r"a single \.npy array; expected an \.npz file"):
        load_trace(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(TraceError, match="cannot be read: No such file or directory"):
        load_trace(tmp_path / "nothing.npz")
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        load_trace(tmp_path)


def test_out_of_range_indices_are_kept_as_they_are(tmp_path):
    # What becomes of them is the policy of whoever executes the trace.
    values = int64(-1, 9, 10, 2**31 - 1, 2**32 + 1, 2**63 - 1, -(2**63))
    path = tmp_path / "trace.npz"
    np.savez(path, **arrays(indices=values))
    assert load_trace(path).indices.tolist() == values.tolist()


def test_place_names_bag_table_sample_and_position():
    trace = from_arrays(arrays())
    assert trace.place(0) == "lookup 0 (bag 0: table 0, sample 0, position 0)"
    assert trace.place(3) == "lookup 3 (bag 2: table 0, sample 2, position 1)"
    # Bag 4 is empty: lookup 5 opens bag 5.
    assert trace.place(5) == "lookup 5 (bag 5: table 1, sample 2, position 0)"


@st.composite
def traces(draw) -> Trace:
    tables = draw(st.integers(1, 4))
    batch = draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(0, 6), min_size=tables * batch, max_size=tables * batch))
    count = sum(lengths)
    rows = draw(st.lists(st.integers(1, 9), min_size=tables, max_size=tables))
    dims = draw(st.lists(st.integers(1, 9), min_size=tables, max_size=tables))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Trace(
        indices=generator.integers(-(2**63), 2**63 - 1, count, dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rows=np.array(rows, dtype=np.int64),
        dims=np.array(dims, dtype=np.int64),
        weights=generator.random(count).astype(np.float16) if draw(st.booleans()) else None,
        modes=tuple(draw(st.sampled_from(("sum", "mean", "max"))) for _ in range(tables)),
        contents={
            table: generator.integers(0, 1 << 16, (rows[table], dims[table]), dtype=np.uint16).view(
                np.float16
            )
            for table in range(tables)
            if draw(st.booleans())
        },
    )


@given(traces())
def test_round_trip(trace):
    file = io.BytesIO()
    save_trace(trace, file)
    file.seek(0)
    with np.load(file) as archive:
        again = from_arrays(dict(archive))
    before, after = to_arrays(trace), to_arrays(again)
    assert before.keys() == after.keys()
    for key, array in before.items():
        assert array.dtype == after[key].dtype
        # Bit patterns, since table contents may hold NaN.
        assert array.tobytes() == after[key].tobytes(), key
