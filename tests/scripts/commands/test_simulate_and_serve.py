"""`recspeed simulate` and `recspeed serve` as a user meets them: results, files, refusals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from recspeed.models.performance import presets
from recspeed.models.performance import sweep as sweeps
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.scripts.main import run
from recspeed.scripts.measurements import performance_chunk
from recspeed.scripts.measurements.executor import Serial
from recspeed.scripts.reports import sweep as sweep_report

BASE = ["--system", "recspeed-16", "--workload", "rm2-small"]


def simulate(*more: str) -> int:
    return run(["simulate", *BASE, *more])


def test_json_holds_what_design_asks_for(tmp_path: Path, capsys) -> None:
    out = tmp_path / "deep" / "su.json"
    assert simulate("--schedule", "paper", "--engine", "model", "--out", str(out)) == 0
    found = json.loads(out.read_text())
    assert found["qps"] == pytest.approx(301_771, rel=1e-4)
    assert found["seconds_per_query"] == pytest.approx(1 / found["qps"])
    assert 0.67 < found["memory_utilisation"] < 0.69
    for phase in found["phases"]:
        assert set(phase) == {"name", "resource", "start", "end"}
        assert len(phase["start"]) == len(phase["end"]) == 16
        assert all(a <= b for a, b in zip(phase["start"], phase["end"], strict=True))
    last = max(max(phase["end"]) for phase in found["phases"])
    assert last == pytest.approx(found["seconds_per_query"])
    assert found["message_bytes_per_chip"]["index_exchange"] == 160_000
    assert found["footprint_bytes_per_chip"]["dense_weights"] == 2 * 540_609
    assert found["bottleneck"] == "memory"
    assert found["energy_joules_per_query"]["total"]["typical"] > 0
    assert "301,771 batches per second" in capsys.readouterr().out


def test_chips_differ_in_phases_where_tables_do(tmp_path: Path) -> None:
    out = tmp_path / "su.json"
    assert simulate("--placement", "table-wise", "--out", str(out)) == 0
    lookups = next(
        p for p in json.loads(out.read_text())["phases"] if p["name"].startswith("lookups")
    )
    assert len(set(lookups["end"])) == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--engine", "golden"], "--engine golden: does not exist here; there is model"),
        (["--engine", "rtl"], "there is model"),
        (["--system", "dgx-9"], "system 'dgx-9' does not exist; there are aibox"),
        (["--workload", "gpt"], "workload 'gpt' does not exist; there are deeprecsys-rm1"),
        (["--schedule", "lazy"], "schedule 'lazy' does not exist; there are causal, paper"),
        (["--schedule", "pipelined", "--training"], "contradicts training"),
        (["--placement", "nowhere"], "placement 'nowhere' does not exist"),
        (["--wire", "fp8"], "wire format 'fp8' does not exist"),
        (["--sweep", "latency=5:1us"], "START must be below STOP"),
        (["bandwidth=1:2"], "axes follow --sweep"),
        (["--sweep", "latency=1:2us", "latency=1:2us"], "different axes, got latency, latency"),
        (["--trace", "nowhere.npz"], "nowhere.npz"),
        (["--jobs", "0", "--sweep", "latency=1:2us"], "jobs"),
        (["--system", "gc2-16", "--workload", "mlperf-dlrm"], "does not fit gc2-16"),
        (["--colour"], "--colour"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(arguments, reason: str, tmp_path, capsys) -> None:
    out = tmp_path / "out.json"
    assert simulate("--out", str(out), *arguments) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_list_names_every_preset(capsys) -> None:
    assert run(["simulate", "--list"]) == 0
    text = capsys.readouterr().out
    for name in (*presets.names("systems"), *presets.names("workloads")):
        assert name in text


def sweep_once(folder: Path, *more: str) -> int:
    axes = ["--sweep", "latency=0.5:10us:40", "bandwidth=100:1000:40"]
    return simulate("--system", "recspeed-8", *axes, "--out", str(folder), *more)


def test_a_sweep_writes_csv_json_and_a_picture(tmp_path: Path, capsys) -> None:
    assert sweep_once(tmp_path) == 0
    with (tmp_path / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1600
    assert list(rows[0])[:3] == ["latency", "bandwidth", "qps"]
    points = json.loads((tmp_path / "sweep.json").read_text())["points"]
    assert [float(row["qps"]) for row in rows] == [point["qps"] for point in points]
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sweep.csv",
        "sweep.json",
        "sweep.png",
    ]
    text = capsys.readouterr().out
    assert "lowest: 41,799 batches per second at latency 10, bandwidth 100" in text
    assert "highest: 195,041 batches per second" in text


def test_an_interrupted_sweep_continues(tmp_path: Path, capsys, monkeypatch) -> None:
    whole = tmp_path / "whole"
    assert sweep_once(whole, "--jobs", "1") == 0
    real, asked = sweeps.evaluate_chunk, []

    def interrupted(sweep, chunk: int):
        asked.append(chunk)
        if chunk == 2:
            raise KeyboardInterrupt
        return real(sweep, chunk)

    folder = tmp_path / "resumed"
    monkeypatch.setattr(sweeps, "evaluate_chunk", interrupted)
    assert sweep_once(folder, "--jobs", "1") == 130
    assert not (folder / "sweep.csv").exists()

    def counting(sweep, chunk: int):
        asked.append(chunk)
        return real(sweep, chunk)

    asked.clear()
    monkeypatch.setattr(sweeps, "evaluate_chunk", counting)
    assert sweep_once(folder, "--jobs", "1") == 0
    assert asked == [2, 3]
    assert "continuing: 2 of 4 chunks" in capsys.readouterr().out
    for name in ("sweep.csv", "sweep.json"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_another_sweep_never_continues_with_foreign_chunks() -> None:
    def small(**more) -> sweeps.Sweep:
        return sweeps.Sweep(
            presets.workload("rm2-small"),
            presets.system("recspeed-8"),
            parse_placement("unsharded"),
            (sweeps.parse_axis("latency=1:2us"),),
            **more,
        )

    fingerprint = performance_chunk.fingerprint
    assert fingerprint(small()) == fingerprint(small())
    assert fingerprint(small()) != fingerprint(small(training=True))
    assert fingerprint(small()) != fingerprint(small(schedule="causal"))


def test_damaged_chunks_are_computed_again(tmp_path: Path) -> None:
    points = sweeps.Sweep(
        presets.workload("rm2-small"),
        presets.system("recspeed-8"),
        parse_placement("unsharded"),
        (sweeps.parse_axis("latency=1:2us:700"),),
    )
    first, second = performance_chunk.chunks_of(points)
    kept = tmp_path / "points"
    kept.mkdir()
    (kept / f"{first.key}.json").write_text('{"outcome": [[1, 2')
    (kept / f"{second.key}.json").write_text('{"outcome": [[1, 2]]}')
    rows = sweep_report.collect(points, Serial(), tmp_path)
    assert len(rows) == 700
    assert rows == [row for chunk in (0, 1) for row in sweeps.evaluate_chunk(points, chunk)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("axes", [["chips=2:8"], ["chips=2:4", "batch=1:9:3", "tflops=1,2"]])
def test_sweeps_of_one_and_three_axes(axes: list[str], tmp_path: Path) -> None:
    assert simulate("--sweep", *axes, "--out", str(tmp_path)) == 0
    assert (tmp_path / "sweep.png").exists() == (len(axes) == 1)


def save_trace(path: Path, **change) -> None:
    batch = 4
    arrays = {
        "indices": np.array([0, 5, 9, 9, 1, 0, 2], dtype=np.int64),
        "offsets": np.array([0, 2, 2, 4, 5, 6, 7, 7, 7], dtype=np.int64),
        "rows": np.array([10, 3], dtype=np.int64),
        "dims": np.array([32, 32], dtype=np.int64),
    }
    assert len(arrays["offsets"]) == 2 * batch + 1
    np.savez(path, **(arrays | change))


def test_a_trace_sets_tables_and_batch(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.npz", tmp_path / "out.json"
    save_trace(trace)
    assert simulate("--trace", str(trace), "--placement", "table-wise", "--out", str(out)) == 0
    found = json.loads(out.read_text())
    assert found["batch"] == 4
    assert found["workload"] == "rm2-small on trace.npz"
    assert found["message_bytes_per_chip"]["index_exchange"] == 5 * 4
    assert found["footprint_bytes_per_chip"]["embeddings"] == 10 * 64


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"indices": np.array([0, 5, 10, 9, 1, 0, 2])}, "indices[2]: 10 is outside table 0"),
        ({"indices": np.array([0, 5, 9, 9, 1, 0, -1])}, "indices[6]: -1 is outside table 1"),
        ({"offsets": np.array([0, 2, 1, 4, 5, 6, 7, 7, 7])}, "offsets"),
        ({"dims": np.array([32, 16])}, "dimension 16, 32"),
    ],
)
def test_traces_that_cannot_be_used(change, reason: str, tmp_path: Path, capsys) -> None:
    trace = tmp_path / "trace.npz"
    save_trace(trace, **change)
    assert simulate("--trace", str(trace)) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def serve(folder: Path, *more: str) -> int:
    return run(["serve", *BASE, "--queries", "400", "--out", str(folder), *more])


def test_serve_writes_a_curve(tmp_path: Path, capsys) -> None:
    assert serve(tmp_path, "--sla-ms", "0.05") == 0
    found = json.loads((tmp_path / "serve.json").read_text())
    assert len(found["loads"]) == 10
    for load in found["loads"]:
        assert load["p50_ms"] <= load["p90_ms"] <= load["p95_ms"] <= load["p99_ms"]
    assert 0 < found["highest_qps_within_sla"] < found["loads"][-1]["offered_qps"]
    assert (tmp_path / "serve.png").read_bytes().startswith(b"\x89PNG")
    assert "keep 99 % within 0.05 ms" in capsys.readouterr().out


def test_serve_says_when_no_load_meets_the_sla(tmp_path: Path, capsys) -> None:
    assert serve(tmp_path, "--sla-ms", "0.0001") == 0
    assert "no load keeps 99 % within 0.0001 ms" in capsys.readouterr().out


def test_serve_takes_traces(tmp_path: Path) -> None:
    arrivals, sizes = tmp_path / "arrivals.txt", tmp_path / "sizes.txt"
    arrivals.write_text("# seconds\n0.0\n0.001\n0.002\n")
    sizes.write_text("200\n")
    more = ["--arrival-trace", str(arrivals), "--size-trace", str(sizes)]
    assert serve(tmp_path / "out", *more) == 0
    found = json.loads((tmp_path / "out" / "serve.json").read_text())
    assert found["loads"][0]["p99_ms"] == pytest.approx(1e3 / 224_026, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--sizes", "zipf"], "--sizes zipf: does not exist; there are fixed, lognormal"),
        (["--size-trace", "none.txt"], "no such file"),
        (["--arrival-trace", "BAD"], "line 2: 'soon' is not a number"),
        (["--size-trace", "HALF"], "whole numbers from 1 to 4096"),
        (["--sla-ms", "-1"], "sla"),
        (["--schedule", "lazy"], "schedule 'lazy' does not exist"),
        (["--system", "nope"], "system 'nope' does not exist"),
    ],
)
def test_serve_refuses_in_one_line(arguments, reason: str, tmp_path: Path, capsys) -> None:
    bad, half = tmp_path / "bad.txt", tmp_path / "half.txt"
    bad.write_text("0.5\nsoon\n")
    half.write_text("1.5\n")
    names = {"BAD": str(bad), "HALF": str(half)}
    assert serve(tmp_path / "out", *(names.get(a, a) for a in arguments)) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1
    assert not (tmp_path / "out").exists()
