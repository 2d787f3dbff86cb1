"""Faults in the RTL, one at a time: scoreboard, JEDEC checker or stream law must report each.

The channel of a device is built once, with all its faults in it (`switched_mutants.py`); what
cannot be switched runs in Amaranth's own simulator. The device has two stack IDs and short refresh
intervals, and the engine is small, so that a few hundred clocks meet every mechanism.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.amaranth_channel import (
    Outcome,
    channel_of,
    simulate_in_amaranth,
    simulate_verilated,
)
from support.cluster_runs import preset_with
from support.mutation import Mutant
from support.switched_mutants import SwitchedDesign, switched

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.runs.cluster import ClusterPatterns, ClusterResult, ClusterRun
from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.table import Policy, place_tables
from recspeed.rtl.cluster.cluster import Cluster
from recspeed.rtl.cluster.counters import ClusterCounters
from recspeed.rtl.cluster.readout import Readout
from recspeed.rtl.cluster.rounding import Rounding
from recspeed.rtl.dram.all_bank_refresh import AllBankRefresher
from recspeed.rtl.dram.attribution import Attribution
from recspeed.rtl.dram.bank_machine import BankMachine
from recspeed.rtl.dram.column_scheduler import ColumnScheduler
from recspeed.rtl.dram.front_end import DramFrontEnd
from recspeed.rtl.dram.per_bank_refresh import PerBankRefresher
from recspeed.rtl.dram.return_path import ReturnPath
from recspeed.rtl.dram.row_scheduler import RowScheduler
from recspeed.rtl.lib.arbiter import OldestReady
from recspeed.rtl.lib.fixed_point import Fp16ToFixed, RoundSum
from recspeed.rtl.pooling.bag_slots import BagSlots
from recspeed.rtl.pooling.lookup_issue import LookupIssue
from recspeed.rtl.pooling.pooling_lane import PoolingLane
from recspeed.rtl.pooling.pooling_slice import PoolingSlice
from recspeed.rtl.pooling.row_decoder import RowDecoder
from recspeed.rtl.pooling.vector_placement import AddressMap
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare
from recspeed.tb.cluster.random_runs import SPECIAL_FP16

PARAMETERS = ClusterParameters(queue_depth=4, accumulator_words=64, bag_slots=8, tables=8)


def _preset():
    return preset_with("short-refresh", stack_ids=2, tREFI=300, tRFC=40, tFAW=22)


def _channel_run(tables, bags, contents, **given) -> ClusterRun:
    return ClusterRun(
        preset=_preset(),
        tables=tables,
        bag_tables=np.array([table for table, _ in bags], dtype=np.int64),
        bag_lengths=np.array([len(indices) for _, indices in bags], dtype=np.int64),
        indices=np.array([index for _, indices in bags for index in indices], dtype=np.int64),
        parameters=PARAMETERS,
        contents=contents,
        **given,
    )


def _mixed() -> ClusterRun:
    """Several sizes, repeated rows, lookups out of range, empty bags, stalls on every stream."""
    rng = np.random.default_rng(11)
    shapes = [(90, 20), (150, 68), (40, 256), (70, 32)]
    policies = [Policy.CLAMP, Policy.DROP, Policy.CLAMP, Policy.DROP]
    tables = tuple(
        table.model_copy(update={"policy": policy})
        for table, policy in zip(place_tables(_preset(), shapes), policies, strict=True)
    )
    contents = tuple(
        rng.normal(0, 1, (rows, size // 2)).astype(np.float16).view(np.uint16)
        for rows, size in shapes
    )
    outside = 2**32 + 1
    bags = [(3, []), (0, [5, 5, 5, outside]), (1, [3, outside])]
    for number in range(20):
        table = int(rng.integers(4))
        rows = shapes[table][0]
        wrong = [rows, rows + 1, -1, 2**63 - 1][number % 4]
        inside = list(rng.integers(0, rows, number % 5))
        bags.append((table, [*inside, wrong] if number % 3 == 0 else inside))
    patterns = ClusterPatterns(ALWAYS, 0xFFF0_FFFF_0FFF_FFFF, 0x0FF0_F0F0_00FF_AAAA)
    settings = ClusterSettings(outstanding=24, refresh_group=2, output="fp32")
    return _channel_run(tables, bags, contents, settings=settings, patterns=patterns)


def _special_values(output: str) -> ClusterRun:
    """Special values in pairs, sums at rounding boundaries, and sums that need many bits."""
    count = len(SPECIAL_FP16)
    special = np.array(
        [[SPECIAL_FP16[(row + lane) % count] for lane in range(8)] for row in range(count)],
        dtype=np.uint16,
    )
    halves = np.array(
        [[2048, 2050, -2048, 1.5, 60000, 65504, 0.25, 2**-14]] * 2
        + [[1, 1, -1, 2**-11, 5520, 65504, 2**-24, 3 * 2**-24]],
        dtype=np.float16,
    ).view(np.uint16)
    contents = np.concatenate([special, halves])
    tables = place_tables(_preset(), [(len(contents), 16)])
    bags = [(0, [row, (row + shift) % count]) for row in range(count) for shift in (1, 3, 6)]
    bags += [(0, [count, count + 2]), (0, [count] * 2 + [count + 2] * 3), (0, [7] * 10)]
    bags += [(0, [count, count + 2, count + 2]), (0, [8] * 10), (0, [count + 2])]
    settings = ClusterSettings.model_validate({"output": output})
    return _channel_run(tables, bags, (contents,), settings=settings)


def _saturating() -> ClusterRun:
    """More requests than the DRAM can serve, short and long vectors, on all banks."""
    rng = np.random.default_rng(5)
    shapes = [(2000, 32), (300, 160)]
    tables = place_tables(_preset(), shapes)
    contents = tuple(
        rng.integers(0, 0x7C00, (rows, size // 2), dtype=np.uint16) for rows, size in shapes
    )
    bags = [(0, list(rng.integers(0, 2000, 45))) for _ in range(2)]
    bags += [(1, list(rng.integers(0, 300, 12))) for _ in range(2)]
    settings = ClusterSettings(outstanding=128, refresh_group=1)
    return _channel_run(tables, bags, contents, settings=settings)


def _fatal() -> ClusterRun:
    """A lookup out of range under the policy FATAL, in the middle of a bag."""
    tables = place_tables(_preset(), [(20, 64), (20, 64)])
    contents = tuple(np.full((20, 32), 0x3C00, dtype=np.uint16) for _ in tables)
    bags = [(0, [1, 2]), (1, [3, 20, 4]), (0, [5])]
    return _channel_run(tables, bags, contents)


def _waiting() -> ClusterRun:
    """A trickle of lookups: nothing but refresh decides when a refresh is issued."""
    tables = place_tables(_preset(), [(64, 32)])
    contents = (np.full((64, 16), 0x3C01, dtype=np.uint16),)
    patterns = ClusterPatterns(indices=1 << 27)
    settings = ClusterSettings(refresh_group=1)
    return _channel_run(
        tables, [(0, list(range(14)))], contents, settings=settings, patterns=patterns
    )


def _per_bank() -> ClusterRun:
    """Sixteen banks, all wanted all the time: refreshes pile up until a bank is freed for one."""
    preset = preset_with("per-bank", tREFI=640, tRFC=40, tRFCpb=60, tFAW=16)
    rng = np.random.default_rng(8)
    tables = place_tables(preset, [(2000, 32)])
    contents = (rng.integers(0, 0x7C00, (2000, 16), dtype=np.uint16),)
    bags = [(0, list(rng.integers(0, 2000, 60))) for _ in range(5)]
    settings = ClusterSettings(outstanding=256, per_bank=True)
    run = _channel_run(tables, bags, contents, settings=settings)
    parameters = PARAMETERS.model_copy(update={"queue_depth": 16})
    return replace(run, preset=preset, parameters=parameters)


def _row_hits() -> ClusterRun:
    """Few rows, asked for again and again, with up to three requests per activation."""
    rows = 4 * 16 * 32
    tables = place_tables(_preset(), [(rows, 64)])
    contents = (np.full((rows, 32), 0x3C01, dtype=np.uint16),)
    rng = np.random.default_rng(3)
    # Four banks, and in each eight vectors in four DRAM rows.
    bags = [(0, list(rng.integers(0, 4, 60) + 32 * rng.integers(0, 8, 60))) for _ in range(3)]
    settings = ClusterSettings(outstanding=128, refresh_group=1, row_hits=3)
    return _channel_run(tables, bags, contents, settings=settings)


RUNS = {
    "mixed": _mixed,
    "special values, FP16": lambda: _special_values("fp16"),
    "special values, FP32": lambda: _special_values("fp32"),
    "saturating": _saturating,
    "fatal": _fatal,
    "waiting": _waiting,
    "per-bank refresh": _per_bank,
    "row hits": _row_hits,
}


@cache
def _expected(name: str):
    run = RUNS[name]()
    return run, simulate_cluster(run)


def device_of(name: str) -> str:
    """The preset of a run, which tells the build that it needs."""
    return _expected(name)[0].preset.name


@cache
def switched_channel(device: str) -> SwitchedDesign:
    """The channel of that device with all the faults in it that its runs are tried with."""
    names = [name for name in RUNS if device_of(name) == device]
    run, _ = _expected(names[0])
    mutants = [mutant for mutant, runs in MUTANTS if set(runs) & set(names)]
    return switched(lambda: channel_of(run), mutants)


def faults_of(name: str, mutant: Mutant | None = None) -> list[str]:
    """What the checkers report of a run on the channel with a switched fault in it, or none."""
    run, golden = _expected(name)
    channel = switched_channel(device_of(name))
    fault = 0 if mutant is None else channel.numbers[mutant]
    limit = golden.cycles * 5 // 4 + 300
    return reported(run, golden, simulate_verilated(run, channel.design, fault=fault, limit=limit))


def faults_in_amaranth(name: str) -> list[str]:
    """What they report of the channel as it is now, in Amaranth's own simulator."""
    run, golden = _expected(name)
    return reported(run, golden, simulate_in_amaranth(run, limit=golden.cycles * 5 // 4 + 300))


def reported(run: ClusterRun, golden: ClusterResult, outcome: Outcome) -> list[str]:
    """What scoreboard, JEDEC checker and stream law say."""
    result = outcome.result
    found = [str(difference) for difference in compare(result, golden)]
    report = jedec.check(
        run.preset,
        result.commands,
        refresh=run.settings.refresh_group > 0,
        per_bank=run.settings.per_bank,
    )
    found += [f"JEDEC: {violation}" for violation in report.violations]
    if outcome.law_violations:
        found.append(f"{outcome.law_violations} violations of the stream law")
    if not outcome.done:
        found.append("not done")
    return found


LANES = "pooled lanes of transfer at entry"
CLOCK = "clock of transfer at entry"
COMMAND = "command at entry"

VALUE_MUTANTS = (
    Mutant("truncates", RoundSum, "_round", "half & (rest | significand[0])", "0", LANES),
    Mutant("rounds half up", RoundSum, "_round", "rest | significand[0]", "1", LANES),
    Mutant("never ties to odd", RoundSum, "_round", "rest | significand[0]", "rest", LANES),
    Mutant(
        "infinities of both signs are no NaN",
        RoundSum,
        "elaborate",
        "self.sum.nan | (self.sum.positive_infinity & self.sum.negative_infinity)",
        "self.sum.nan",
        LANES,
    ),
    Mutant("FP16 overflows", RoundSum, "elaborate", "encoded_16 >= 0x7C00", "Const(0)", LANES),
    Mutant(
        "denormal range too wide", RoundSum, "elaborate", "2 << FP16_FRACTION", "1 << 12", LANES
    ),
    Mutant("minus zero", RoundSum, "elaborate", "Cat(fp32, negative)", "Cat(fp32, 0)", LANES),
    Mutant(
        "sign ignored",
        Fp16ToFixed,
        "elaborate",
        "Mux(sign, -magnitude, magnitude)",
        "magnitude",
        LANES,
    ),
    Mutant("subnormals flushed", Fp16ToFixed, "elaborate", "Mux(finite,", "Mux(normal,", LANES),
    Mutant(
        "sticky flags dropped",
        PoolingLane,
        "elaborate",
        "(kept & add.data[flag]) | addend[flag]",
        "addend[flag]",
        LANES,
    ),
    Mutant(
        "sums of 44 bits",
        PoolingLane,
        "elaborate",
        "Mux(kept, add.data.integer, 0) + addend.integer",
        "(Mux(kept, add.data.integer, 0) + addend.integer)[:44].as_signed()",
        LANES,
    ),
    Mutant(
        "sums not cleared",
        PoolingSlice,
        "elaborate",
        "clear_touched.en.eq(read)",
        "clear_touched.en.eq(0)",
        LANES,
    ),
    Mutant(
        "padding is added",
        PoolingSlice,
        "elaborate",
        "place.last & (place.beat > place.tag.last_beat)",
        "0",
        LANES,
    ),
    Mutant(
        "always FP16",
        Rounding,
        "elaborate",
        "lane.fp32.eq(self.fp32)",
        "lane.fp32.eq(0)",
        LANES,
    ),
    Mutant(
        "lanes of the decoder in reverse",
        RowDecoder,
        "elaborate",
        "response.data.word_select(Const(lane), FP16_BITS)",
        "response.data.word_select(Const(7 - lane), FP16_BITS)",
        LANES,
    ),
    Mutant("lanes not masked", Readout, "elaborate", "lane < asked.lanes", "1", LANES),
)

POOLING_MUTANTS = (
    Mutant(
        "withdraws offers",
        Readout,
        "elaborate",
        "~self.pooled.valid | self.pooled.ready",
        "1",
        "violations of the stream law",
    ),
    Mutant(
        "bag number stands still",
        Readout,
        "elaborate",
        "bag.eq(bag + last)",
        "bag.eq(bag)",
        "bag number of transfer at entry",
    ),
    Mutant(
        "open bag counts as complete",
        BagSlots,
        "elaborate",
        "~(youngest_is_head & issue.open)",
        "1",
        CLOCK,
    ),
    Mutant("one slot fewer", BagSlots, "elaborate", "level < self.slots", "level < last", CLOCK),
    Mutant(
        "clamp reads the neighbour",
        LookupIssue,
        "_bag",
        "Mux(in_range, index, 0)",
        "index",
        LANES,
    ),
    Mutant(
        "dropped lookups are issued",
        LookupIssue,
        "_bag",
        "in_range | self.clamped",
        "in_range | self.clamped | self.dropped",
        LANES,
    ),
    Mutant(
        "first row outside counts as inside",
        LookupIssue,
        "_bag",
        "index < descriptor.rows",
        "index <= descriptor.rows",
        "counter CLAMPED",
    ),
    Mutant(
        "compares 32 bits of the index",
        LookupIssue,
        "_bag",
        "index < descriptor.rows",
        "index[:32] < descriptor.rows",
        "counter DROPPED",
    ),
    Mutant(
        "wrong position of the fatal lookup",
        LookupIssue,
        "_bag",
        "self.error_position.eq(position)",
        "self.error_position.eq(position + 1)",
        "counter ERROR_POSITION: RTL 2, golden 1",
    ),
    Mutant(
        "fatal is not fatal",
        LookupIssue,
        "_bag",
        "self.halted.eq(1)",
        "self.halted.eq(0)",
        "counter ERROR: RTL 0, golden 1",
    ),
)

DRAM_MUTANTS = (
    Mutant(
        "wrong DRAM row",
        AddressMap,
        "elaborate",
        "self.base_row + remainder",
        "remainder",
        COMMAND,
    ),
    Mutant(
        "quotient too small",
        AddressMap,
        "elaborate",
        "remainder >= (self.row_span << bit)",
        "remainder > (self.row_span << bit)",
        COMMAND,
    ),
    Mutant(
        "every burst is the first",
        BankMachine,
        "elaborate",
        "first_column + self.burst",
        "first_column",
        COMMAND,
    ),
    Mutant(
        "tRP after the read ignored",
        BankMachine,
        "_timers",
        "bank_timer.set(self.move & self.close & ~self.active_write, after_read)",
        "pass",
        "JEDEC: tRTP+tRP in clock",
    ),
    Mutant(
        "tRCD one clock too small",
        BankMachine,
        "_timers",
        "column_timer.set(self.activate & ~self.open_writes, t.tRCD)",
        "column_timer.set(self.activate & ~self.open_writes, t.tRCD - 1)",
        "JEDEC: tRCD in clock",
    ),
    Mutant(
        "tRC one clock too small",
        BankMachine,
        "_timers",
        "bank_timer.set(self.activate, row_cycle)",
        "bank_timer.set(self.activate, row_cycle - 1)",
        "JEDEC: tRC in clock",
    ),
    Mutant(
        "tRRD_L ignored",
        RowScheduler,
        "elaborate",
        "ranks[rank].expired & groups[address.group(bank)].expired",
        "ranks[rank].expired",
        "JEDEC: tRRD_L in clock",
    ),
    Mutant(
        "tRRD_S ignored",
        RowScheduler,
        "elaborate",
        "ranks[rank].expired & groups[address.group(bank)].expired",
        "groups[address.group(bank)].expired",
        "JEDEC: tRRD_S in clock",
    ),
    Mutant(
        "tFAW ignored",
        RowScheduler,
        "elaborate",
        "& self.spacing_permits & self.window_permits",
        "& self.spacing_permits",
        "JEDEC: tFAW in clock",
    ),
    Mutant(
        "tFAW one clock too small",
        RowScheduler,
        "_window",
        "(oldest == slot), t.tFAW)",
        "(oldest == slot), t.tFAW - 1)",
        "JEDEC: tFAW in clock",
    ),
    Mutant(
        "ACT while refresh is due",
        DramFrontEnd,
        "_schedule",
        "& ~refreshes.refreshing & ~refreshes.barred",
        "",
        COMMAND,
    ),
    Mutant(
        "tCCD_S ignored",
        ColumnScheduler,
        "_spacing",
        "short[address.rank(bank)] & long[address.group(bank)]",
        "long[address.group(bank)]",
        "JEDEC: tCCD_S in clock",
    ),
    Mutant(
        "tCCD_L one clock too small",
        ColumnScheduler,
        "_spacing",
        "[(hit, t.tCCD_L)]",
        "[(hit, t.tCCD_L - 1)]",
        "JEDEC: tCCD_L in clock",
    ),
    Mutant(
        "tCCD_R ignored",
        ColumnScheduler,
        "_turns",
        "(hit, t.tCCD_R)",
        "(hit, t.tCCD_S)",
        "JEDEC: tCCD_R in clock",
    ),
    Mutant("youngest first", OldestReady, "elaborate", "difference[-1]", "~difference[-1]", CLOCK),
    Mutant(
        "one burst fewer outstanding",
        DramFrontEnd,
        "_accept_reads",
        "in_flight + bursts <= self.outstanding",
        "in_flight + bursts < self.outstanding",
        CLOCK,
    ),
    Mutant(
        "read without precharge",
        DramFrontEnd,
        "_drive_bus",
        'bus.column_precharge.eq(moved["close"])',
        "bus.column_precharge.eq(0)",
        "JEDEC: bank state in clock",
    ),
    Mutant(
        "REF with open banks",
        AllBankRefresher,
        "elaborate",
        "self.due & self.banks_idle",
        "self.due",
        "JEDEC: bank state in clock",
    ),
    Mutant(
        "tRFC one clock too small",
        AllBankRefresher,
        "elaborate",
        "cycle_time.set(refresh, t.tRFC)",
        "cycle_time.set(refresh, t.tRFC - 1)",
        "JEDEC: tRFC in clock",
    ),
    Mutant(
        "tREFI one clock too large",
        AllBankRefresher,
        "elaborate",
        "group * tREFI - 1",
        "group * tREFI",
        COMMAND,
    ),
    Mutant(
        "tRFC one clock too large",
        AllBankRefresher,
        "elaborate",
        "cycle_time.set(refresh, t.tRFC)",
        "cycle_time.set(refresh, t.tRFC + 1)",
        CLOCK,
    ),
    Mutant(
        "beats swapped",
        ReturnPath,
        "elaborate",
        "response.beat.eq(beat)",
        "response.beat.eq(~beat)",
        LANES,
    ),
)

PER_BANK_MUTANTS = (
    Mutant(
        "tRFCpb halved",
        BankMachine,
        "_timers",
        "bank_timer.set(self.refresh, t.tRFCpb)",
        "bank_timer.set(self.refresh, t.tRFCpb // 2)",
        "JEDEC: tRFCpb",
    ),
    Mutant(
        "tRREFD one clock too small",
        PerBankRefresher,
        "elaborate",
        "spacing.set(refresh, t.tRREFD)",
        "spacing.set(refresh, t.tRREFD - 1)",
        "JEDEC: tRREFD",
    ),
    Mutant(
        "round forgotten",
        PerBankRefresher,
        "elaborate",
        "refreshed.eq(Mux(after.all(), 0, after))",
        "refreshed.eq(0)",
        "JEDEC: refresh round",
    ),
    Mutant(
        "victim not barred",
        PerBankRefresher,
        "elaborate",
        "Mux(owed >= URGENT, lowest_missing, 0)",
        "0",
        COMMAND,
    ),
    Mutant(
        "one REFpb fewer ahead",
        PerBankRefresher,
        "elaborate",
        "owed > -AHEAD",
        "owed > 1 - AHEAD",
        COMMAND,
    ),
)

ROW_HIT_MUTANTS = (
    Mutant(
        "row kept for another row",
        BankMachine,
        "elaborate",
        "& (next_hit.row == open_row)",
        "",
        COMMAND,
    ),
    Mutant(
        "one hit too many",
        BankMachine,
        "elaborate",
        "served < self.row_hits",
        "served <= self.row_hits",
        COMMAND,
    ),
    Mutant(
        "row hit while refresh is due",
        DramFrontEnd,
        "_schedule",
        "& ~refreshes.due[number]",
        "",
        COMMAND,
    ),
)

SCHEDULER_MUTANTS = (
    Mutant(
        "wanted banks do not go first",
        ColumnScheduler,
        "elaborate",
        "(candidates & self.wanted_again).any()",
        "Const(0)",
        COMMAND,
    ),
    Mutant(
        "banks that several want do not go first",
        ColumnScheduler,
        "elaborate",
        "(candidates & self.wanted_by_several).any()",
        "Const(0)",
        COMMAND,
    ),
    Mutant(
        "fullest group does not go first",
        ColumnScheduler,
        "elaborate",
        "full - sum(members)",
        "full",
        COMMAND,
    ),
    Mutant(
        "fewest bursts do not go first",
        ColumnScheduler,
        "elaborate",
        "Cat(self.left[bank], closed[address.group(bank)])",
        "closed[address.group(bank)] << len(self.left[bank])",
        COMMAND,
    ),
    Mutant(
        "ACT does not go to banks that several want",
        RowScheduler,
        "elaborate",
        "(candidates & self.several).any()",
        "0",
        COMMAND,
    ),
)

COUNTER_MUTANTS = (
    Mutant(
        "row cause forgotten",
        Attribution,
        "elaborate",
        "m.d.sync += row_cause.eq(row_cause_now)",
        "pass",
        "counter IDLE_",
    ),
    Mutant(
        "tFAW counted as tRRD",
        Attribution,
        "elaborate",
        "row_cause_now.eq(Cause.TFAW)",
        "row_cause_now.eq(Cause.TRRD)",
        "counter IDLE_TFAW",
    ),
    Mutant(
        "second clock of a burst not counted",
        Attribution,
        "elaborate",
        "self.move | (bursting != 0)",
        "self.move",
        "counter DATA",
    ),
    Mutant(
        "outstanding not counted",
        ClusterCounters,
        "elaborate",
        "m.If(self.request_offered)",
        "m.If(0)",
        "counter IDLE_OUTSTANDING",
    ),
    Mutant(
        "back-pressure not counted",
        Cluster,
        "_count",
        "~slots.issue.free & slots.oldest.complete",
        "0",
        "counter IDLE_BACK_PRESSURE",
    ),
    Mutant(
        "counts after done",
        Cluster,
        "_count",
        "counters.count.eq(self.running)",
        "counters.count.eq(registers.channel.run)",
        "counter IDLE_",
    ),
)

SPECIAL = ("special values, FP16", "special values, FP32")
MUTANTS = (
    *((mutant, (*SPECIAL, "mixed")) for mutant in VALUE_MUTANTS),
    *((mutant, ("mixed", "fatal")) for mutant in POOLING_MUTANTS),
    *((mutant, ("saturating", "mixed", "waiting")) for mutant in DRAM_MUTANTS),
    *((mutant, ("mixed", "saturating")) for mutant in COUNTER_MUTANTS),
    *((mutant, ("per-bank refresh",)) for mutant in PER_BANK_MUTANTS),
    *((mutant, ("row hits",)) for mutant in ROW_HIT_MUTANTS),
    *((mutant, ("saturating", "row hits")) for mutant in SCHEDULER_MUTANTS),
)
"""Each fault with the runs that are tried, in this order."""


@pytest.mark.parametrize("name", list(RUNS))
def test_the_channel_without_a_picked_fault_has_none(name):
    assert faults_of(name) == []


@pytest.mark.parametrize("name", ["mixed", "fatal"])
def test_the_channel_as_it_is_has_no_fault(name):
    """In a simulator that shares nothing with the other one."""
    assert faults_in_amaranth(name) == []


def test_nearly_all_faults_are_switched():
    left_out = [
        mutant.name
        for device in {device_of(name) for name in RUNS}
        for mutant in switched_channel(device).left_out
    ]
    print(f"{len(MUTANTS)} faults, {len(MUTANTS) - len(left_out)} switched; not: {left_out}")
    assert len(left_out) <= 2


@pytest.mark.parametrize(
    ("mutant", "runs"), MUTANTS, ids=[mutant.name.replace(" ", "_") for mutant, _ in MUTANTS]
)
def test_fault_is_reported(mutant, runs, monkeypatch):
    """One of the runs shows the fault, and by the checker that is meant for it."""
    is_switched = mutant in switched_channel(device_of(runs[0])).numbers
    if not is_switched:
        mutant.inject(monkeypatch)
    seen = {}
    for name in runs:
        seen[name] = faults_of(name, mutant) if is_switched else faults_in_amaranth(name)
        if any(mutant.shows in fault for fault in seen[name]):
            return
    pytest.fail(f"'{mutant.shows}' was not reported; reported was {seen}")


@pytest.mark.parametrize(
    ("run", "name"),
    [("fatal", "wrong position of the fatal lookup"), ("waiting", "tREFI one clock too large")],
)
def test_a_switched_fault_is_the_injected_one(run, name, monkeypatch):
    """To the last word of what is reported, in a simulator and with a way of its own."""
    (mutant,) = (mutant for mutant, _ in MUTANTS if mutant.name == name)
    switched_one = faults_of(run, mutant)
    mutant.inject(monkeypatch)
    assert switched_one == faults_in_amaranth(run)
    assert switched_one
