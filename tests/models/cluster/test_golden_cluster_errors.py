"""Runs that the golden model refuses, runs that cannot end, and what a caller may pass besides."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.cluster_runs import differences, preset_with, random_run, uniform_run

from recspeed.models.cluster import clock_loop as cluster_loop
from recspeed.models.cluster import simulation as channel
from recspeed.models.cluster.simulation import EndlessRunError, simulate_cluster
from recspeed.models.dram import clock_loop as dram_loop
from recspeed.models.dram.front_end_record import MAXIMUM_WHEEL
from recspeed.models.lib.compilation import MODELS, sources_fingerprint
from recspeed.models.runs.cluster import ClusterPatterns
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import Table

PRESET = memory_preset("hbm2-2000")
RUN = uniform_run(PRESET, 64, 400)


@pytest.mark.parametrize("name", ["bags", "indices", "pooled"])
def test_pattern_without_a_one(name):
    with pytest.raises(EndlessRunError, match=rf"^the run cannot end: the pattern of {name} has"):
        simulate_cluster(replace(RUN, patterns=ClusterPatterns(**{name: 0})))


def test_pattern_of_indices_does_not_matter_without_indices():
    none = np.zeros(0, dtype=np.int64)
    run = replace(RUN, bag_lengths=np.zeros(5, dtype=np.int64), indices=none)
    assert (
        simulate_cluster(replace(run, patterns=ClusterPatterns(indices=0))).counters[
            Counter.LOOKUPS
        ]
        == 0
    )


@pytest.mark.parametrize("pattern", [-1, 1 << 64])
def test_pattern_of_other_than_64_bits(pattern):
    with pytest.raises(ValueError, match=r"^pattern of pooled: .* exceeds 64 bits$"):
        simulate_cluster(replace(RUN, patterns=ClusterPatterns(pooled=pattern)))


def test_refresh_that_leaves_no_clock():
    """The drain before the first group is never made up for, so that no ACT comes again."""
    preset = preset_with("all-refresh", tREFI=350)
    run = uniform_run(preset, 64, 400, refresh_group=8)
    with pytest.raises(
        EndlessRunError,
        match=r"^the run cannot end: nothing has moved from clock 3\d\d to clock \d+$",
    ):
        simulate_cluster(run)


def test_refresh_that_leaves_few_clocks():
    """Drains longer than the slack of a group: a debt of refreshes builds up, and is paid."""
    preset = preset_with("much-refresh", tREFI=360)
    result = simulate_cluster(uniform_run(preset, 64, 4000, refresh_group=1))
    assert result.counters[Counter.LOOKUPS] == 4000
    assert result.counters[Counter.REFRESHES] * 350 > 0.9 * result.cycles


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"bag_lengths": np.array([4096, 0, 0, 0, 0]), "indices": np.zeros(4096, np.int64)},
            "a bag of 4096 lookups; expected 0 to 4095",
        ),
        (
            {"bag_lengths": np.array([-1, 401, 0, 0, 0])},
            "a bag of -1 lookups; expected 0 to 4095",
        ),
        ({"bag_tables": np.array([0, 0, 1, 0, 0])}, "bag 2 names table 1; expected 0 to 0"),
        ({"bag_tables": np.array([0, 0, 0, -1, 0])}, "bag 3 names table -1; expected 0 to 0"),
        ({"tables": ()}, "bag 0 names table 0, and the run has none"),
        (
            {"parameters": ClusterParameters(tables=1), "tables": RUN.tables * 2},
            "2 tables; expected at most 1",
        ),
        (
            {
                "parameters": ClusterParameters(maximum_outstanding=32),
                "settings": ClusterSettings(outstanding=33),
            },
            "33 bursts outstanding; expected at most 32",
        ),
        (
            {"tables": (Table(rows=1000, bytes=64, base_row=16384, row_span=1),)},
            "table 0: 1000 rows of 64 B do not fit hbm2-2000 over 1 DRAM rows from row 16384 on",
        ),
        (
            {"tables": (Table(rows=257, bytes=64, base_row=0, row_span=1),)},
            "table 0: 257 rows of 64 B do not fit hbm2-2000 over 1 DRAM rows from row 0 on",
        ),
        ({"contents": ()}, "contents of 0 tables; expected 1"),
        (
            {"contents": (np.zeros((5, 32), np.uint16),)},
            f"contents of table 0: expected uint16 of shape ({RUN.tables[0].rows}, 32)",
        ),
    ],
)
def test_refused(change, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the whole text is compared
        simulate_cluster(replace(RUN, **change))
    assert str(caught.value) == message


def test_table_that_just_fits():
    table = Table(rows=256, bytes=64, base_row=16383, row_span=1)
    run = replace(RUN, tables=(table,), indices=RUN.indices % 256)
    assert simulate_cluster(run).commands["row"].max() == 16383


def test_timing_beyond_the_model():
    preset = preset_with("slow", tRTP=MAXIMUM_WHEEL)
    with pytest.raises(
        ValueError, match=r"^slow: a timing of 4110 clocks; expected fewer than 4096"
    ):
        simulate_cluster(uniform_run(preset, 64, 80))


def test_commands_are_left_out_on_demand():
    whole, bare = simulate_cluster(RUN), simulate_cluster(RUN, record_commands=False)
    assert len(bare.commands) == 0
    assert bare.commands.dtype == whole.commands.dtype
    assert differences(whole, bare) == ["commands"]


def test_other_integer_types_and_views_are_taken():
    run = random_run(2)
    spread = np.zeros(2 * len(run.indices), dtype=np.int64)
    spread[::2] = run.indices
    other = replace(
        run,
        bag_tables=run.bag_tables.astype(np.int8),
        bag_lengths=run.bag_lengths.astype(np.uint16),
        indices=spread[::2],
    )
    assert differences(simulate_cluster(run), simulate_cluster(other)) == []


def test_run_of_many_chunks_of_clocks():
    """A long run is split in chunks of clocks: its log stays sorted, whole and without a gap."""
    result = simulate_cluster(uniform_run(PRESET, 64, 50_000))
    counters = result.counters
    assert result.cycles > 3 << 16
    assert len(result.commands) == (
        counters[Counter.ACTIVATES] + counters[Counter.READS] + counters[Counter.REFRESHES]
    )
    assert (np.diff(result.commands["cycle"]) >= 0).all()
    assert counters[Counter.ACTIVATES] == 50_000
    assert counters[Counter.READS] == 100_000


def test_size_of_chunks_does_not_matter(monkeypatch):
    """Chunks of 64 clocks, and a log with so many refreshes that it has to grow."""
    run = uniform_run(preset_with("much-refresh", tREFI=360), 64, 2000, refresh_group=1)
    whole = simulate_cluster(run)
    monkeypatch.setattr(channel, "CHUNK_CLOCKS", 64)
    assert whole.counters[Counter.REFRESHES] > 4 * 64
    assert differences(whole, simulate_cluster(run)) == []


def test_fingerprint_covers_the_folders_that_are_named_and_no_other(tmp_path):
    def fingerprint():
        sources_fingerprint.cache_clear()
        return sources_fingerprint("used", "lib", root=tmp_path)

    for name in ("used/inner/two.py", "lib/one.py", "other/three.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("a = 1\n")
    first = fingerprint()
    (tmp_path / "other/three.py").write_text("a = 2\n")
    (tmp_path / "used/text.md").write_text("no source\n")
    assert fingerprint() == first
    (tmp_path / "used/inner/two.py").write_text("a = 2\n")
    second = fingerprint()
    (tmp_path / "used/inner/two.py").rename(tmp_path / "used/inner/three.py")
    third = fingerprint()
    (tmp_path / "lib/one.py").write_text("a = 2\n")
    assert len({first, second, third, fingerprint()}) == 4


def test_fingerprint_of_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"^nowhere: expected a folder of "):
        sources_fingerprint("nowhere", root=tmp_path)


def test_kernels_name_every_folder_that_they_have_code_from():
    """No module of a folder that a kernel names imports models from a folder that it leaves out."""
    kernels = (
        (dram_loop.USED, "dram"),
        (cluster_loop.USED, "cluster"),
    )
    for used, folder in kernels:
        for path in (MODELS / folder).rglob("*.py"):
            imported = re.findall(r"^from recspeed\.models\.(\w+)", path.read_text(), re.MULTILINE)
            assert set(imported) <= set(used), path
