"""Energy per query: what moves, times what moving it costs, with ranges where sources differ.

Only dynamic energy of data movement and arithmetic is counted; leakage, clocks, cooling and power
supplies are not, so this is a floor for a system's power.
"""

from dataclasses import dataclass

from recspeed.models.performance import access
from recspeed.models.performance.footprint import tier_shares
from recspeed.models.performance.model import Evaluation
from recspeed.models.spec.memory_tier import MemoryTier
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload


@dataclass(frozen=True)
class Range:
    """Low, typical and high value of one figure, and where they come from."""

    low: float
    typical: float
    high: float
    source: str

    def times(self, factor: float) -> tuple[float, float, float]:
        """The three values, each times `factor`."""
        return self.low * factor, self.typical * factor, self.high * factor


MEMORY_PJ_PER_BIT: dict[str, Range] = {
    "hbm": Range(
        2.5, 3.5, 7.0,
        "O'Connor et al., MICRO 2017, HBM2: 1.51 + 1.17 pJ/bit in the device and 0.80 on the "
        "interface (low: half the bits toggling); high: Jouppi et al., ISCA 2021, 450 pJ / 64 bits",
    ),
    "gddr6": Range(6.0, 7.5, 9.0, "Device and interface, from vendors' figures; estimate"),
    "ddr4": Range(
        12.0, 20.0, 40.0,
        "Horowitz, ISSCC 2014: 1.3 to 2.6 nJ per 64 bits from DRAM (20 to 40 pJ/bit, DDR3 with "
        "interface); low: DDR4 with its lower voltage, estimate",
    ),
    "sram": Range(
        0.08, 0.3, 1.6,
        "Horowitz, ISSCC 2014: 10 to 100 pJ per 64 bits in 8 KB to 1 MB, 45 nm; low: at 7 nm",
    ),
    "ssd": Range(30.0, 60.0, 120.0, "6 to 12 W drives at 3.2 GB/s with controller share; estimate"),
}  # fmt: skip
"""Bits that a memory reads or writes, whole bursts."""

ACTIVATE_NJ: dict[str, Range] = {
    "hbm": Range(0.5, 0.9, 1.2, "O'Connor et al., MICRO 2017: 909 pJ per 1 KB row of HBM2"),
    "gddr6": Range(1.0, 1.8, 2.5, "2 KB rows: twice HBM2's; estimate"),
    "ddr4": Range(
        2.0,
        4.0,
        8.0,
        "8 KB over a rank: (IDD0 - IDD3N) x VDD x tRC of x8 DDR4-3200 data sheets; estimate",
    ),
}
"""One activate and precharge. Every random lookup pays a whole one; pJ/bit of streams hides it."""

LINK_PJ_PER_BIT: dict[str, Range] = {
    "board": Range(
        1.2, 5.0, 8.0,
        "low: ground-referenced signalling on a board, Poulton et al., JSSC 2019 (1.17 pJ/bit); "
        "high: long-reach 56 to 112 Gb/s transceivers",
    ),
    "switched": Range(
        10.0, 15.0, 25.0, "two long-reach links and a switch chip in between; estimate"
    ),
}  # fmt: skip

COMPUTE_PJ_PER_MAC = Range(
    0.4, 1.3, 2.6,
    "low: 1.5 pJ in 45 nm (Horowitz, ISSCC 2014: FP16 add 0.4, multiply 1.1 pJ) scaled to 7 nm; "
    "typical: half of 400 W over 156e12 multiply-adds per second of an A100; high: all of it",
)  # fmt: skip

Three = tuple[float, float, float]


@dataclass(frozen=True)
class Energy:
    """Joules per query (batch): low, typical, high of each part. All chips together."""

    memory: Three
    network: Three
    compute: Three

    @property
    def total(self) -> Three:
        """Sum of the parts."""
        low, typical, high = (self.memory[i] + self.network[i] + self.compute[i] for i in range(3))
        return low, typical, high

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Plain data for JSON."""
        names = ("low", "typical", "high")
        parts = {
            "memory": self.memory,
            "network": self.network,
            "compute": self.compute,
            "total": self.total,
        }
        return {part: dict(zip(names, values, strict=True)) for part, values in parts.items()}


def _sum(parts: list[Three]) -> Three:
    low, typical, high = (sum(part[i] for part in parts) for i in range(3))
    return low, typical, high


def _tier(tier: MemoryTier, accesses: dict[int, float]) -> Three:
    """Joules of one chip's accesses to a tier: bits in whole bursts, plus a row activate each."""
    missing = 1.0 if tier.cache is None else 1 - tier.cache.hit_rate
    parts = []
    for size, count in accesses.items():
        if tier.source.preset is not None:
            burst = access.burst_bytes(tier.source.preset)
        else:
            burst = tier.source.rate.granularity_bytes if tier.source.rate else 1
        moved = -(-size // burst) * burst * count
        parts.append(MEMORY_PJ_PER_BIT[tier.kind].times(missing * moved * 8e-12))
        if tier.kind in ACTIVATE_NJ:
            parts.append(ACTIVATE_NJ[tier.kind].times(missing * count * 1e-9))
        if tier.cache is not None:
            kind = "ddr4" if tier.kind == "ssd" else "sram"
            parts.append(MEMORY_PJ_PER_BIT[kind].times(size * count * 8e-12))
    return _sum(parts)


def energy_per_query(result: Evaluation, workload: Workload, system: System) -> Energy:
    """Joules of one batch on all chips: lookups (and sparse update), every exchange, dense layers.

    The bus of memory that pools by itself is counted as a board link.
    """
    steps = result.steps
    chips = [(result.load.chips[0], result.chips)] if result.load.identical else [
        (load, 1) for load in result.load.chips
    ]  # fmt: skip
    passes = sum(step.seconds for step in steps.values() if step.resource == "memory")
    passes /= steps["lookup"].seconds
    memory = []
    for load, count in chips:
        for tier, share in zip(system.memory, tier_shares(load, workload, system), strict=True):
            accesses = {size: share * count * passes * n for size, n in load.accesses.items()}
            memory.append(_tier(tier, accesses))
            if tier.attachment is not None:
                crossing = sum(size * n for size, n in load.bags.items()) * share * count * passes
                memory.append(LINK_PJ_PER_BIT["board"].times(crossing * 8e-12))
    sent = sum(step.moved_bytes for step in steps.values() if step.resource == "network")
    macs = workload.macs_per_sample * workload.batch * (3 if result.training else 1)
    return Energy(
        memory=_sum(memory),
        network=LINK_PJ_PER_BIT[system.link_energy].times(sent * result.chips * 8e-12),
        compute=COMPUTE_PJ_PER_MAC.times(macs * 1e-12),
    )
