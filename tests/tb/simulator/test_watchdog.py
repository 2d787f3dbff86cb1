"""Runs that do not end: by the limit of clocks in the simulator, with one line that says so."""

from dataclasses import dataclass

import numpy as np
import pytest

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterPatterns, ClusterRun
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.table import place_tables
from recspeed.tb.checkers.scoreboard import compare
from recspeed.tb.cluster.simulation import cycle_limit, simulate_clusters
from recspeed.tb.regression.batch import run_batch
from recspeed.tb.regression.case import Build, Case
from recspeed.tb.regression.cluster_cases import CHANNEL, ChannelDesign
from recspeed.tb.simulator.simulation import ChannelError

PRESET = memory_preset("hbm2-2000")


def short_run(**given) -> ClusterRun:
    """Two bags of two lookups."""
    return ClusterRun(
        preset=PRESET,
        tables=place_tables(PRESET, [(100, 64)]),
        bag_tables=np.zeros(2, dtype=np.int64),
        bag_lengths=np.full(2, 2, dtype=np.int64),
        indices=np.arange(4),
        **given,
    )


@pytest.mark.parametrize("stalled", ["bags", "indices", "pooled"])
def test_a_run_that_never_ends_is_one_line(stalled):
    """Runs before it keep their results."""
    endless = short_run(patterns=ClusterPatterns(**{stalled: 0}))
    finished = []
    with pytest.raises(ChannelError) as caught:
        simulate_clusters(
            [short_run(), endless, short_run()],
            on_result=lambda number, result: finished.append((number, result)),
        )
    assert str(caught.value) == (
        f"the run was not done after {cycle_limit(endless)} clocks: stopped by the watchdog"
    )
    assert [number for number, _ in finished] == [0]
    assert compare(finished[0][1], simulate_cluster(short_run())) == []


def test_the_regression_goes_on_after_it():
    build = Build("watched", CHANNEL, ChannelDesign(PRESET))

    @dataclass(frozen=True)
    class Given(Case):
        """A case with a run of its own."""

        title: str = ""
        run: ClusterRun | None = None

        @property
        def name(self) -> str:
            return self.title

        def make(self) -> ClusterRun:
            return self.run

    endless = Given(build, title="endless", run=short_run(patterns=ClusterPatterns(pooled=0)))
    first = Given(build, title="first", run=short_run())
    cases = [first, endless, Given(build, title="behind it", run=short_run())]
    verdicts = run_batch(cases)
    assert [verdict.name for verdict in verdicts] == ["first", "endless", "behind it"]
    assert verdicts[0].passed
    for verdict in verdicts[1:]:
        (fault,) = verdict.faults
        assert fault.endswith("clocks: stopped by the watchdog")


def test_no_pattern_with_a_one_reaches_the_limit():
    """The slowest lawful peers: one clock in 64, for large vectors, of empty bags too."""
    tables = place_tables(PRESET, [(100, 1024)])
    for length in (0, 1):
        run = ClusterRun(
            preset=PRESET,
            tables=tables,
            bag_tables=np.zeros(400, dtype=np.int64),
            bag_lengths=np.full(400, length, dtype=np.int64),
            indices=np.zeros(400 * length, dtype=np.int64),
            patterns=ClusterPatterns(bags=1, indices=1 << 63, pooled=1 << 31),
        )
        assert simulate_cluster(run, record_commands=False).cycles < cycle_limit(run)
