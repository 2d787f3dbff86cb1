"""The scoreboard: every injected difference is reported, with what and where."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.command_log import CommandCode
from recspeed.models.spec.cluster import ClusterSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter
from recspeed.models.spec.table import place_tables
from recspeed.tb.checkers.scoreboard import Difference, compare

BAGS = 60


@cache
def result() -> ClusterResult:
    """A golden result: 60 bags of 2 lookups of 68 B each, 300 beats."""
    preset = memory_preset("hbm2-2000")
    indices = np.random.default_rng(3).integers(0, 5000, 2 * BAGS)
    return simulate_cluster(
        ClusterRun(
            preset=preset,
            tables=place_tables(preset, [(5000, 68)]),
            bag_tables=np.zeros(BAGS, dtype=np.int64),
            bag_lengths=np.full(BAGS, 2, dtype=np.int64),
            indices=indices,
            settings=ClusterSettings(output="fp32"),
        )
    )


def hexadecimal(lanes: np.ndarray) -> str:
    return "[" + " ".join(f"{lane:08x}" for lane in lanes.tolist()) + "]"


def text(command: np.void) -> str:
    cycle, row, column, bank, code = command.tolist()
    name = CommandCode(code).name
    return f"{name} bank {bank} row {row} column {column} in clock {cycle}"


def test_equal_results_have_no_difference():
    golden = result()
    copied = {
        name: getattr(golden, name).copy()
        for name in ("bag", "beat", "lanes", "transfer_cycle", "commands")
    }
    assert compare(replace(golden, **copied), golden) == []
    assert len(golden.bag) == 5 * BAGS
    assert len(golden.commands) > 300


def flips(entries: int, bits: int) -> Iterator[tuple[int, int]]:
    """`(entry, bit)`: every bit of one entry, and one bit of every entry, each bit in its turn."""
    yield from ((entries // 3, bit) for bit in range(bits))
    yield from ((entry, entry * 7 % bits) for entry in range(entries))


def test_every_single_bit_of_the_lanes():
    """Flips bits of lanes: each time one difference, with its place."""
    golden = result()
    beats, lanes = golden.lanes.shape
    changed = golden.lanes.copy()
    rtl = replace(golden, lanes=changed)
    for beat, place in flips(beats, lanes * 32):
        lane, bit = divmod(place, 32)
        changed[beat, lane] ^= np.uint32(1 << bit)
        (found,) = compare(rtl, golden, commands=False)
        assert (found.field, found.where) == ("pooled lanes of transfer", f"at entry {beat}")
        changed[beat, lane] ^= np.uint32(1 << bit)
    assert compare(rtl, golden) == []


def test_the_text_of_a_flipped_bit():
    golden = result()
    changed = golden.lanes.copy()
    changed[17, 5] ^= np.uint32(1 << 31)
    (found,) = compare(replace(golden, lanes=changed), golden)
    assert str(found) == (
        f"pooled lanes of transfer at entry 17: RTL {hexadecimal(changed[17])}, "
        f"golden {hexadecimal(golden.lanes[17])}"
    )


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("bag", "bag number of transfer"),
        ("beat", "beat number of transfer"),
        ("transfer_cycle", "clock of transfer"),
    ],
)
def test_every_single_bit_of_the_transfers(name, title):
    golden = result()
    changed = getattr(golden, name).copy()
    rtl = replace(golden, **{name: changed})
    for entry, bit in flips(len(changed), 63):
        changed[entry] ^= 1 << bit
        (found,) = compare(rtl, golden, commands=False)
        assert str(found) == (
            f"{title} at entry {entry}: RTL {changed[entry]}, golden {getattr(golden, name)[entry]}"
        )
        changed[entry] ^= 1 << bit


def test_every_single_bit_of_the_commands():
    """Bits of cycle, row, column, bank and command code of the log."""
    golden = result()
    changed = golden.commands.copy()
    raw = changed.view(np.uint8).reshape(len(changed), -1)
    rtl = replace(golden, commands=changed)
    for entry, flipped in flips(len(changed), 8 * raw.shape[1]):
        place, bit = divmod(flipped, 8)
        raw[entry, place] ^= np.uint8(1 << bit)
        if changed["command"][entry] < len(CommandCode):
            (found,) = compare(rtl, golden)
            assert str(found) == (
                f"command at entry {entry}: RTL {text(changed[entry])}, "
                f"golden {text(golden.commands[entry])}"
            )
        raw[entry, place] ^= np.uint8(1 << bit)
    assert compare(rtl, golden) == []


def test_an_unknown_command_code_is_reported_too():
    golden = result()
    changed = golden.commands.copy()
    changed["command"][4] = 77
    (found,) = compare(replace(golden, commands=changed), golden)
    assert found.where == "at entry 4"
    assert found.rtl.startswith("command 77 bank ")


@pytest.mark.parametrize("counter", list(Counter), ids=lambda counter: counter.name)
def test_every_counter(counter):
    golden = result()
    for change in (1, -1, 1 << 40):
        altered = {**golden.counters, counter: golden.counters[counter] + change}
        (found,) = compare(replace(golden, counters=altered), golden)
        assert str(found) == (
            f"counter {counter.name}: RTL {altered[counter]}, golden {golden.counters[counter]}"
        )
    missing = {name: value for name, value in golden.counters.items() if name != counter}
    assert compare(replace(golden, counters=missing), golden) == [
        Difference("counter", counter.name, "None", str(golden.counters[counter]))
    ]


def rearranged(entries: np.ndarray) -> ClusterResult:
    """The golden result with its transfers in another order, number or multiplicity."""
    golden = result()
    return replace(
        golden,
        bag=golden.bag[entries],
        beat=golden.beat[entries],
        lanes=golden.lanes[entries],
        transfer_cycle=golden.transfer_cycle[entries],
    )


@pytest.mark.parametrize("bag", range(BAGS))
def test_a_dropped_a_doubled_and_a_swapped_bag(bag):
    golden = result()
    places = np.arange(len(golden.bag))
    own = np.flatnonzero(golden.bag == bag)
    other = np.flatnonzero(golden.bag == (bag + 1) % BAGS)

    dropped = compare(rearranged(np.delete(places, own)), golden)
    assert {difference.field for difference in dropped} >= {"bag number of transfer"}
    doubled = compare(rearranged(np.insert(places, own[-1] + 1, own)), golden)
    assert {difference.field for difference in doubled} >= {"bag number of transfer"}

    swapped = places.copy()
    swapped[own], swapped[other] = other, own
    lanes_only = replace(golden, lanes=golden.lanes[swapped])
    first = min(own[0], other[0])
    (found,) = compare(lanes_only, golden)
    assert found == Difference(
        "pooled lanes of transfer",
        f"at entry {first}",
        hexadecimal(golden.lanes[swapped[first]]),
        hexadecimal(golden.lanes[first]),
    )


def test_a_missing_end_is_reported_as_a_length():
    golden = result()
    count = len(golden.bag)
    found = compare(rearranged(np.arange(count - 1)), golden)
    assert [str(difference) for difference in found] == [
        f"{field} in length: RTL {count - 1}, golden {count}"
        for field in (
            "bag number of transfer",
            "beat number of transfer",
            "pooled lanes of transfer",
            "clock of transfer",
        )
    ]


def test_every_transfer_shifted_by_one_clock():
    golden = result()
    for entry in range(len(golden.bag)):
        for shift in (-1, 1):
            changed = golden.transfer_cycle.copy()
            changed[entry] += shift
            (found,) = compare(replace(golden, transfer_cycle=changed), golden)
            assert str(found) == (
                f"clock of transfer at entry {entry}: RTL {changed[entry]}, "
                f"golden {golden.transfer_cycle[entry]}"
            )


def test_every_dropped_command():
    golden = result()
    for entry in range(len(golden.commands)):
        rtl = replace(golden, commands=np.delete(golden.commands, entry))
        (found,) = compare(rtl, golden)
        last = entry == len(golden.commands) - 1
        assert found.field == "command"
        assert found.where == ("in length" if last else f"at entry {entry}")
        assert compare(rtl, golden, commands=False) == []
