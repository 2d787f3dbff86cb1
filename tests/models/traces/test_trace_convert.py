"""Converters: dlrm's and DeepRecSys' files, Criteo's logs, and how they can be wrong."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trace_samples import criteo_line, sample

from recspeed.models.traces import dlrm
from recspeed.models.traces.convert import join_tables, map_rows, uniform_offsets
from recspeed.models.traces.criteo import parse_line, read_criteo
from recspeed.models.traces.distributions import StackProfile
from recspeed.models.traces.stack_distance import stack_distances, stack_profile
from recspeed.models.traces.trace import TraceError


@pytest.fixture
def write(tmp_path):
    def make(content: str | bytes) -> Path:
        path = tmp_path / "input"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3,4294967297",
        "1, 2, 3, 4294967297\n",
        "1\n2\n3\n4294967297\n",
        "np.uint64(1),np.uint64(2),np.uint64(3),np.uint64(4294967297)\n",
        "np.uint64(1), 2\r\n\r\n3 np.uint64(4294967297)",
    ],
)
def test_text_trace_in_every_spelling(text, write):
    assert dlrm.read_text_trace(write(text)).tolist() == [1, 2, 3, 4294967297]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no row id; expected integers separated by commas or line ends"),
        ("1,2\n3,x,5", "line 2, field 2: 'x'; expected an unsigned integer"),
        ("1,-2", "line 1, field 2: '-2'; expected an unsigned integer"),
        ("1.5", "line 1, field 1: '1.5'; expected an unsigned integer"),
        ("1_000", "expected an unsigned integer"),
        ("np.uint64(1", "expected an unsigned integer"),
        ("1)", "expected an unsigned integer"),
        ("9223372036854775808", "9223372036854775808; expected at most 9223372036854775807"),
        ("\u0661", "not text; expected row ids in ASCII"),
    ],
)
def test_text_trace_is_refused(text, message, write):
    path = write(text)
    with pytest.raises(TraceError) as error:
        dlrm.read_text_trace(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


def test_binary_trace_is_refused(write):
    with pytest.raises(TraceError, match="9 bytes; expected a multiple of 8"):
        dlrm.read_binary_trace(write(b"123456789"))
    with pytest.raises(TraceError, match="0 bytes; expected a multiple of 8"):
        dlrm.read_binary_trace(write(b""))
    with pytest.raises(TraceError, match="row id 1: 18446744073709551615; expected at most"):
        dlrm.read_binary_trace(write(bytes(8) + b"\xff" * 8))


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=50))
def test_text_and_binary_round_trip(ids):
    import tempfile

    numbers = np.array(ids, dtype=np.int64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text(dlrm.text_trace(numbers))
        assert dlrm.read_text_trace(path).tolist() == ids
        assert "np" not in path.read_text()
        path.write_bytes(dlrm.binary_trace(numbers))
        assert dlrm.read_binary_trace(path).tolist() == ids


def test_profile_with_and_without_ids(write):
    profile = dlrm.read_profile(write("np.uint64(4), 2\n0, 1\n0.25, 1.0\n"))
    assert profile.ids is not None
    assert profile.ids.tolist() == [4, 2]
    assert profile.distances.tolist() == [0, 1]
    assert profile.cumulative.tolist() == [0.25, 1.0]
    assert dlrm.read_profile(write("0, 1\n0.25, 1.0\n")).ids is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0, 1\n", "1 lines; expected ids (optional), stack distances and cumulative"),
        ("0, 1\n0.5, much\n", "cumulative probabilities, field 2: 'much'; expected a number"),
        ("0, one\n0.5, 1.0\n", "stack distances, field 2: 'one'; expected an unsigned integer"),
        ("a\n0\n1.0\n", "ids, field 1: 'a'; expected an unsigned integer"),
        ("0, 1\n0.5, 0.9\n", "the last is 0.9; expected 1"),
    ],
)
def test_profile_is_refused(text, message, write):
    path = write(text)
    with pytest.raises(TraceError) as error:
        dlrm.read_profile(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80))
def test_stack_distances_against_a_literal_stack(rows):
    stack: list[int] = []
    literal = []
    for row in rows:
        literal.append(len(stack) - stack.index(row) if row in stack else 0)
        if row in stack:
            stack.remove(row)
        stack.append(row)
    assert stack_distances(np.array(rows, dtype=np.int64)).tolist() == literal
    profile = stack_profile(np.array(rows, dtype=np.int64))
    assert profile.ids is not None
    assert profile.ids.tolist() == list(dict.fromkeys(rows))
    shares = [literal.count(d) / len(rows) for d in sorted(set(literal))]
    assert profile.distances.tolist() == sorted(set(literal))
    assert np.allclose(profile.cumulative, np.cumsum(shares))


def test_profile_round_trip(write):
    rows = np.random.default_rng(0).integers(0, 50, 1000)
    profile = stack_profile(rows)
    again = dlrm.read_profile(write(dlrm.profile_text(profile)))
    assert again.ids is not None
    assert profile.ids is not None
    assert again.ids.tolist() == profile.ids.tolist()
    assert again.distances.tolist() == profile.distances.tolist()
    assert again.cumulative.tolist() == profile.cumulative.tolist()


def test_profile_of_a_generated_trace_is_the_one_it_came_from():
    given_profile = StackProfile(None, np.array([0, 1, 2, 5]), np.array([0.2, 0.5, 0.9, 1.0]))
    drawn = given_profile.sampler(np.random.default_rng(2), 1 << 30)(20_000)
    found = stack_profile(drawn)
    assert found.distances.tolist() == [0, 1, 2, 5]
    assert np.abs(found.cumulative - given_profile.cumulative).max() < 0.015


def ids(*values):
    return np.array(values, dtype=np.int64)


def test_rows_kept_modulo_and_dense():
    given_ids = ids(2**31 + 5, 3, 2**31 + 5, 2**32 + 1)
    kept, rows = map_rows(given_ids, "keep", None, "here")
    assert (kept.tolist(), rows) == (given_ids.tolist(), 2**32 + 2)
    reduced, rows = map_rows(given_ids, "modulo", 1000, "here")
    assert (reduced.tolist(), rows) == ([653, 3, 653, 297], 1000)
    dense, rows = map_rows(given_ids, "dense", None, "here")
    assert (dense.tolist(), rows) == ([0, 1, 0, 2], 3)
    assert map_rows(given_ids, "dense", 9, "here")[1] == 9
    assert map_rows(ids(), "dense", None, "here")[1] == 1


def test_rows_are_refused():
    with pytest.raises(TraceError, match="here: the highest row is 7; expected at most 6"):
        map_rows(ids(7, 3), "keep", 7, "here")
    with pytest.raises(TraceError, match="here: the highest row is 1; expected at most 0"):
        map_rows(ids(7, 3), "dense", 1, "here")
    with pytest.raises(TraceError, match="here: rows are missing"):
        map_rows(ids(7, 3), "modulo", None, "here")


def test_offsets_of_equal_bags():
    assert uniform_offsets(6, 3).tolist() == [0, 3, 6]
    assert uniform_offsets(7, 3).tolist() == [0, 3, 6, 7]
    assert uniform_offsets(1, 80).tolist() == [0, 1]
    with pytest.raises(TraceError, match="0 lookups per bag; expected at least 1"):
        uniform_offsets(3, 0)


def test_tables_are_joined_table_major():
    trace = join_tables([(ids(5, 6, 7), ids(0, 1, 3)), (ids(8), ids(0, 0, 1))], [9, 10], 4, "ab")
    assert trace.indices.tolist() == [5, 6, 7, 8]
    assert trace.offsets.tolist() == [0, 1, 3, 3, 4]
    assert trace.rows.tolist() == [9, 10]
    assert trace.dims.tolist() == [4, 4]
    with pytest.raises(TraceError, match="b: 3 bags; expected as many as in a, 2"):
        join_tables([(ids(5), ids(0, 0, 1)), (ids(8), ids(0, 0, 0, 1))], [9, 10], 4, "ab")


def test_criteo_empty_categories_are_empty_bags(write):
    path = write(
        criteo_line(c0="80000000", c25="ffffffff")
        + criteo_line(c25="00000001")
        + criteo_line(c0="80000000").replace("\n", "\r\n")
    )
    trace = read_criteo(path, tables=[0, 25, 3])
    assert (trace.tables, trace.batch) == (3, 3)
    assert trace.lengths.tolist() == [1, 0, 1, 1, 1, 0, 0, 0, 0]
    assert trace.indices.tolist() == [0, 0, 0, 1]
    assert trace.rows.tolist() == [1, 2, 1]
    kept = read_criteo(path, tables=[0, 25], row_map="keep")
    assert kept.indices.tolist() == [0x80000000, 0x80000000, 0xFFFFFFFF, 1]
    assert kept.rows.tolist() == [0x80000001, 0x100000000]
    reduced = read_criteo(path, tables=[0, 25], row_map="modulo", rows=[1000, 10])
    assert reduced.indices.tolist() == [648, 648, 5, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0\t1\t2\n", "line 2: 3 fields; expected 40 (label, 13 integers, 26 categories)"),
        (criteo_line(c3="xyz"), "line 2, field 18 (category 3): 'xyz'; expected a hexadecimal"),
        (criteo_line(c3="-1"), "line 2, field 18 (category 3): '-1'; expected a hexadecimal"),
        (criteo_line(c3="f" * 16), "line 2, category 3: hash ffffffffffffffff; expected below"),
        (criteo_line().replace("7", "7.5"), "line 2, field 4: '7.5'; expected an integer"),
        (criteo_line(c3="\u00e4"), "line 2: not text; expected tab-separated ASCII"),
    ],
)
def test_criteo_is_refused(line, message, write):
    path = write(criteo_line(c0="05db9164") + line)
    with pytest.raises(TraceError) as error:
        read_criteo(path, tables=[0])
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}: ")


def test_criteo_arguments_are_refused(write):
    path = write(criteo_line())
    with pytest.raises(TraceError, match="category 26; expected 0 to 25"):
        read_criteo(path, tables=[26])
    with pytest.raises(TraceError, match="1 numbers of rows; expected 2"):
        read_criteo(path, tables=[0, 1], row_map="modulo", rows=[4])
    with pytest.raises(TraceError, match="no line; expected at least one sample"):
        read_criteo(write(""))


def test_real_dlrm_trace():
    read = dlrm.read_text_trace(sample("dlrm_trace.log"))
    assert read.tolist() == [1, 2, 3, 4, 5, 3, 4, 1, 1, 6, 3]


def test_real_dlrm_profile_makes_a_trace():
    profile = dlrm.read_profile(sample("dlrm_dist_emb_0.log"))
    assert profile.ids is not None
    assert profile.ids.tolist() == [1, 2, 3, 4, 5, 6]
    drawn = profile.sampler(np.random.default_rng(0), 7)(5000)
    assert set(drawn.tolist()) == {1, 2, 3, 4, 5, 6}


def test_real_deeprecsys_table_is_32_bags_of_80():
    path = sample("deeprecsys_tbl1")
    read = dlrm.read_text_trace(path)
    expected = [int(word) for word in path.read_text().replace(",", " ").split()]
    assert read.tolist() == expected
    assert len(uniform_offsets(len(read), 80)) == 33
    assert read.max() < 1_000_000


def test_real_deeprecsys_profile_makes_a_trace():
    profile = dlrm.read_profile(sample("deeprecsys_sd_cumm"))
    assert profile.ids is None
    assert len(profile.distances) == 941
    drawn = profile.sampler(np.random.default_rng(0), 1_000_000)(20_000)
    # 99.9 % of the lookups touch a new row.
    assert 19_900 < len(np.unique(drawn)) < 20_000


def test_real_criteo_sample():
    path = sample("criteo_sample.tsv")
    trace = read_criteo(path)
    lines = path.read_bytes().splitlines()
    assert (trace.tables, trace.batch) == (26, len(lines))
    position = 0
    for table in range(26):
        # Told apart by the bytes themselves: equal hashes have equal rows, others different ones.
        row_of: dict[bytes, int] = {}
        for line_number, line in enumerate(lines):
            text = line.split(b"\t")[14 + table]
            assert trace.lengths[table * len(lines) + line_number] == bool(text)
            if text:
                row = int(trace.indices[position])
                assert row_of.setdefault(text, len(row_of)) == row
                position += 1
        assert trace.rows[table] == max(1, len(row_of))
    assert position == len(trace.indices)
    assert any(value is not None and value >= 0x80000000 for value in parse_line(lines[0], "line"))
