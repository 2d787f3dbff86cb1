"""The performance model against plain arithmetic, a pipeline by groups, and its own bounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recspeed.models.performance import presets
from recspeed.models.performance.access import (
    access_time,
    jedec_access_time,
    pin_gb_per_s,
)
from recspeed.models.performance.chip_load import ChipLoad
from recspeed.models.performance.errors import DoesNotFitError, SpecificationError
from recspeed.models.performance.footprint import rows_that_fit, tier_shares
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.paper import CASES
from recspeed.models.performance.schedule import timeline
from recspeed.models.performance.steps import Assumptions, Step
from recspeed.models.performance.tier_time import rate_seconds, seconds_per_access, tier_seconds
from recspeed.models.spec.device import device_names
from recspeed.models.spec.memory_tier import MemoryTier, Rate
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.models.spec.system import SCHEDULES

RECSPEED = presets.system("recspeed-16")
DGX = presets.system("dgx-2")
STALE = Assumptions(stale_reads=True)


def plain(case: str, system: str) -> tuple[float, float]:
    """Seconds of inference and of training by formulas written out, without the model's code."""
    n, f, groups = 16, 15 / 16, 10
    small, sharded = case[0] == "S", case[1] == "S"
    batch, size = (200, 64) if small else (600, 256)
    parameters, macs = (540_609, 566_016) if small else (592_929, 696_960)
    if system == "recspeed-16":
        latency = reduce_latency = 1e-6
        channels, access, flops = 96, {64: 5.41e-9, 256: 13.3e-9}[size], 250e12
    else:
        latency, reduce_latency = 102e-6, 127e-6
        channels, access, flops = 64, {64: 5.8e-9, 256: 17.5e-9}[size], 125e12

    def transfer(sent: float) -> float:
        if system == "recspeed-16":
            return sent / 1e12
        part = math.log(max(sent, 2e6) / 2e6) / math.log(28.8e6 / 2e6)
        return sent / ((150 - 43 * min(part, 1)) * 1e9)

    pooled = batch * 40 * size / n
    index = latency + transfer(batch * 3200 * 4 / n * f)
    exchange = transfer(pooled * f * (80 if sharded else 1))
    memory = batch * 3200 / n / channels * access
    dense = 2 * macs * batch / n / flops
    inference = dense + max(
        memory + latency + exchange / groups,
        index + latency + exchange + memory / groups,
    )
    reduce = reduce_latency + transfer(2 * 2 * parameters * f) + parameters / 1.75e12
    gradient = latency + transfer(pooled * (n - 1) if sharded else pooled * f)
    return inference, inference + 2 * dense + reduce + gradient + memory


@pytest.mark.parametrize("system", ["recspeed-16", "dgx-2"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_model_equals_the_formulas_written_out(case, system: str) -> None:
    workload, target = presets.workload(case.workload), presets.system(system)
    where = parse_placement(case.placement)
    inference, training = plain(case.name, system)
    assert evaluate(workload, target, where).seconds == pytest.approx(inference, rel=1e-12)
    result = evaluate(workload, target, where, training=True)
    assert result.seconds == pytest.approx(training, rel=1e-12)


def step(seconds: float, resource="network", latency: float = 0.0) -> Step:
    return Step("step", "none", resource, latency, seconds - latency, 0.0)


def pipeline(index: float, memory: float, latency: float, transfer: float, groups: int) -> float:
    """Lookups and exchange group by group, one after the other on each resource.

    The links carry `index` first; a group's transfer starts when its rows are pooled and the
    links are free; the exchange's latency comes once, behind the last transfer.
    """
    links = index
    for group in range(1, groups + 1):
        pooled = memory * group / groups
        links = max(links, pooled) + transfer / groups
    return links + latency


times = st.floats(0, 1e-4)


@given(times, times, times, times, st.integers(1, 30))
def test_closed_form_bounds_the_group_by_group_pipeline(
    index: float, memory: float, latency: float, transfer: float, groups: int
) -> None:
    steps = {
        "index": step(index),
        "lookup": step(memory, "memory"),
        "embedding": step(latency + transfer, latency=latency),
        "dense": step(0.0, "compute"),
    }
    causal = timeline(steps, "causal", groups, training=False).interval
    exact = index + pipeline(0.0, memory, latency, transfer, groups)
    assert causal == pytest.approx(exact, abs=1e-15)
    paper = timeline(steps, "paper", groups, training=False).interval
    exact = pipeline(index, memory, latency, transfer, groups)
    # The paper's form lets the first group pass before the index exchange is over, or after it.
    assert exact - 1e-15 <= paper <= exact + memory / groups + 1e-15


@pytest.mark.parametrize("system", ["recspeed-16", "dgx-2", "hls-1", "cs-1"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("training", [False, True])
def test_schedules_are_ordered_and_never_beat_a_bound(case, system: str, training: bool) -> None:
    workload, target = presets.workload(case.workload), presets.system(system)
    results = {
        schedule: evaluate(
            workload,
            target,
            parse_placement(case.placement),
            schedule=schedule,
            training=training,
            assumptions=STALE,
        )
        for schedule in SCHEDULES
    }
    assert results["causal"].qps <= results["paper"].qps * (1 + 1e-12)
    assert results["paper"].qps <= results["pipelined"].qps * (1 + 1e-12)
    for result in results.values():
        for name in ("memory", "compute", "bandwidth"):
            assert result.qps <= result.bounds[name] * (1 + 1e-12)
        assert sum(result.critical_shares.values()) == pytest.approx(1)
        assert result.timeline.latency >= results["pipelined"].seconds * (1 - 1e-12)
        ends = max(phase.end for phase in result.timeline.phases)
        assert ends == pytest.approx(result.seconds)
        assert all(0 <= phase.start <= phase.end for phase in result.timeline.phases)


def test_causal_and_pipelined_rates_of_the_paper_system() -> None:
    def qps(workload: str, schedule: str) -> float:
        where = parse_placement("unsharded")
        return evaluate(presets.workload(workload), RECSPEED, where, schedule=schedule).qps

    assert qps("rm2-small", "causal") == pytest.approx(224e3, rel=0.005)
    assert qps("rm2-large", "causal") == pytest.approx(51.6e3, rel=0.005)
    assert qps("rm2-small", "pipelined") == pytest.approx(430e3, rel=0.04)


def test_roofs_of_one_case_by_hand() -> None:
    result = evaluate(presets.workload("rm2-small"), RECSPEED, parse_placement("unsharded"))
    sent = (200 * 3200 * 4 + 200 * 40 * 64) / 16 * 15 / 16
    assert result.bounds == pytest.approx(
        {
            "memory": 96 / (200 * 3200 / 16 * 5.41e-9),
            "bandwidth": 1e12 / sent,
            "latency": 1 / 2e-6,
            "compute": 250e12 / (2 * 566_016 * 200 / 16),
        }
    )


def test_bottlenecks_by_name() -> None:
    def bottleneck(system: str, workload: str, placement: str) -> str:
        where = parse_placement(placement)
        return evaluate(presets.workload(workload), presets.system(system), where).bottleneck

    assert bottleneck("recspeed-16", "rm2-large", "unsharded") == "memory"
    assert bottleneck("recspeed-16", "rm2-large", "fully-sharded") == "bandwidth"
    assert bottleneck("dgx-2", "rm2-small", "unsharded") == "latency"
    assert bottleneck("xeon-ddr4", "deeprecsys-rm3", "unsharded") == "compute"


def test_pipelined_training_contradicts_fresh_reads() -> None:
    with pytest.raises(SpecificationError, match="'pipelined' contradicts training"):
        evaluate(
            presets.workload("rm2-small"),
            RECSPEED,
            parse_placement("unsharded"),
            schedule="pipelined",
            training=True,
        )


def test_unknown_schedule_and_inference_only_systems() -> None:
    small, where = presets.workload("rm2-small"), parse_placement("unsharded")
    with pytest.raises(SpecificationError, match="'lazy' does not exist; there are causal"):
        evaluate(small, RECSPEED, where, schedule="lazy")
    with pytest.raises(SpecificationError, match="upmem is an inference system"):
        evaluate(small, presets.system("upmem"), where, training=True)


def test_a_model_that_does_not_fit_is_refused_with_both_sizes() -> None:
    where = parse_placement("row-wise")
    with pytest.raises(DoesNotFitError, match=r"mlperf-dlrm does not fit gc2-16: .* 2\.8.* GB"):
        evaluate(presets.workload("mlperf-dlrm"), presets.system("gc2-16"), where)


def test_rows_that_fit_do_and_one_more_does_not() -> None:
    system, base = presets.system("gc2-16"), presets.workload("rm2-small")
    rows = rows_that_fit(base, system)

    def filled(count: int) -> None:
        table = base.tables[0].changed(rows=count)
        evaluate(base.changed(tables=(table,)), system, parse_placement("row-wise"))

    filled(rows)
    with pytest.raises(DoesNotFitError):
        filled(rows + 1)


def test_tiers_share_lookups_by_size_and_skew() -> None:
    base = presets.workload("rm2-small")
    load = ChipLoad(table_bytes=RECSPEED.memory[0].capacity_bytes * 2)
    table = base.tables[0].changed(rows=1000)
    flat, skewed = base.changed(tables=(table,)), base.changed(tables=(table,), skew=0.5)
    assert tier_shares(load, flat, RECSPEED) == pytest.approx([0.5, 0.5])
    assert tier_shares(load, skewed, RECSPEED) == pytest.approx([0.5**0.5, 1 - 0.5**0.5])
    assert tier_shares(load, base, RECSPEED) == [1.0, 0.0]


def test_lookups_in_slow_memory_cost_their_time() -> None:
    base = presets.workload("rm2-small")
    rows = int(1.5 * 16 * RECSPEED.memory[0].capacity_bytes / (40 * 64))
    spilled = base.changed(tables=(base.tables[0].changed(rows=rows),))
    result = evaluate(spilled, RECSPEED, parse_placement("unsharded"))
    slow = 40_000 / 3 * access_time("ddr4-3200-x8-1r", 64)
    assert result.steps["lookup"].seconds == pytest.approx(slow, rel=1e-6)


def test_memory_that_pools_sends_pooled_vectors_only() -> None:
    tier = presets.system("tensordimm").memory[0]
    assert tier.attachment is not None
    ranks = 1000 * access_time("ddr4-3200-x8-1r", 256) / 12
    assert tier_seconds(tier, {256: 1000}, {256: 10}) == pytest.approx(ranks)
    plain_path = tier.attachment.changed(pools=False)
    unpooled = tier.changed(attachment=plain_path)
    assert tier_seconds(unpooled, {256: 1000}, {256: 10}) == pytest.approx(256_000 / 153.6e9)


def test_a_cache_halves_what_reaches_the_memory() -> None:
    cached, bare = presets.system("recnmp").memory[0], presets.system("tensordimm").memory[0]
    ratio = tier_seconds(bare, {64: 1e6}, {64: 1}) / tier_seconds(cached, {64: 1e6}, {64: 1})
    assert ratio == pytest.approx(2)
    assert cached.cache is not None
    slow = cached.cache.changed(hit_rate=1.0, source=bare.source.changed(units=1))
    only_cache = tier_seconds(cached.changed(cache=slow), {64: 1e6}, {64: 1})
    assert only_cache == pytest.approx(1e6 * access_time("ddr4-3200-x8-1r", 64))
    flash = presets.system("aibox").memory[0]
    assert isinstance(flash, MemoryTier)
    assert flash.cache is not None
    miss = 0.15 * 1e6 * seconds_per_access(flash.source, 64)
    assert tier_seconds(flash, {64: 1e6}, {64: 1}) == pytest.approx(miss)


def test_access_times_cover_the_pins_and_the_calibration() -> None:
    assert access_time("hbm2e-3000-paper", 64) == pytest.approx(5.41e-9)
    assert access_time("hbm2e-3000-paper", 256) == pytest.approx(13.3e-9)
    for name in device_names():
        if not name.endswith("-paper"):
            assert access_time(name, 64) == jedec_access_time(name, 64)
        # A vector over row after row never beats the pins.
        assert access_time(name, 4096) >= 4096 / pin_gb_per_s(name) * 1e-9 * (1 - 1e-9)


@given(st.integers(1, 4096), st.sampled_from(device_names()))
def test_longer_vectors_take_no_less_time(size: int, name: str) -> None:
    assert access_time(name, size) <= access_time(name, size + 1) * (1 + 1e-12)


@pytest.mark.parametrize("name", device_names())
def test_golden_rates_lie_close_below_the_bound(name: str) -> None:
    for size in (32, 64, 128, 256):
        ratio = jedec_access_time(name, size) / access_time(f"{name}-golden", size)
        assert 0.9 < ratio <= 1, (size, ratio)


def test_a_vector_of_several_dram_rows_takes_a_visit_for_each() -> None:
    for kind in ("", "-golden"):
        name = f"hbm2e-3000{kind}"
        parts = 2 * access_time(name, 1024) + access_time(name, 64)
        assert access_time(name, 2 * 1024 + 64) == pytest.approx(parts)
    # A DDR4 row holds 8 KB, a lookup of the pooling engine 1 KB; half the bus, half of both.
    parts = access_time("ddr4-3200", 8192) + access_time("ddr4-3200", 64)
    assert access_time("ddr4-3200", 8192 + 64) == pytest.approx(parts)
    for name, longest in (("ddr4-3200-golden", 1024), ("ddr4-2400-32bit-golden", 512)):
        parts = 2 * access_time(name, longest) + access_time(name, 64)
        assert access_time(name, 2 * longest + 64) == pytest.approx(parts)


def test_footprint_by_hand() -> None:
    small, where = presets.workload("rm2-small"), parse_placement("unsharded")
    size = evaluate(small, RECSPEED, where, training=True).footprint
    assert size.dense_weights == size.gradients == 2 * 540_609
    # Indices and pooled vectors, to send and to receive, for this batch and the next.
    assert size.buffers == 4 * (200 * 3200 * 4 + 200 * 40 * 64) / 16
    samples = 200 / 16
    kept = 256 + (128 + 32 + 32) + 852 + (512 + 128 + 1)
    assert size.activations == pytest.approx(2 * samples * (2 * kept + 40 * 64))
    assert size.kept_rows == 200 * 3200 * 64 / 16
    inference = evaluate(small, RECSPEED, where).footprint
    assert inference.activations == pytest.approx(size.activations / 2)
    assert inference.gradients == inference.kept_rows == 0
    assert inference.on_chip == pytest.approx(
        inference.dense_weights + inference.buffers + inference.activations
    )


def test_rates_overlap_what_is_in_flight() -> None:
    drive = Rate(overhead_ns=90_000, gb_per_s=4.0, granularity_bytes=4096, outstanding=128)
    # 4096 B at 4 GB/s are 1024 ns; 128 in flight hide all but 1/128 of the 90 us.
    assert rate_seconds(drive, 64) == pytest.approx(max((90_000 + 1024) / 128, 1024) * 1e-9)
    assert rate_seconds(drive, 5000) == pytest.approx(2048e-9)
    alone = drive.changed(outstanding=1)
    assert rate_seconds(alone, 64) == pytest.approx(91_024e-9)


def test_per_chip_times_differ_where_tables_do() -> None:
    result = evaluate(presets.workload("rm2-small"), RECSPEED, parse_placement("table-wise"))
    per_chip = result.steps["lookup"].per_chip
    assert per_chip is not None
    assert len(per_chip) == 16
    assert max(per_chip) == result.steps["lookup"].seconds
    assert sorted(per_chip)[0] == pytest.approx(max(per_chip) * 2 / 3)
