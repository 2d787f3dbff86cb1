"""`recspeed pool`: exact sums by RTL and golden model, and what it refuses.

The expected sums are made here in float64, in which the sum of up to 4096 FP16 numbers is exact.
"""

import dataclasses
import os

import numpy as np
import pytest
from support.command_line import CommandLine
from support.trace_samples import sample

from recspeed.models.spec import hashed_contents as content
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.table import place_tables
from recspeed.models.traces.trace import Trace, load_trace, save_trace
from recspeed.scripts.commands import pool
from recspeed.scripts.measurements.cluster_workload import full_table_rows

MEMORY = "hbm2-2000"
ENGINES = ("golden", "rtl")


@pytest.fixture
def recspeed(capsys):
    return CommandLine(capsys)


def hashed_rows(preset, table, seed: int, vectors: np.ndarray) -> np.ndarray:
    """float16[vectors, elements]: what hashed memory holds, as spec.content defines it."""
    bursts = table.bursts(preset)
    bank, w = vectors % preset.banks, vectors // preset.banks
    row, burst = table.base_row + w % table.row_span, w // table.row_span * bursts
    first = ((row * preset.banks + bank) * preset.bursts_per_row + burst) * (
        preset.burst_bytes // 8
    )
    words = first[:, None] + np.arange(-(-table.elements // 4))
    mask = (1 << 64) - 1
    flat = []
    for word in words.reshape(-1).tolist():
        x = (word + seed * content.SEED_FACTOR) * content.FACTOR_1 & mask
        x ^= x >> 32
        x = x * content.FACTOR_2 & mask
        flat.append(x ^ x >> 32)
    elements = np.array(flat, dtype="<u8").view("<u2").reshape(len(vectors), -1)
    elements = np.where(elements & 0x7C00 == 0x7C00, elements & 0xBFFF, elements)
    return elements[:, : table.elements].astype(np.uint16).view(np.float16)


def expected(trace: Trace, rows_of, dtype) -> np.ndarray:
    """float[batch, sum of dims]: every bag's exact sum, rounded once; `rows_of(table, indices)`."""
    columns = np.concatenate([[0], np.cumsum(trace.dims)])
    result = np.zeros((trace.batch, columns[-1]), dtype=np.float64)
    for bag in range(trace.bags):
        table, batch_sample = divmod(bag, trace.batch)
        indices = trace.indices[trace.offsets[bag] : trace.offsets[bag + 1]]
        if len(indices):
            total = rows_of(table, indices).astype(np.float64).sum(axis=0)
            # A sum of zero is +0.0, whatever the signs of what was added.
            result[batch_sample, columns[table] : columns[table + 1]] = total + 0.0
    with np.errstate(over="ignore"):
        return result.astype(dtype)


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16 if array.dtype == np.float16 else np.uint32)


def write_trace(path, **fields) -> Trace:
    trace = Trace(**fields)
    with path.open("wb") as file:
        save_trace(trace, file)
    return trace


def int64(*values):
    return np.array(values, dtype=np.int64)


@pytest.fixture(scope="module")
def mixed() -> Trace:
    """5 tables of 2 to 512 elements with contents, empty bags, equal rows in one bag."""
    generator = np.random.default_rng(11)
    dims, rows, batch = [2, 34, 128, 4, 512], [9, 40, 30, 1, 12], 7
    lengths = generator.integers(0, 12, (5, batch))
    lengths[:, 3] = 0
    lengths[4, 6] = 0
    lengths[3, 0] = 1000
    return Trace(
        indices=np.concatenate(
            [generator.integers(0, rows[t], int(lengths[t].sum())) for t in range(5)]
        ).astype(np.int64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rows=int64(*rows),
        dims=int64(*dims),
        contents={
            t: (generator.standard_normal((rows[t], dims[t])) * 100).astype(np.float16)
            for t in range(5)
        },
    )


@pytest.mark.parametrize("fidelity", ENGINES)
@pytest.mark.parametrize("output", ["fp16", "fp32"])
def test_mixed_tables_are_summed_exactly(mixed, fidelity, output, recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    with path.open("wb") as file:
        save_trace(mixed, file)
    options = ("--engine", fidelity, "--output", output, "--out", out)
    finished = recspeed("pool", "--trace", path, "--memory", MEMORY, *options)
    assert finished.code == 0, finished.err
    with np.load(out) as result:
        pooled = result["pooled"]
        wanted = expected(
            mixed,
            lambda table, indices: mixed.contents[table][indices],
            np.float16 if output == "fp16" else np.float32,
        )
        assert pooled.dtype == wanted.dtype
        assert np.array_equal(bits(pooled), bits(wanted))
        assert result["cycles"] > 0
        assert result["lookups"] == len(mixed.indices)
        idle = sum(int(result[key]) for key in result.files if key.startswith("idle_"))
        assert result["cycles"] == result["data"] + idle
        assert f"{result['cycles']} (" in finished.out


def test_engines_write_equal_files(mixed, recspeed, tmp_path):
    path = tmp_path / "t.npz"
    with path.open("wb") as file:
        save_trace(mixed, file)
    results = []
    for fidelity in ENGINES:
        out = tmp_path / fidelity
        options = ("--engine", fidelity, "--outstanding", 17, "--seed", 3, "--out", out)
        assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
        with np.load(out) as result:
            results.append(dict(result))
    assert results[0].keys() == results[1].keys()
    for key, value in results[0].items():
        assert value.tobytes() == results[1][key].tobytes(), key


@pytest.mark.parametrize("fidelity", ENGINES)
def test_only_empty_bags_give_zeros_and_read_nothing(fidelity, recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(
        path,
        indices=int64(),
        offsets=int64(*[0] * 9),
        rows=int64(5, 6),
        dims=int64(32, 64),
    )
    options = ("--engine", fidelity, "--out", out)
    assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
    with np.load(out) as result:
        assert result["pooled"].shape == (4, 96)
        assert not bits(result["pooled"]).any()
        assert result["reads"] == 0


@pytest.mark.parametrize("fidelity", ENGINES)
def test_last_row_of_a_full_channel(fidelity, recspeed, tmp_path):
    preset = memory_preset(MEMORY)
    rows = full_table_rows(preset, 64)
    assert rows * 64 == preset.capacity.pseudo_channel_mib << 20
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    trace = write_trace(
        path,
        indices=int64(rows - 1, 0, rows - 1),
        offsets=int64(0, 1, 3),
        rows=int64(rows),
        dims=int64(32),
    )
    options = ("--engine", fidelity, "--seed", 9, "--out", out)
    assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
    table = place_tables(preset, [(rows, 64)])[0]
    wanted = expected(trace, lambda _, indices: hashed_rows(preset, table, 9, indices), np.float16)
    with np.load(out) as result:
        assert np.array_equal(bits(result["pooled"]), bits(wanted))


OUT_OF_RANGE = [-1, 10, 2**31 - 1, 2**32 + 1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("fidelity", ENGINES)
@pytest.mark.parametrize("index", OUT_OF_RANGE)
def test_fatal_lookup_is_named(fidelity, index, recspeed, tmp_path):
    # Table 0 has another table right behind it, whose rows must not be read instead.
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(
        path,
        indices=int64(1, 9, 3, 0, index, 2, 4, 5),
        offsets=int64(0, 2, 2, 6, 7, 8, 8),
        rows=int64(10, 1000),
        dims=int64(32, 16),
    )
    pool = ("pool", "--trace", path, "--memory", MEMORY, "--engine", fidelity, "--out", out)
    assert recspeed.refused(*pool, code=1) == (
        f"{path}: lookup 4 (bag 2: table 0, sample 2, position 2): row {index} is out of range; "
        "expected 0 to 9"
    )
    assert os.listdir(tmp_path) == ["t.npz"]


@pytest.mark.parametrize("fidelity", ENGINES)
@pytest.mark.parametrize("policy", ["clamp", "drop"])
def test_lookups_out_of_range_are_clamped_or_dropped(fidelity, policy, recspeed, tmp_path):
    rows = np.arange(20, dtype=np.float16).reshape(10, 2) + 1
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(
        path,
        indices=int64(*OUT_OF_RANGE, 9, -1),
        offsets=int64(0, 7, 8),
        rows=int64(10),
        dims=int64(2),
        contents={0: rows},
    )
    options = ("--engine", fidelity, "--policy", policy, "--out", out)
    assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
    with np.load(out) as result:
        if policy == "clamp":
            assert np.array_equal(result["pooled"], [6 * rows[0] + rows[9], rows[0]])
            assert (result["clamped"], result["dropped"]) == (7, 0)
        else:
            assert np.array_equal(result["pooled"], [rows[9], [0, 0]])
            assert (result["clamped"], result["dropped"]) == (0, 7)


def simple(**changes):
    fields = {
        "indices": int64(0, 1),
        "offsets": int64(0, 1, 2),
        "rows": int64(4, 4),
        "dims": int64(4, 4),
    }
    return fields | changes


REFUSED = {
    "mean": (simple(modes=("sum", "mean")), "modes[1]: 'mean' is not pooled in hardware"),
    "max": (simple(modes=("max", "sum")), "modes[0]: 'max' is not pooled in hardware"),
    "int8": (
        simple(dtypes=("fp16", "int8")),
        "dtypes[1]: 'int8' rows are not read; expected 'fp16'",
    ),
    "weights": (
        simple(weights=np.ones(2, dtype=np.float16)),
        "weights: the pooling engine has no per-sample weights",
    ),
    "some contents": (
        simple(contents={1: np.ones((4, 4), dtype=np.float16)}),
        "table_0: missing, while others carry their rows; expected all tables or none",
    ),
    "65 tables": (
        simple(offsets=int64(*[0] * 65, 2), rows=int64(*[4] * 65), dims=int64(*[4] * 65)),
        "rows: 65 tables; expected at most 64",
    ),
    "a bag of 4096": (
        simple(indices=np.zeros(4097, dtype=np.int64), offsets=int64(0, 1, 4097)),
        "bag 1 (table 1, sample 0): 4096 lookups; expected at most 4095",
    ),
    "tables beyond the channel": (
        simple(rows=int64(1 << 22, 4), dims=int64(32, 32)),
        "table 1: 4 rows of 64 B do not fit hbm2-2000",
    ),
    "row 67,108,864 of 64 B": (
        simple(rows=int64((1 << 26) + 1, 4), dims=int64(32, 32)),
        "table 0: 67108865 rows of 64 B do not fit hbm2-2000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_engine_does_not_do_is_refused(case, recspeed, tmp_path):
    fields, message = REFUSED[case]
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(path, **fields)
    refused = recspeed.refused("pool", "--trace", path, "--memory", MEMORY, "--out", out)
    assert refused.startswith(f"{path}: {message}")
    assert not out.exists()


def test_more_channels_and_bounds_are_refused(recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(path, **simple())
    pool = ("pool", "--trace", path, "--memory", MEMORY, "--out", out)
    one = "one memory channel is modelled; expected 1 and 1"
    assert recspeed.refused(*pool, "--channels", 2) == f"--channels 2 --clusters 1: {one}"
    assert recspeed.refused(*pool, "--clusters", 6) == f"--channels 1 --clusters 6: {one}"
    assert recspeed.refused(*pool, "--engine", "bound") == (
        "--engine bound: a bound pools nothing; expected rtl or golden"
    )


@pytest.mark.parametrize("fidelity", ENGINES)
def test_real_deeprecsys_bags(fidelity, recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    source = sample("deeprecsys_tbl1")
    options = ["--from", "dlrm", "--lookups-per-bag", "80", "--rows", "1000000", "--dim", "32"]
    assert recspeed("trace", "convert", source, *options, "--out", path).code == 0
    options = ("--engine", fidelity, "--output", "fp32", "--seed", 2, "--out", out)
    assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
    trace, preset = load_trace(path), memory_preset(MEMORY)
    table = place_tables(preset, [(1_000_000, 64)])[0]
    wanted = expected(trace, lambda _, indices: hashed_rows(preset, table, 2, indices), np.float32)
    with np.load(out) as result:
        assert result["pooled"].shape == (32, 32)
        assert np.array_equal(bits(result["pooled"]), bits(wanted))


@pytest.mark.parametrize("fidelity", ENGINES)
def test_real_criteo_categories(fidelity, recspeed, tmp_path):
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    source = sample("criteo_sample.tsv")
    options = ("--from", "criteo", "--table", "2,21", "--dim", 16, "--out", path)
    assert recspeed("trace", "convert", source, *options).code == 0
    options = ("--engine", fidelity, "--out", out)
    assert recspeed("pool", "--trace", path, "--memory", MEMORY, *options).code == 0
    trace, preset = load_trace(path), memory_preset(MEMORY)
    tables = place_tables(preset, [(rows, 32) for rows in trace.rows.tolist()])
    wanted = expected(
        trace, lambda table, indices: hashed_rows(preset, tables[table], 0, indices), np.float16
    )
    assert (trace.lengths == 0).any()
    with np.load(out) as result:
        assert result["pooled"].shape == (200, 32)
        assert np.array_equal(bits(result["pooled"]), bits(wanted))


@pytest.mark.parametrize("fault", ["dropped", "twice"])
def test_beats_that_are_missing_or_come_twice_are_noticed(fault, recspeed, tmp_path, monkeypatch):
    original = pool.run_channel

    def faulty(fidelity, run, **named):
        result = original(fidelity, run, **named)
        order = np.arange(len(result.bag))
        order = order[:-1] if fault == "dropped" else np.append(order, 0)
        changed = {name: getattr(result, name)[order] for name in ("bag", "beat", "lanes")}
        return dataclasses.replace(result, **changed)

    monkeypatch.setattr(pool, "run_channel", faulty)
    path, out = tmp_path / "t.npz", tmp_path / "o.npz"
    write_trace(path, **simple())
    message = recspeed.refused("pool", "--trace", path, "--memory", MEMORY, "--out", out, code=1)
    assert message == "4 pooled elements are missing or came twice"
    assert not out.exists()
