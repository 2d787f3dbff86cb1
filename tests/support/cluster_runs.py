"""Random channel runs, and the comparison of two results, for the tests of the golden model."""

from functools import cache

import numpy as np

from recspeed.models.runs.cluster import ClusterPatterns, ClusterResult, ClusterRun
from recspeed.models.runs.patterns import ALWAYS
from recspeed.models.spec.cluster import ClusterParameters, ClusterSettings
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names
from recspeed.models.spec.table import Policy, place_tables

ALL_PRESETS = tuple(memory_preset_names())
ORGANIZATIONS = {
    "hbm2-2000": {"stack_ids": (1, 2, 4)},
    "hbm3-6400": {"stack_ids": (1, 2)},
    "ddr4-3200": {"ranks": (1, 2, 4)},
    "gddr6-14000": {"ranks": (1, 2), "stack_ids": (1, 2)},
}
"""Devices that are altered in tests, and how many stack IDs and ranks they are given."""


@cache
def preset_with(
    name: str,
    *,
    base: str = "hbm2-2000",
    stack_ids: int | None = None,
    ranks: int | None = None,
    bank_groups: int | None = None,
    banks_per_group: int | None = None,
    **clocks: int,
) -> MemoryPreset:
    """`base` under another name, with another number of banks and other timings in clocks."""
    values = memory_preset(base).model_dump()
    values["name"] = name
    for what, count in (
        ("stack_ids", stack_ids),
        ("ranks", ranks),
        ("bank_groups", bank_groups),
        ("banks_per_group", banks_per_group),
    ):
        if count is not None:
            held = values["organization"][what]
            values["organization"][what] = count
            capacity = values["capacity"]["pseudo_channel_mib"]
            values["capacity"]["pseudo_channel_mib"] = capacity * count // held
    for timing, value in clocks.items():
        values["timing"][timing] = {"clocks": value, "source": "made up for a test"}
    return MemoryPreset.model_validate(values)


def random_preset(rng: np.random.Generator) -> MemoryPreset:
    """One that ships, or one with random timings, stack IDs and ranks."""
    if rng.random() < 0.4:
        return memory_preset(str(rng.choice(ALL_PRESETS)))
    base = str(rng.choice(sorted(ORGANIZATIONS)))
    burst = memory_preset(base).burst_clocks
    ccd_s = burst + int(rng.integers(0, 3))
    taken = memory_preset(base).organization.activate_clocks
    rrd_s, wtr_s = int(rng.integers(taken, 8)), int(rng.integers(1, 12))
    rcd, rp = int(rng.integers(1, 30)), int(rng.integers(1, 30))
    ras = rcd + int(rng.integers(0, 40))
    rfc = int(rng.integers(taken, 200))
    cl = int(rng.integers(1, 40))
    counts = {name: int(rng.choice(some)) for name, some in ORGANIZATIONS[base].items()}
    options = {}
    if memory_preset(base).per_bank_refresh:
        options = {"tRFCpb": int(rng.integers(1, 100)), "tRREFD": int(rng.integers(taken, 20))}
    if rng.random() < 0.2:
        options["visit_gap"] = int(rng.integers(1, 9))
    return preset_with(
        "random",
        base=base,
        **counts,
        **options,
        tCL=cl,
        tCWL=int(rng.integers(1, cl + burst + 2)),
        tRCD=rcd,
        tRCD_WR=int(rng.integers(1, 30)),
        tRP=rp,
        tRAS=ras,
        tRC=ras + int(rng.integers(1, rp + 1)),
        tRTP=int(rng.integers(1, 12)),
        tWR=int(rng.integers(1, 40)),
        tWTR_S=wtr_s,
        tWTR_L=wtr_s + int(rng.integers(0, 12)),
        tCCD_S=ccd_s,
        tCCD_L=ccd_s + int(rng.integers(0, 5)),
        tCCD_R=ccd_s + int(rng.integers(0, 5)),
        tRTRS=int(rng.integers(1, 6)),
        tRRD_S=rrd_s,
        tRRD_L=rrd_s + int(rng.integers(0, 8)),
        tFAW=max(rrd_s, int(rng.integers(1, 60))),
        # At 64 banks a REFpb is owed every 24 clocks or more, beyond any tRREFD.
        tREFI=max(rfc, 1400) + int(rng.integers(200, 1500)),
        tRFC=rfc,
    )


def random_pattern(rng: np.random.Generator) -> int:
    """Mostly always; else ones at a random density, at least one of them."""
    if rng.random() < 0.4:
        return ALWAYS
    bits = rng.random(64) < rng.choice([0.03, 0.2, 0.5, 0.9])
    bits[rng.integers(64)] = True
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def random_contents(rng: np.random.Generator, rows: int, elements: int) -> np.ndarray:
    """FP16 bits: any of them, or close to each other in size, or special values mixed in."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 1 << 16, (rows, elements), dtype=np.uint16)
    bits = rng.normal(0, 1, (rows, elements)).astype(np.float16).view(np.uint16)
    if kind == 1:
        special = [0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E01, 0x0001, 0x8001, 0x7BFF, 0xFBFF, 0x0400]
        hit = rng.random(bits.shape) < 0.05
        bits[hit] = rng.choice(np.array(special, dtype=np.uint16), int(hit.sum()))
    return bits


def random_run(seed: int, lookups: int = 300) -> ClusterRun:
    """Any run: preset, tables, bags, policies, contents, settings, engine sizes, patterns."""
    rng = np.random.default_rng(seed)
    preset = random_preset(rng)
    in_arrays = bool(rng.random() < 0.5)
    count = int(rng.integers(1, 5))
    largest = 1024 if rng.random() < 0.4 else 256
    limit = 600 if in_arrays else 100_000
    shapes = [
        (int(rng.integers(1, limit)), 4 * int(rng.integers(1, largest // 4 + 1)))
        for _ in range(count)
    ]
    tables = place_tables(preset, shapes)
    wild = rng.random() < 0.6
    policies = [Policy.CLAMP, Policy.DROP] if rng.random() < 0.7 else list(Policy)
    tables = tuple(
        table.model_copy(update={"policy": policies[rng.integers(len(policies))]})
        for table in tables
    )
    mean = float(rng.choice([0.5, 3, 20, 80]))
    lengths, total = [], 0
    while total < lookups and len(lengths) < 200:
        length = int(min(lookups - total, rng.poisson(mean)))
        lengths.append(length)
        total += length
    bag_tables = rng.integers(0, count, len(lengths))
    bag_lengths = np.array(lengths, dtype=np.int64)
    rows = np.array([table.rows for table in tables])[np.repeat(bag_tables, bag_lengths)]
    few = rng.random() < 0.3
    indices = rng.integers(0, np.minimum(rows, 3) if few else rows)
    if wild:
        bad = np.flatnonzero(rng.random(total) < 0.02)
        outside = rng.choice([-1, 0, 1, 2**31 - 1, 2**32 + 1, -(2**63), 2**63 - 1], len(bad))
        indices[bad] = np.where(np.abs(outside) <= 1, rows[bad] + np.abs(outside), outside)
        indices[bad[outside == -1]] = -1
    return ClusterRun(
        preset=preset,
        tables=tables,
        bag_tables=bag_tables,
        bag_lengths=bag_lengths,
        indices=indices,
        settings=ClusterSettings(
            outstanding=int(rng.choice([1, 2, 3, 16, 64, 128, 256])),
            refresh_group=int(rng.integers(0, 9)),
            per_bank=preset.per_bank_refresh and bool(rng.integers(2)),
            row_hits=int(rng.choice([0, 0, 1, 2, 8, 255])),
            output="fp32" if rng.random() < 0.5 else "fp16",
        ),
        parameters=ClusterParameters(
            queue_depth=int(rng.choice([2, 4, 16, 64])),
            accumulator_words=int(rng.choice([64, 512, 4096])),
            bag_slots=int(rng.choice([2, 16, 128, 256])),
        ),
        patterns=ClusterPatterns(*(random_pattern(rng) for _ in range(3))),
        contents=tuple(random_contents(rng, table.rows, table.elements) for table in tables)
        if in_arrays
        else None,
        seed=int(rng.integers(0, 1 << 62)),
    )


def differences(one: ClusterResult, other: ClusterResult) -> list[str]:
    """Names of the fields in which two results differ, in any element."""
    arrays = ("bag", "beat", "lanes", "transfer_cycle", "commands")
    found = [
        name for name in arrays if not np.array_equal(getattr(one, name), getattr(other, name))
    ]
    return found + [
        counter.name
        for counter in one.counters
        if one.counters[counter] != other.counters.get(counter)
    ]


def uniform_run(
    preset: MemoryPreset,
    size: int,
    lookups: int,
    *,
    outstanding: int = 64,
    refresh_group: int = 4,
    seed: int = 0,
    indices: np.ndarray | None = None,
) -> ClusterRun:
    """Bags of 80 uniformly random rows of one table of `size` B that fills the pseudo channel."""
    per_row = preset.bursts_per_row // -(-size // preset.burst_bytes)
    rows = preset.banks * per_row * preset.organization.rows
    lengths = np.full(-(-lookups // 80), 80, dtype=np.int64)
    lengths[-1] -= lengths.sum() - lookups
    if indices is None:
        indices = np.random.default_rng(seed).integers(0, rows, lookups)
    return ClusterRun(
        preset=preset,
        tables=place_tables(preset, [(rows, size)]),
        bag_tables=np.zeros(len(lengths), dtype=np.int64),
        bag_lengths=lengths,
        indices=indices,
        settings=ClusterSettings(outstanding=outstanding, refresh_group=refresh_group),
        seed=seed,
    )
