"""The golden model against the literal oracle: every command, transfer, counter and result bit."""

from dataclasses import replace

import numpy as np
import pytest
from support.cluster_oracle import LiteralChannel
from support.cluster_runs import differences, preset_with, random_run, uniform_run

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterPatterns, ClusterRun
from recspeed.models.runs.command_log import COMMAND_LOG
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter
from recspeed.models.spec.table import Policy, place_tables

RANDOM_RUNS = (*range(16), 34)
"""Seeds; the last one has a fatal lookup. The regression takes more."""
MORE_RUNS = tuple(seed for seed in range(48) if seed not in RANDOM_RUNS)
LOOKUPS = 160


def check(run):
    """Compare every field of the golden model's result with the oracle's; return it."""
    result = simulate_cluster(run)
    assert differences(result, LiteralChannel(run).run_to_end()) == []
    counters = result.counters
    causes = (Counter.DATA, *IDLE_CAUSES)
    assert counters[Counter.CYCLES] == sum(counters[cause] for cause in causes)
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [*RANDOM_RUNS, *(pytest.param(seed, marks=pytest.mark.regression) for seed in MORE_RUNS)],
)
def test_random_runs_equal_the_oracle(seed):
    print(f"seed {seed}")
    check(random_run(seed, lookups=LOOKUPS))


def test_random_runs_meet_every_cause_and_policy():
    """The random runs above are worth something only if they reach every counter."""
    seen = set()
    for seed in RANDOM_RUNS:
        counters = simulate_cluster(random_run(seed, lookups=LOOKUPS)).counters
        seen |= {counter for counter, value in counters.items() if value}
    assert seen == set(Counter) - {Counter.WRITES}


def table_run(sizes, bags, *, policy=Policy.FATAL, patterns=None, preset="hbm2-2000", **options):
    """A run of hashed content: tables of 1000 rows of `sizes` B, `bags` of (table, row numbers)."""
    device = memory_preset(preset)
    return ClusterRun(
        preset=device,
        tables=place_tables(device, [(1000, size) for size in sizes], policy),
        bag_tables=np.array([table for table, _ in bags], dtype=np.int64),
        bag_lengths=np.array([len(rows) for _, rows in bags], dtype=np.int64),
        indices=np.array([row for _, rows in bags for row in rows], dtype=np.int64),
        patterns=patterns or ClusterPatterns(),
        settings=ClusterSettings(**options),
    )


def test_no_bags():
    result = check(table_run([64], []))
    assert result.cycles == 0
    assert len(result.lanes) == len(result.commands) == 0


def test_only_empty_bags():
    result = check(table_run([64, 4, 1024], [(n % 3, []) for n in range(30)]))
    assert len(result.lanes) == 10 * (4 + 1 + 64)
    assert not result.lanes.any()
    assert len(result.commands) == 0


def test_first_lookup_to_last_beat():
    """One lookup of one beat, clock by clock as the page has it."""
    run = table_run([16], [(0, [5])], refresh_group=0)
    result = check(run)
    # Bag offered and taken in 1; index offered in 1, taken in 2; in A in 3, in B and accepted in 4;
    # in the queue and its ACT decided in 5, on the bus in 6; the read tRCD = 14 later.
    assert result.commands["cycle"].tolist() == [6, 20]
    # Beats in 20 + tCL and one later, complete two after that and read out then; offered two later.
    assert result.transfer_cycle.tolist() == [20 + 20 + 1 + 2 + 2]
    assert result.cycles == 46


@pytest.mark.parametrize("preset", ["hbm2-2000", "hbm2e-3000"])
@pytest.mark.parametrize("size", [4, 8, 12, 16, 28, 32, 36, 60, 64, 68, 100, 500, 1000, 1020, 1024])
def test_every_kind_of_size(size, preset):
    rng = np.random.default_rng(size)
    bags = [(0, rng.integers(0, 1000, n).tolist()) for n in (3, 0, 1, 40, 0, 7)]
    check(table_run([size], bags, preset=preset, output="fp32", outstanding=1 + size % 7 * 32))


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_fatal_lookup_ends_the_run(place):
    rows = list(range(20))
    rows[{"first": 0, "middle": 9, "last": 19}[place]] = 1000
    result = check(table_run([64], [(0, [1, 2]), (0, []), (0, rows), (0, [3])]))
    position = rows.index(1000)
    assert result.counters[Counter.ERROR] == 1
    assert result.counters[Counter.ERROR_BAG] == 2
    assert result.counters[Counter.ERROR_POSITION] == position
    assert result.counters[Counter.ERROR_INDEX] == 1000
    assert result.counters[Counter.LOOKUPS] == 2 + position + 1
    assert result.bag.max() == 2


@pytest.mark.parametrize("index", [-1, 1000, 2**31 - 1, 2**32 + 1, -(2**63), 2**63 - 1])
def test_index_outside_by_every_policy(index):
    bags = [(1, [1, index, 999]), (0, [index]), (1, [index, index])]
    clamped = check(table_run([64, 68], bags, policy=Policy.CLAMP))
    assert clamped.counters[Counter.CLAMPED] == 4
    dropped = check(table_run([64, 68], bags, policy=Policy.DROP))
    assert dropped.counters[Counter.DROPPED] == 4
    assert not dropped.lanes[dropped.bag > 0].any()
    fatal = check(table_run([64, 68], bags))
    assert fatal.counters[Counter.ERROR_INDEX] == index % 2**64


def test_one_bag_at_a_time_and_the_largest_bag():
    rng = np.random.default_rng(3)
    check(table_run([32], [(0, rng.integers(0, 1000, 4095).tolist()), (0, [1])]))


def test_one_row_a_thousand_times():
    result = check(table_run([64], [(0, [7] * 1000)]))
    # One bank, so that each visit waits for the one before.
    assert result.cycles > 1000 * 47
    assert result.counters[Counter.IDLE_BANK_BUSY] > 900 * 40


@pytest.mark.parametrize("name", ["bags", "indices", "pooled"])
@pytest.mark.parametrize("pattern", [1, 1 << 63, 0x5555_5555_5555_5555, 0xFFFF_0000_FFFF_0000])
def test_each_stream_slowed_down(name, pattern):
    rng = np.random.default_rng(4)
    bags = [(n % 2, rng.integers(0, 1000, n % 5).tolist()) for n in range(40)]
    check(table_run([64, 300], bags, patterns=ClusterPatterns(**{name: pattern})))


@pytest.mark.parametrize("group", range(9))
def test_refresh_groups(group):
    rng = np.random.default_rng(5)
    bags = [(0, rng.integers(0, 1000, 80).tolist()) for _ in range(20)]
    result = check(table_run([64], bags, refresh_group=group))
    assert result.counters[Counter.REFRESHES] == group  # between tREFI and twice that


def test_all_64_table_descriptors():
    rng = np.random.default_rng(6)
    sizes = [4 * int(size) for size in rng.integers(1, 257, 64)]
    bags = [(table, rng.integers(0, 1000, 3).tolist()) for table in rng.permutation(64).tolist()]
    check(table_run(sizes, bags))


def test_debt_of_refreshes():
    """Drains longer than the slack of an interval: a refresh falls due before the last ends."""
    check(uniform_run(preset_with("much-refresh", tREFI=360), 64, 60, refresh_group=1))


def altered(result, name, place, change):
    """`result` with one element of one array changed, or with one counter changed."""
    if name == "counters":
        counters = {**result.counters, place: result.counters[place] + change}
        return replace(result, counters=counters)
    array = getattr(result, name).copy()
    array[place] = change(array[place])
    return replace(result, **{name: array})


def test_comparison_catches_any_single_change():
    result = simulate_cluster(random_run(1))
    assert differences(result, replace(result)) == []
    beats, commands = len(result.lanes), len(result.commands)
    for bit in range(32):
        for beat in (0, beats // 2, beats - 1):
            wrong = altered(result, "lanes", (beat, bit % 8), lambda x, bit=bit: x ^ (1 << bit))
            assert differences(result, wrong) == ["lanes"]
    for name in ("bag", "beat", "transfer_cycle"):
        wrong = altered(result, name, beats - 1, lambda x: x + 1)
        assert differences(result, wrong) == [name]
    for field in COMMAND_LOG.names:
        log = result.commands.copy()
        log[field][commands - 1] += 1
        assert differences(result, replace(result, commands=log)) == ["commands"]
    for counter in Counter:
        wrong = altered(result, "counters", counter, 1)
        assert differences(result, wrong) == [counter.name]
    assert differences(result, replace(result, commands=result.commands[:-1])) == ["commands"]
