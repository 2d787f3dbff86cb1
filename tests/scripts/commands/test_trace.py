"""`recspeed trace`, `recspeed info`: what they write and print."""

import json

import numpy as np
import pytest
from support.command_line import CommandLine
from support.trace_samples import criteo_line, sample

from recspeed.models.spec.memory import memory_preset, memory_preset_names
from recspeed.models.traces.trace import load_trace


@pytest.fixture
def recspeed(capsys):
    return CommandLine(capsys)


def test_info_lists_every_preset(recspeed):
    finished = recspeed("info")
    assert finished.code == 0
    for name in memory_preset_names():
        assert name in finished.out
    assert "amaranth" in finished.out


def test_info_of_a_preset_shows_clocks_and_sources(recspeed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    finished = recspeed("info", "--memory", "hbm2e-3000", "--sources")
    assert finished.code == 0
    preset = memory_preset("hbm2e-3000")
    rows = {cells[0]: cells for cells in table_rows(finished.out)}
    for name in ("tRCD", "tFAW", "tREFI"):
        assert rows[name][1] == str(getattr(preset.clocks, name))
        assert rows[name][3] == getattr(preset.timing, name).source
    assert preset.organization.source in " ".join(finished.out.split())
    # 24 GB/s x 16 pseudo channels x 6 stacks.
    assert "2304 GB/s" in finished.out


def table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_generate_is_what_the_options_say(recspeed, tmp_path):
    path = tmp_path / "deep" / "t.npz"
    options = "--tables 3 --batch 40 --rows 100,200,300 --dim 32,64,8 --pooling 2:9 --empty 0.2"
    finished = recspeed("trace", "generate", *options.split(), "--contents", "--out", path)
    assert finished.code == 0
    trace = load_trace(path)
    assert finished.out == f"{path}: 3 tables, batch of 40, {len(trace.indices)} lookups\n"
    assert trace.rows.tolist() == [100, 200, 300]
    assert trace.dims.tolist() == [32, 64, 8]
    assert trace.batch == 40
    lengths = trace.lengths
    assert set(lengths.tolist()) <= {0, *range(2, 10)}
    assert (lengths == 0).any()
    assert sorted(trace.contents) == [0, 1, 2]


def test_generate_by_every_law(recspeed, tmp_path):
    profile = tmp_path / "dist_emb_0.log"
    profile.write_text("1, 2, 3, 4, 5, 6\n0, 1, 3, 4, 5\n0.55, 0.64, 0.82, 0.91, 1.0\n")
    laws = {
        "uniform": (),
        "zipf": ("--zipf-q", 2, "--zipf-s", 1.5),
        "stack-distance": ("--profile", profile),
    }
    seen = set()
    for law, options in laws.items():
        path = tmp_path / f"{law}.npz"
        arguments = ("--distribution", law, *options, "--rows", 500, "--seed", 5, "--out", path)
        assert recspeed("trace", "generate", *arguments).code == 0
        first = load_trace(path).indices
        assert recspeed("trace", "generate", *arguments).code == 0
        assert np.array_equal(load_trace(path).indices, first)
        seen.add(len(np.unique(load_trace(path).indices)))
    # 500 uniform rows, fewer by Zipf, the profile's 6.
    assert sorted(seen)[0] == 6
    assert sorted(seen)[-1] == 500
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--tables 2 --rows 1,2,3", "--rows 1,2,3: 3 numbers; expected 1 or 2"),
        ("--rows 0", "--rows 0: expected integers from 1 up as A,B,C or FIRST:LAST:STEP"),
        ("--rows many", "--rows many: expected integers from 1 up"),
        ("--dim 1.5", "--dim 1.5: expected integers from 1 up"),
        ("--rows 1099511627777", "rows[0]: 1099511627777; expected at least 1 and at most"),
        ("--pooling 9:1", "pooling factor '9:1': expected N, LOW:HIGH"),
        ("--distribution zipf --zipf-s 0", "Zipf with q = 0, s = 0; expected q > -1 and s > 0"),
        ("--distribution stack-distance", "--profile goes with --distribution stack-distance"),
        ("--profile x", "--profile goes with --distribution stack-distance, and only with it"),
        ("--distinct --rows 79", "table 0: a bag of 80 distinct rows; expected at most"),
    ],
)
def test_generate_refuses(options, message, recspeed, tmp_path):
    path = tmp_path / "t.npz"
    assert message in recspeed.refused("trace", "generate", *options.split(), "--out", path)
    assert not path.exists()


def test_dlrm_text_to_trace_and_back(recspeed, tmp_path):
    source = tmp_path / "trace.log"
    source.write_text("np.uint64(5),np.uint64(3),np.uint64(5),np.uint64(0),np.uint64(9)\n")
    path = tmp_path / "t.npz"
    options = ("--from", "dlrm", "--lookups-per-bag", 2, "--rows", 10, "--dim", 16, "--out", path)
    assert recspeed("trace", "convert", source, *options).code == 0
    trace = load_trace(path)
    assert trace.offsets.tolist() == [0, 2, 4, 5]
    assert (trace.rows.tolist(), trace.dims.tolist()) == ([10], [16])
    back = tmp_path / "back"
    for form, content in (
        ("dlrm", b"5,3,5,0,9\n"),
        ("dlrm-binary", np.array([5, 3, 5, 0, 9], dtype="<u8").tobytes()),
    ):
        options = ("--from", "npz", "--to", form, "--out", back)
        assert recspeed("trace", "convert", path, *options).code == 0
        assert back.read_bytes() == content
        again = tmp_path / "again.npz"
        assert recspeed("trace", "convert", back, "--from", form, "--out", again).code == 0
        assert load_trace(again).indices.tolist() == [5, 3, 5, 0, 9]


def test_profile_of_a_trace_makes_traces_like_it(recspeed, tmp_path):
    source, path, profile = tmp_path / "trace.log", tmp_path / "t.npz", tmp_path / "dist_emb_0"
    source.write_text("7,3,7,7,3,9\n")
    assert recspeed("trace", "convert", source, "--from", "dlrm", "--out", path).code == 0
    to_profile = ("--from", "npz", "--to", "dlrm-profile", "--out", profile)
    assert recspeed("trace", "convert", path, *to_profile).code == 0
    # New rows 7, 3, 9; then 7 and 3 as second latest, and 7 right after itself.
    lines = [[float(word) for word in line.split(",")] for line in profile.read_text().splitlines()]
    assert lines[:2] == [[7, 3, 9], [0, 1, 2]]
    assert lines[2] == pytest.approx([3 / 6, 4 / 6, 1])
    options = ("--distribution", "stack-distance", "--profile", profile, "--rows", 10)
    assert recspeed("trace", "generate", *options, "--out", path).code == 0
    assert set(load_trace(path).indices.tolist()) == {7, 3, 9}


def test_profile_of_no_lookup_is_refused(recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "out"
    assert recspeed("trace", "generate", "--empty", 1, "--out", path).code == 0
    to_profile = ("--from", "npz", "--to", "dlrm-profile", "--out", out)
    message = recspeed.refused("trace", "convert", path, *to_profile)
    assert message == "no lookup; expected at least one to take stack distances of"
    assert not out.exists()


def test_several_dlrm_files_are_tables(recspeed, tmp_path):
    for number in range(2):
        (tmp_path / f"{number}").write_text(f"{number}, 7\n3, 4\n")
    path = tmp_path / "t.npz"
    sources = (tmp_path / "0", tmp_path / "1")
    options = ("--from", "dlrm", "--lookups-per-bag", 2, "--out", path)
    assert recspeed("trace", "convert", *sources, *options).code == 0
    trace = load_trace(path)
    assert (trace.tables, trace.batch) == (2, 2)
    assert trace.of_table(1).tolist() == [1, 7, 3, 4]
    (tmp_path / "1").write_text("1\n")
    message = recspeed.refused("trace", "convert", *sources, *options)
    assert message == f"{sources[1]}: 1 bags; expected as many as in {sources[0]}, 2"


def test_criteo_modulo_and_dense(recspeed, tmp_path):
    source = tmp_path / "day.tsv"
    source.write_text(criteo_line(c2="80000001", c5="a") + criteo_line(c5="ffffffff"))
    path = tmp_path / "t.npz"
    convert = ("trace", "convert", source, "--from", "criteo", "--out", path)
    assert recspeed(*convert, "--table", "2,5", "--rows", "100,7").code == 0
    trace = load_trace(path)
    assert trace.indices.tolist() == [0x80000001 % 100, 10 % 7, 0xFFFFFFFF % 7]
    assert trace.lengths.tolist() == [1, 0, 1, 1]
    assert trace.rows.tolist() == [100, 7]
    assert recspeed(*convert).code == 0
    trace = load_trace(path)
    assert trace.tables == 26
    assert trace.rows.tolist() == [2 if table == 5 else 1 for table in range(26)]
    assert recspeed(*convert, "--table", 2, "--map", "keep").code == 0
    assert load_trace(path).rows.tolist() == [0x80000002]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--from criteo --table 26", "category 26; expected 0 to 25"),
        ("--from criteo --map modulo", "category 0: rows are missing; expected a number"),
        ("--from criteo --rows 1,2", "--rows 1,2: 2 numbers; expected 1 or 26"),
        (
            "--from criteo --to criteo",
            "--to criteo: expected npz or a form of dlrm",
        ),
        ("--from dlrm", "line 1, field 3: '-2'; expected an unsigned integer"),
        ("--from dlrm-profile", "--from dlrm-profile: a profile is no trace; expected trace"),
        ("--from npz --to dlrm", "not an .npz file"),
        ("--from dlrm --to dlrm --table 1", "line 1, field 3"),
    ],
)
def test_convert_refuses(options, message, recspeed, tmp_path):
    source = tmp_path / "input"
    source.write_text(criteo_line(c0="1").replace("\t\t", "\t0\t", 1))
    path = tmp_path / "t.npz"
    refused = recspeed.refused("trace", "convert", source, *options.split(), "--out", path)
    assert message in refused
    assert not path.exists()


def test_convert_refuses_tables_and_files_that_do_not_exist(recspeed, tmp_path):
    trace = tmp_path / "t.npz"
    assert recspeed("trace", "generate", "--out", trace).code == 0
    out = tmp_path / "out"
    to_dlrm = ("trace", "convert", trace, "--from", "npz", "--to", "dlrm", "--out", out)
    assert recspeed.refused(*to_dlrm, "--table", 1) == "--table 1: expected one table, 0 to 0"
    two = ("trace", "convert", trace, trace, "--from", "npz", "--out", out)
    assert recspeed.refused(*two) == "--from npz: 2 files; expected one"


def test_stats_as_table_and_json(recspeed, tmp_path):
    trace, document = tmp_path / "t.npz", tmp_path / "stats.json"
    options = ["--tables", "2", "--rows", "50", "--batch", "30", "--empty", "0.3", "--seed", "4"]
    assert recspeed("trace", "generate", *options, "--out", trace).code == 0
    finished = recspeed("trace", "stats", trace, "--json", document)
    assert finished.code == 0
    figures = json.loads(document.read_text())
    loaded = load_trace(trace)
    assert (figures["tables"], figures["batch"]) == (2, 30)
    assert figures["lookups"] == len(loaded.indices)
    for table, row in enumerate(figures["per_table"]):
        assert row["lookups"] == len(loaded.of_table(table))
        assert str(row["lookups"]) in finished.out
        assert row["unique_rows"] == 50
        assert row["duplicates"] > 0


def test_real_deeprecsys_table(recspeed, tmp_path):
    path = tmp_path / "t.npz"
    options = ["--from", "dlrm", "--lookups-per-bag", "80", "--rows", "1000000"]
    source = sample("deeprecsys_tbl1")
    assert recspeed("trace", "convert", source, *options, "--out", path).code == 0
    trace = load_trace(path)
    assert (trace.batch, len(trace.indices), trace.rows.tolist()) == (32, 2560, [1_000_000])
    assert set(trace.lengths.tolist()) == {80}
