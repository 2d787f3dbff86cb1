"""How long a tier of a chip's memory, and its dense compute, need for what one batch asks.

Formulas over the parameters of `models/spec/memory_tier.py` and `models/spec/system.py`.
"""

from recspeed.models.performance import access
from recspeed.models.spec.memory_tier import MemoryTier, Rate, Source
from recspeed.models.spec.system import Compute


def rate_seconds(rate: Rate, bytes_per_vector: int) -> float:
    """Seconds per vector and unit of memory that is described by a rate."""
    blocks = -(-bytes_per_vector // rate.granularity_bytes)
    transfer = blocks * rate.granularity_bytes / rate.gb_per_s
    return max(rate.overhead_ns / rate.outstanding + transfer / rate.outstanding, transfer) * 1e-9


def seconds_per_access(source: Source, bytes_per_vector: int) -> float:
    """Seconds per vector, with all units of a source at work."""
    if source.rate is not None:
        return rate_seconds(source.rate, bytes_per_vector) / source.units
    return access.access_time(source.preset or "", bytes_per_vector) / source.units


def tier_seconds(tier: MemoryTier, accesses: dict[int, float], bags: dict[float, float]) -> float:
    """Time of `accesses` (row bytes: count) that pool into `bags` (vector bytes: count).

    Memory, cache and attachment work at the same time; the slowest counts.
    """
    missing = 1.0 if tier.cache is None else 1 - tier.cache.hit_rate
    parts = [missing * sum(n * seconds_per_access(tier.source, b) for b, n in accesses.items())]
    if tier.cache is not None:
        cache = tier.cache.source
        parts.append(sum(n * seconds_per_access(cache, b) for b, n in accesses.items()))
    if tier.attachment is not None:
        if tier.attachment.pools:
            crossing = tier.attachment.partials_per_bag * sum(b * n for b, n in bags.items())
        else:
            crossing = sum(b * n for b, n in accesses.items())
        parts.append(crossing / (tier.attachment.gb_per_s * 1e9))
    return max(parts)


def compute_seconds(compute: Compute, macs: float) -> float:
    """Seconds of `macs` multiply-adds (two operations each)."""
    return 2 * macs / (compute.tflops * 1e12 * compute.efficiency)
