"""The scoreboard of a front-end alone: every injected difference is named, with its place."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.command_log import COMMAND_LOG, CommandCode
from recspeed.models.runs.dram import BEATS, WRITTEN, DramResult
from recspeed.models.spec.front_end import FrontEndSettings
from recspeed.models.spec.memory import memory_preset
from recspeed.models.spec.register_map import Counter
from recspeed.scripts.measurements.dram_workload import random_run
from recspeed.tb.checkers.scoreboard import Difference, compare_dram

ARRAYS = {"commands": "command", "beats": "beat", "written": "completed write"}
"""Field of a result: what the scoreboard calls it."""


@cache
def result() -> DramResult:
    """A golden result: 24 reads and 24 writes of two bursts, with row hits."""
    return simulate_dram(
        random_run(
            memory_preset("hbm2-2000"),
            64,
            48,
            settings=FrontEndSettings(row_hits=4),
            writes=0.5,
            hit_rate=0.5,
            seed=2,
        )
    )


def copied(**changes) -> DramResult:
    """The golden result in arrays of its own, or in those that are given."""
    own = {name: getattr(result(), name).copy() for name in ARRAYS}
    return replace(result(), **(own | {"counters": dict(result().counters)} | changes))


def text(name: str, entry: np.void) -> str:
    """A difference's value: commands in words, the others as they are."""
    if name != "commands":
        return str(entry)
    cycle, row, column, bank, code = entry.tolist()
    return f"{CommandCode(code).name} bank {bank} row {row} column {column} in clock {cycle}"


def test_the_result_has_what_the_tests_need():
    golden = result()
    assert {field.name for field in fields(DramResult)} == {*ARRAYS, "counters"}
    assert golden.commands.dtype == COMMAND_LOG
    assert golden.beats.dtype == BEATS
    assert golden.written.dtype == WRITTEN
    assert len(golden.beats) == 24 * 2 * 2
    assert len(golden.written) == 24
    assert set(golden.commands["command"]) >= {
        CommandCode.ACT,
        CommandCode.RD,
        CommandCode.RDA,
        CommandCode.WR,
        CommandCode.WRA,
    }


def test_equal_results_have_no_difference():
    assert compare_dram(copied(), result()) == []


@pytest.mark.parametrize("name", ARRAYS)
def test_every_single_bit_and_every_entry(name):
    """Every bit of one entry, and one bit of every entry, each bit of it in its turn.

    Each is one difference, with its place and both values.
    """
    golden = getattr(result(), name)
    changed = golden.copy()
    rtl = copied(**{name: changed})
    raw = changed.view(np.uint8).reshape(len(changed), -1)
    whole = golden.view(np.uint8).reshape(len(golden), -1)
    bits = 8 * raw.shape[1]
    flips = [(len(changed) // 3, bit) for bit in range(bits)]
    flips += [(entry, 7 * entry % bits) for entry in range(len(changed))]
    for entry, flipped in flips:
        place, bit = divmod(flipped, 8)
        raw[entry, place] ^= np.uint8(1 << bit)
        # A code that is no command has a test of its own.
        if name != "commands" or changed["command"][entry] < len(CommandCode):
            (found,) = compare_dram(rtl, result())
            assert found == Difference(
                ARRAYS[name],
                f"at entry {entry}",
                text(name, changed[entry]),
                text(name, golden[entry]),
            )
        raw[entry, place] ^= np.uint8(1 << bit)
    assert np.array_equal(raw, whole)
    assert compare_dram(rtl, result()) == []


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (name, field)
        for name, dtype in (("commands", COMMAND_LOG), ("beats", BEATS), ("written", WRITTEN))
        for field in dtype.names or ()
    ],
)
def test_each_field_wrong_once_is_named(name, field):
    golden = getattr(result(), name)
    for entry in (0, len(golden) // 2, len(golden) - 1):
        changed = golden.copy()
        values = changed[field]
        if values.ndim > 1:
            values[entry, -1] ^= np.uint64(1 << 63)
        elif field == "command":
            values[entry] = (int(values[entry]) + 1) % len(CommandCode)
        else:
            values[entry] += 1
        (found,) = compare_dram(copied(**{name: changed}), result())
        assert str(found) == (
            f"{ARRAYS[name]} at entry {entry}: RTL {text(name, changed[entry])}, "
            f"golden {text(name, golden[entry])}"
        )


def test_an_unknown_command_code_is_reported_too():
    changed = result().commands.copy()
    changed["command"][4] = 77
    (found,) = compare_dram(copied(commands=changed), result())
    assert (found.field, found.where) == ("command", "at entry 4")
    assert found.rtl.startswith("command 77 bank ")


@pytest.mark.parametrize("name", ARRAYS)
def test_dropped_doubled_and_swapped_entries(name):
    golden = getattr(result(), name)
    last = len(golden) - 1
    for entry in range(len(golden)):
        (dropped,) = compare_dram(copied(**{name: np.delete(golden, entry)}), result())
        assert dropped.field == ARRAYS[name]
        assert dropped.where == ("in length" if entry == last else f"at entry {entry}")
        doubled = np.insert(golden, entry, golden[entry])
        (twice,) = compare_dram(copied(**{name: doubled}), result())
        assert twice.where == ("in length" if entry == last else f"at entry {entry + 1}")
        if entry < last:
            swapped = golden.copy()
            swapped[[entry, entry + 1]] = golden[[entry + 1, entry]]
            (found,) = compare_dram(copied(**{name: swapped}), result())
            assert found.where == f"at entry {entry}"
    assert str(compare_dram(copied(**{name: golden[:-1]}), result())[0]) == (
        f"{ARRAYS[name]} in length: RTL {last}, golden {last + 1}"
    )
    assert str(compare_dram(result(), copied(**{name: golden[:0]}))[0]) == (
        f"{ARRAYS[name]} in length: RTL {last + 1}, golden 0"
    )


@pytest.mark.parametrize("counter", list(Counter), ids=lambda counter: counter.name)
def test_every_counter(counter):
    golden = result().counters
    for change in (1, -1, 1 << 40):
        altered = {**golden, counter: golden.get(counter, 0) + change}
        (found,) = compare_dram(copied(counters=altered), result())
        assert found == Difference(
            "counter", counter.name, str(altered[counter]), str(golden.get(counter))
        )
    if counter in golden:
        without = {name: value for name, value in golden.items() if name != counter}
        (found,) = compare_dram(copied(counters=without), result())
        assert found == Difference("counter", counter.name, "None", str(golden[counter]))


def test_faults_of_every_kind_are_all_named_in_order():
    changed = {name: getattr(result(), name).copy() for name in ARRAYS}
    for array in changed.values():
        array["cycle"][3] += 1
    counters = {**result().counters}
    counters[Counter.CYCLES] += 1
    counters[Counter.ACTIVATES] -= 1
    found = compare_dram(copied(**changed, counters=counters), result())
    assert [(one.field, one.where) for one in found] == [
        ("command", "at entry 3"),
        ("beat", "at entry 3"),
        ("completed write", "at entry 3"),
        *(("counter", c.name) for c in Counter if c in (Counter.CYCLES, Counter.ACTIVATES)),
    ]
