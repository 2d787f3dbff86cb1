"""The golden model of the DRAM front-end against the literal oracle, and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from support.cluster_runs import ALL_PRESETS
from support.dram_oracle import LiteralDram, hashed_word
from support.dram_runs import (
    dram_differences,
    preset_of_refreshes_alone,
    random_dram_run,
    random_requests,
)

from recspeed.models.dram.front_end_record import front_end
from recspeed.models.dram.simulation import simulate_dram, simulate_in_lock_step
from recspeed.models.lib.endless_run import EndlessRunError
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.runs.dram import REQUESTS, DramPatterns, DramRun
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import IDLE_CAUSES, Counter

RANDOM_RUNS = 60
NONE = np.zeros(0, dtype=REQUESTS)


def check(run):
    """Compare every field of the golden model's result with the oracle's; return it."""
    result = simulate_dram(run)
    assert dram_differences(result, LiteralDram(run).run_to_end()) == []
    causes = (Counter.DATA, *IDLE_CAUSES)
    assert result.cycles == sum(result.counters[cause] for cause in causes)
    return result


def requests(*entries):
    """REQUESTS of `(bank, row, column, bursts)`."""
    return np.array(list(entries), dtype=REQUESTS)


@pytest.mark.parametrize("seed", range(RANDOM_RUNS))
def test_random_runs_equal_the_oracle(seed):
    print(f"seed {seed}")
    check(random_dram_run(seed))


@pytest.mark.parametrize("name", ALL_PRESETS)
@pytest.mark.parametrize(
    "options",
    [
        {"writes": False, "per_bank": False, "row_hits": False},
        {"writes": False, "per_bank": True, "row_hits": False},
        {"per_bank": False, "row_hits": False},
        {},
    ],
    ids=["reads", "per-bank", "writes", "all"],
)
def test_every_preset_equals_the_oracle(name, options):
    seed = 1000 + ALL_PRESETS.index(name)
    print(f"seed {seed}")
    check(random_dram_run(seed, preset=memory_preset(name), **options))


def test_runs_in_lock_step_equal_runs_alone():
    """Different runs, of which the first ends long before the last."""
    preset = memory_preset("hbm2-2000")
    runs = [random_dram_run(seed, 40 + 60 * seed, preset=preset) for seed in range(7)]
    together = simulate_in_lock_step(runs)
    assert len({result.cycles for result in together}) > 1
    for run, result in zip(runs, together, strict=True):
        assert dram_differences(result, simulate_dram(run)) == []
    counted = simulate_in_lock_step(runs, record_beats=False, record_commands=False)
    assert [result.counters for result in counted] == [result.counters for result in together]
    assert all(len(result.commands) == 0 for result in counted)


def test_records_of_either_size_give_the_same():
    run = replace(random_dram_run(3, preset=memory_preset("hbm2-2000")), queue_depth=16)
    deep = replace(run, queue_depth=64)
    small, large = (front_end(r.preset, r.settings, r.queue_depth) for r in (run, deep))
    assert small.dtype != large.dtype
    assert small.dtype.itemsize < 60_000
    check(deep)


def test_random_runs_meet_every_counter_and_command():
    """The random runs above are worth something only if they reach all that there is."""
    seen, codes, hits = set(), set(), 0
    for seed in range(RANDOM_RUNS):
        run = random_dram_run(seed)
        result = simulate_dram(run)
        seen |= {counter for counter, value in result.counters.items() if value}
        codes |= set(result.commands["command"].tolist())
        hits += len(run.reads) + len(run.writes) > result.counters[Counter.ACTIVATES]
    assert seen == set(result.counters) - {Counter.IDLE_BACK_PRESSURE}
    assert codes == set(CommandCode)
    assert hits > 5


def test_nothing_to_do():
    result = check(DramRun(memory_preset("hbm2-2000"), NONE, NONE))
    assert result.cycles == 0
    assert len(result.commands) == len(result.beats) == len(result.written) == 0


def test_first_read_clock_by_clock():
    preset = memory_preset("hbm2-2000")
    result = check(DramRun(preset, requests((3, 7, 5, 2)), NONE, seed=9))
    # Offered and accepted in 1, in the queue and its ACT decided in 2, on the bus in 3; the first
    # read tRCD = 14 later, the second tCCD_L = 4 after that.
    log = result.commands
    assert log["command"].tolist() == [CommandCode.ACT, CommandCode.RD, CommandCode.RDA]
    assert log["cycle"].tolist() == [3, 17, 21]
    assert log["column"].tolist() == [0, 5, 6]
    # Two beats each, tCL = 20 after the command; done in the clock after the last.
    assert result.beats["cycle"].tolist() == [37, 38, 41, 42]
    assert result.beats["burst"].tolist() == [0, 0, 1, 1]
    assert result.beats["beat"].tolist() == [0, 1, 0, 1]
    assert result.cycles == 43
    word = ((7 * 16 + 3) * 32 + 5) * 4
    assert result.beats["data"].ravel().tolist() == [hashed_word(word + n, 9) for n in range(8)]


def test_first_write_clock_by_clock():
    preset = memory_preset("hbm2-2000")
    result = check(DramRun(preset, NONE, requests((3, 7, 5, 2))))
    # Offered in 1, its four beats taken in 1 to 4, accepted in 4, in the queue in 5. `act_mode` is
    # write from 6 on, the ACT is decided in 6 and on the bus in 7; tRCD_WR = 10, tCCD_L = 4.
    assert result.commands["command"].tolist() == [
        CommandCode.ACT,
        CommandCode.WR,
        CommandCode.WRA,
    ]
    assert result.commands["cycle"].tolist() == [7, 17, 21]
    # Data tCWL = 8 after the command.
    assert result.written["cycle"].tolist() == [21 + 8 + 1]
    assert result.cycles == 31


@pytest.mark.parametrize("name", ["hbm2-2000", "ddr4-3200"])
def test_reads_see_the_writes_before_them(name):
    """All to one row of one bank: reads before, between and after the writes to a burst."""
    preset = memory_preset(name)
    rng = np.random.default_rng(3)
    writes = random_requests(rng, preset, 60, 1, banks=1, rows=1)
    reads = random_requests(rng, preset, 300, 2, banks=1, rows=1)
    writes["column"] %= 8
    reads["column"] %= 7
    settings = FrontEndSettings(turnaround_limit=200)
    result = check(DramRun(preset, reads, writes, settings=settings, seed=5))
    first = result.beats["data"][:, 0].tolist()
    hashed = {hashed_word(2 * n, 6) for n in range(60 * preset.burst_clocks)}
    from_writes = sum(word in hashed for word in first)
    assert 0 < from_writes < len(first)


def activates_before(reads, other, preset):
    """Three reads go to the bank `other`; how many ACTs come before the first one's burst.

    Writes are never overdue: the ring of the write buffer holds back those after the oldest.
    """
    reads["row"], reads["bank"][[200, 750, 760]] = np.arange(len(reads)) // 16, other
    settings = FrontEndSettings(refresh_group=0)
    commands = check(DramRun(preset, reads, NONE, settings=settings)).commands
    is_act = commands["command"] == CommandCode.ACT
    return np.count_nonzero(is_act[: np.argmax((commands["bank"] == other) & ~is_act)])


def test_overdue_in_the_row_slot():
    """Two requests wait at each of 15 banks, one at the last: until 512 others were accepted."""
    reads = np.zeros(1100, dtype=REQUESTS)
    reads["bank"], reads["bursts"] = np.arange(len(reads)) % 15, 1
    preset = memory_preset("hbm2-2000")
    assert 640 < activates_before(reads, 15, preset) < 720


def test_overdue_in_the_column_slot():
    """A stream without a gap to one rank, and the other rank's turn never comes before that."""
    reads = np.zeros(1100, dtype=REQUESTS)
    reads["bank"], reads["bursts"] = np.arange(len(reads)) % 16, 8
    assert 640 < activates_before(reads, 16, memory_preset("ddr4-3200")) < 720


def test_row_hits_save_activates():
    preset = memory_preset("hbm2-2000")
    reads = random_requests(np.random.default_rng(1), preset, 256, 1, banks=4, rows=1)
    for hits, least in ((0, 256), (1, 256), (2, 128), (4, 64), (255, 4)):
        settings = FrontEndSettings(row_hits=hits)
        result = check(DramRun(preset, reads, NONE, settings=settings))
        assert least <= result.counters[Counter.ACTIVATES] <= 256
        if hits > 1:
            assert result.counters[Counter.ACTIVATES] < 256


def test_per_bank_refresh_without_requests_is_pulled_in():
    """Four REFpb ahead of time in the first clocks, then one per interval, bank by bank."""
    preset = memory_preset("hbm2-2000")
    reads = requests((15, 0, 0, 1))
    patterns = DramPatterns(reads=1 << 63)
    run = DramRun(
        preset, np.repeat(reads, 60), NONE, FrontEndSettings(per_bank=True), patterns=patterns
    )
    result = check(run)
    refreshes = result.commands[result.commands["command"] == CommandCode.REFPB]
    assert refreshes["cycle"][:4].tolist() == [1, 9, 17, 25]
    assert (refreshes["cycle"][4:] // preset.per_bank_interval).tolist() == list(
        range(1, len(refreshes) - 3)
    )
    assert sorted(refreshes["bank"][:16].tolist()) == list(range(16))


@pytest.mark.parametrize("name", ["reads", "writes", "write_data"])
@pytest.mark.parametrize("pattern", [1, 1 << 63, 0x5555_5555_5555_5555, 0xFFFF_0000_FFFF_0000])
def test_each_stream_slowed_down(name, pattern):
    rng = np.random.default_rng(4)
    preset = memory_preset("hbm3-6400")
    reads, writes = (random_requests(rng, preset, 60) for _ in range(2))
    check(DramRun(preset, reads, writes, patterns=DramPatterns(**{name: pattern})))


def test_no_clock_between_per_bank_refreshes():
    """A file with such timings is refused; the golden model notices all the same."""
    preset = preset_of_refreshes_alone()
    reads = random_requests(np.random.default_rng(1), preset, 60)
    run = DramRun(preset, reads, NONE, FrontEndSettings(per_bank=True))
    with pytest.raises(
        EndlessRunError, match=r"^the run cannot end: nothing has moved from clock \d+ to clock"
    ):
        simulate_dram(run)


@pytest.mark.parametrize("name", ["reads", "writes", "write_data"])
def test_pattern_without_a_one(name):
    preset = memory_preset("hbm2-2000")
    one = requests((0, 0, 0, 1))
    run = DramRun(preset, one, one, patterns=DramPatterns(**{name: 0}))
    with pytest.raises(EndlessRunError, match=rf"^the run cannot end: the pattern of {name} has"):
        simulate_dram(run)
    empty = replace(run, **{"reads" if name == "reads" else "writes": NONE})
    simulate_dram(empty)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reads": requests((16, 0, 0, 1))}, "read 0: bank 16; expected 0 to 15"),
        ({"reads": requests((-1, 0, 0, 1))}, "read 0: bank -1; expected 0 to 15"),
        (
            {"writes": requests((0, 0, 0, 1), (0, 16384, 0, 1))},
            "write 1: row 16384; expected 0 to 16383",
        ),
        ({"reads": requests((0, 0, 32, 1))}, "read 0: column 32; expected 0 to 31"),
        ({"reads": requests((0, 0, 0, 0))}, "read 0: bursts 0; expected 1 to 32"),
        ({"reads": requests((0, 0, 0, 33))}, "read 0: bursts 33; expected 1 to 32"),
        (
            {"writes": requests((0, 0, 31, 2))},
            "write 0: 2 bursts from 31 on leave the DRAM row of 32",
        ),
        ({"queue_depth": 0}, "queues of 0 requests; expected 1 to 64"),
        ({"queue_depth": 65}, "queues of 65 requests; expected 1 to 64"),
        ({"patterns": DramPatterns(writes=1 << 64)}, "pattern of writes: 0x1"),
    ],
)
def test_refused(change, message):
    run = replace(DramRun(memory_preset("hbm2-2000"), NONE, NONE), **change)
    with pytest.raises(ValueError, match="^" + message):
        simulate_dram(run)


def test_per_bank_refresh_where_there_is_none():
    with pytest.raises(ValueError, match=r"^ddr4-3200 has no per-bank refresh$"):
        DramRun(memory_preset("ddr4-3200"), NONE, NONE, FrontEndSettings(per_bank=True))


def test_without_beats_all_else_is_the_same():
    run = random_dram_run(7)
    assert dram_differences(simulate_dram(run), simulate_dram(run, record_beats=False)) == ["beats"]


def test_comparison_catches_any_single_change():
    run = random_dram_run(7)
    result = simulate_dram(run)
    assert dram_differences(result, replace(result)) == []
    assert min(len(result.commands), len(result.beats), len(result.written)) > 0
    for name in ("commands", "beats", "written"):
        array = getattr(result, name)
        for field in array.dtype.names:
            for place in (0, len(array) // 2, len(array) - 1):
                wrong = array.copy()
                wrong[field][place] ^= 1
                assert dram_differences(result, replace(result, **{name: wrong})) == [name]
        assert dram_differences(result, replace(result, **{name: array[:-1]})) == [name]
    for counter, value in result.counters.items():
        wrong = {**result.counters, counter: value + 1}
        assert dram_differences(result, replace(result, counters=wrong)) == [counter.name]
