"""`recspeed collective` as a user meets it: results, dumps, and errors of one line."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from support.command_line import CommandLine

from recspeed.scripts.measurements import collective_figures

KEYS = {
    "op", "chips", "bytes_per_chip", "engine", "cycles", "nanoseconds", "bound_cycles",
    "algorithm_bandwidth", "bus_bandwidth", "flits_sent", "flits_replayed", "crc_errors", "digest",
}  # fmt: skip


def recspeed(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "recspeed.scripts.main", "collective"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False
    )


def test_golden_and_bound_of_an_all_to_all(tmp_path):
    path, dump = tmp_path / "a.json", tmp_path / "dump"
    done = recspeed("--op", "all_to_all", "--chips", 5, "--bytes", 1003, "--out", path,
                    "--dump", dump, "--seed", 3)  # fmt: skip
    assert done.returncode == 0, done.stderr
    golden, bound = json.loads(path.read_text())
    assert set(golden) >= KEYS
    assert (golden["engine"], bound["engine"]) == ("golden", "bound")
    assert golden["op"] == "all_to_all"
    assert golden["bytes_per_chip"] == 1003
    assert golden["bound_cycles"] == bound["cycles"] <= golden["cycles"]
    assert golden["flits_sent"] == 20 * (1 + 4)
    size_over_time = 1003 / golden["nanoseconds"]
    assert golden["algorithm_bandwidth"] == pytest.approx(size_over_time, rel=1e-3)
    assert golden["bus_bandwidth"] == pytest.approx(0.8 * size_over_time, rel=1e-3)
    held = [np.load(dump / f"in_{rank}.npy") for rank in range(5)]
    given = [np.load(dump / f"out_{rank}.npy") for rank in range(5)]
    assert {len(one) for one in held} == {1003}
    cuts = [0, 201, 402, 603, 803, 1003]
    for rank in range(5):
        wanted = np.concatenate([one[cuts[rank] : cuts[rank + 1]] for one in held])
        assert given[rank].dtype == np.uint8
        assert np.array_equal(given[rank], wanted)
    whole = hashlib.sha256(b"".join(one.tobytes() for one in given)).hexdigest()
    assert golden["digest"] == whole


@pytest.mark.parametrize("wire", ["fp16", "fp32", "exact"])
def test_a_reduction_gives_the_same_bits_in_every_wire_format(tmp_path, wire):
    path, dump = tmp_path / "r.json", tmp_path / "dump"
    done = recspeed("--op", "all_reduce", "--chips", 3, "--bytes", 2002, "--wire", wire,
                    "--engine", "golden", "--out", path, "--dump", dump)  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    held = [np.load(dump / f"in_{rank}.npy").view(np.float16) for rank in range(3)]
    total = sum(one.astype(np.float64) for one in held).astype(np.float16)
    for rank in range(3):
        given = np.load(dump / f"out_{rank}.npy").view(np.float16)
        assert np.array_equal(given, total)
    assert result["digest"] == hashlib.sha256(total.tobytes() * 3).hexdigest()


def test_errors_and_skew_are_counted(tmp_path):
    path = tmp_path / "e.json"
    done = recspeed("--op", "all_gather", "--chips", 4, "--bytes", 200000, "--engine", "golden",
                    "--error-rate", 0.001, "--skew", 500, "--out", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    assert result["crc_errors"] > 0
    assert result["flits_replayed"] > 0
    assert "replays" in done.stdout
    assert "of the error-free throughput on the slowest link" in done.stdout
    assert "go-back-N leaves 62.6% on average: 1 / (1 + 0.001 x 598 flits" in done.stdout


def test_sizes_per_peer(tmp_path):
    sizes, path, dump = tmp_path / "sizes.csv", tmp_path / "p.json", tmp_path / "dump"
    sizes.write_text("0,100,7\n64,0,0\n1,1,128\n")
    done = recspeed("--op", "all_to_all", "--chips", 3, "--per-peer", sizes, "--engine", "golden",
                    "--out", path, "--dump", dump)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["bytes_per_chip"] == 130
    lengths = [[len(np.load(dump / f"{way}_{rank}.npy")) for rank in range(3)]
               for way in ("in", "out")]  # fmt: skip
    assert lengths == [[107, 64, 130], [65, 101, 135]]


def test_sizes_per_rank_of_an_all_gather(tmp_path):
    """By the RTL too: it shows who sends how much, where the golden data shows the result alone."""
    sizes, dump = tmp_path / "sizes.csv", tmp_path / "dump"
    sizes.write_text("100,7\n")
    done = recspeed("--op", "all_gather", "--chips", 2, "--per-peer", sizes, "--latency", 1,
                    "--engine", "rtl,golden", "--out", tmp_path / "p.json", "--dump",
                    dump)  # fmt: skip
    assert done.returncode == 0, done.stderr
    held = [np.load(dump / f"in_{rank}.npy") for rank in range(2)]
    assert [len(one) for one in held] == [100, 7]
    for rank in range(2):
        assert np.array_equal(np.load(dump / f"out_{rank}.npy"), np.concatenate(held))


@pytest.mark.parametrize(
    ("op", "algorithm", "bus"),
    [
        ("all_to_all", 1, 3 / 4),
        ("reduce_scatter", 1, 3 / 4),
        ("all_gather", 4, 3 / 4),
        ("all_reduce", 1, 2 * 3 / 4),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(op, algorithm, bus, tmp_path):
    """Bytes of the whole buffer over time, and that times the factor of the operation."""
    path = tmp_path / "b.json"
    done = recspeed("--op", op, "--chips", 4, "--bytes", 8192, "--engine", "golden",
                    "--out", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    rate = algorithm * 8192 / result["nanoseconds"]
    assert result["algorithm_bandwidth"] == pytest.approx(rate, rel=1e-3)
    assert result["bus_bandwidth"] == pytest.approx(bus * rate, rel=1e-3)


def test_time_lasts_to_the_last_completion(tmp_path):
    """One chip gets 64 KB and the others a flit: the bound of the long message holds."""
    sizes, path = tmp_path / "sizes.csv", tmp_path / "t.json"
    sizes.write_text("0,65536,1\n1,0,1\n1,1,0\n")
    done = recspeed("--op", "all_to_all", "--chips", 3, "--per-peer", sizes, "--engine",
                    "golden,bound", "--out", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    golden, bound = json.loads(path.read_text())
    assert bound["cycles"] > 1024
    assert bound["cycles"] <= golden["cycles"] < 1.1 * bound["cycles"]


def test_rtl_agrees(tmp_path):
    """A short latency keeps the simulation short; the command compares every clock and byte."""
    path = tmp_path / "rtl.json"
    done = recspeed("--op", "reduce_scatter", "--chips", 2, "--bytes", 6000, "--latency", 1,
                    "--engine", "rtl,golden,bound", "--error-rate", 0.1,
                    "--out", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rtl, golden, _ = json.loads(path.read_text())
    assert rtl.pop("engine") == "rtl"
    assert golden.pop("engine") == "golden"
    assert rtl == golden
    assert rtl["crc_errors"] > 0


def test_sweep_writes_a_plot(tmp_path):
    path = tmp_path / "s.json"
    done = recspeed("--op", "all_gather", "--chips", "2,4", "--sweep", "--out", path)
    assert done.returncode == 0, done.stderr
    values = json.loads(path.read_text())
    assert len(values) == 2 * 8 * (2 + 3)
    times = {
        (one["topology"], one["chips"], one["bytes_per_chip"]): one["nanoseconds"]
        for one in values
        if one["engine"] == "golden"
    }
    for topology in ("ring", "ring_steps", "switch"):
        assert times["direct", 4, 64] < times[topology, 4, 64]
    assert "ring in steps" in done.stdout
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--op", "all_to_all", "--chips", "1", "--bytes", "64"), "--chips 1: expected 2 to 16"),
        (("--op", "all_to_all", "--chips", "17", "--bytes", "64"), "--chips 17: expected 2 to 16"),
        (("--op", "all_to_all", "--chips", "x", "--bytes", "64"), "--chips x: expected 2 to 16"),
        (("--op", "all_to_all", "--chips", "²", "--bytes", "64"), "--chips ²: expected 2 to 16"),
        (
            ("--op", "all_to_all", "--chips", "2,2", "--sweep"),
            "--chips 2,2: a number is named twice",
        ),
        (("--op", "all_to_all",), "--bytes: missing"),
        (("--op", "all_reduce", "--bytes", "3"), "--bytes 3: all_reduce adds FP16 elements"),
        (("--op", "all_to_all", "--bytes", "64", "--engine", "verilog"), "'verilog' is no engine"),
        (("--op", "all_to_all", "--bytes", "64", "--engine", "bound", "--dump", "d"), "--dump"),
        (("--op", "all_to_all", "--bytes", "64", "--sweep"), "--sweep: chooses sizes itself"),
        (("--op", "all_to_all", "--bytes", "64", "--latency", "400", "--chips", "2"),
         "sequence numbers allow 2048"),
        (("--op", "all_to_all", "--per-peer", "none.csv"), "--per-peer none.csv: No such file"),
    ],
)  # fmt: skip
def test_a_usage_error_is_one_line(tmp_path, arguments, text):
    path = tmp_path / "x.json"
    done = recspeed(*arguments, "--out", path)
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("1,2\n3,4\n", "expected 3 line(s) of 3 sizes"),
        ("1,2,3\n4,5,x\n7,8,9\n", "expected whole numbers of bytes"),
        ("1,2,3\n4,5,-6\n7,8,9\n", "expected sizes from 0 up"),
        (f"1,2,3\n4,5,{10**30}\n7,8,9\n", "expected sizes from 0 up"),
        ("1,2,3\n4,5\n7,8,9\n", "expected 3 line(s) of 3 sizes"),
        ("", "expected 3 line(s) of 3 sizes"),
        ("1,2,3\n4,5,6.5\n7,8,9\n", "expected whole numbers of bytes"),
    ],
)
def test_a_bad_size_file_is_named(tmp_path, content, text):
    sizes = tmp_path / "sizes.csv"
    sizes.write_text(content)
    done = recspeed("--op", "all_to_all", "--chips", 3, "--per-peer", sizes, "--out",
                    tmp_path / "x.json")  # fmt: skip
    assert done.returncode == 2
    assert text in done.stderr
    assert str(sizes) in done.stderr


def test_a_dead_engine_is_a_failed_check(tmp_path):
    """At half of all flits in error the retries run out: a named error, not a hang."""
    path = tmp_path / "d.json"
    done = recspeed("--op", "all_gather", "--chips", 2, "--bytes", 100000, "--engine", "golden",
                    "--error-rate", 0.5, "--out", path)  # fmt: skip
    assert done.returncode == 1
    assert "met LINK_DOWN on its link to rank" in done.stderr
    assert not path.exists()


def test_bench_prints_the_figures_of_collectives(capsys, monkeypatch):
    monkeypatch.setattr(collective_figures, "CHIPS", (2, 4))
    done = CommandLine(capsys)("bench", "--block", "collective", "--no-build")
    assert done.code == 0, done.err
    assert "160,000 B per chip: 1.03 x bound" in done.out
    assert "1,919 (99.4%)" in done.out
    assert "84.9%" in done.out


def test_bench_of_an_unknown_block(capsys):
    message = CommandLine(capsys).refused("bench", "--block", "link")
    assert message == "--block: unknown block 'link': expected cluster, collective or all"
