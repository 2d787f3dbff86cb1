"""What the paper leaves open, how sure each assumption is, and how every cell moves without it.

`forced`: no other value fits the printed tables. `likely`: stated nearby, or usual; others fit
worse. `free`: calibrated on the tables, or of no weight.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.paper import Row, Variant, table_rows
from recspeed.models.performance.steps import Assumptions
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.system import System
from recspeed.models.spec.workload import Workload

Standing = Literal["forced", "likely", "free"]


@dataclass(frozen=True)
class Alternative:
    """Another value of an assumption, and the variant that applies it."""

    label: str
    variant: Variant


@dataclass(frozen=True)
class Assumption:
    """One assumption: what it says, why it is believed, and what else could be."""

    name: str
    statement: str
    standing: Standing
    evidence: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class Sensitivity:
    """All 32 cells under one alternative, in the order of `table_rows`; `change` against the
    default.
    """

    assumption: Assumption
    alternative: Alternative
    rows: tuple[Row, ...]
    change: tuple[float, ...]

    @property
    def largest_error(self) -> float:
        """Largest relative error against the paper."""
        return max(abs(row.relative_error) for row in self.rows)

    @property
    def mean_error(self) -> float:
        """Mean relative error against the paper."""
        return sum(abs(row.relative_error) for row in self.rows) / len(self.rows)


def _for(name: str, system: System, **update: Any) -> System:
    """`system` with `update` when it is the one of that name."""
    return system.model_copy(update=update) if system.name == name else system


def _compute(system: System, *, name: str, **update: float) -> System:
    return _for(name, system, compute=system.compute.model_copy(update=update))


def _chips(system: System, *, name: str, chips: int) -> System:
    return _for(name, system, chips=chips)


def _groups(system: System, *, groups: int) -> System:
    return system.model_copy(update={"lookup_groups": groups})


def _published_timings(system: System) -> System:
    """Every `-paper` memory preset replaced by the device's published timings."""
    tiers = []
    for tier in system.memory:
        preset = (tier.source.preset or "").removesuffix("-paper")
        source = tier.source.model_copy(update={"preset": preset or None})
        tiers.append(tier.model_copy(update={"source": source}))
    return system.model_copy(update={"memory": tuple(tiers)})


def _network(system: System, *, name: str, **update: Any) -> System:
    return _for(name, system, interconnect=system.interconnect.model_copy(update=update))


def _latencies(system: System, *, name: str, all_gather: float, all_reduce: float) -> System:
    if system.interconnect.latency_us is None:
        return system
    values = {
        "all_to_all": all_gather,
        "all_gather": all_gather,
        "reduce_scatter": all_gather,
        "all_reduce": all_reduce,
    }
    latency = system.interconnect.latency_us.model_copy(update=values)
    return _network(system, name=name, latency_us=latency)


def _indices(workload: Workload, *, width: int) -> Workload:
    return workload.changed(index_bytes=width)


def _diagonal(workload: Workload) -> Workload:
    """The interaction with its diagonal."""
    return workload.changed(keep_diagonal=True)


def _real_tables(name: str) -> str:
    return "table-wise" if name == "unsharded" else name


def _system(label: str, change: partial[System] | Any) -> Alternative:
    return Alternative(label, Variant(system=change))


def _assume(label: str, **values: Any) -> Alternative:
    return Alternative(label, Variant(assumptions=Assumptions(**values)))


_RECSPEED, _DGX = "recspeed-16", "dgx-2"

ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "chips",
        "RecSpeed has 16 chips in Tables XVI and XVII.",
        "forced",
        "5.5 TB of which 27 % is HBM is 16 x (96 + 256) GB; no other count reaches the QPS.",
        (
            _system("8 chips", partial(_chips, name=_RECSPEED, chips=8)),
            _system("6 chips", partial(_chips, name=_RECSPEED, chips=6)),
        ),
    ),
    Assumption(
        "schedule",
        "The next batch's index exchange hides behind this batch's lookups.",
        "forced",
        "SU and LU expose one collective latency, SS and LS two. The text says 'within a batch', "
        "which is the causal schedule.",
        (
            Alternative("causal", Variant(schedule="causal")),
            Alternative(
                "pipelined",
                Variant(schedule="pipelined", assumptions=Assumptions(stale_reads=True)),
            ),
        ),
    ),
    Assumption(
        "balance",
        "Lookups are spread evenly over the chips, although 40 tables on 16 chips cannot be.",
        "forced",
        "With 2 or 3 whole tables per chip SU and LU lose an eighth and more.",
        (Alternative("whole tables", Variant(placement=_real_tables)),),
    ),
    Assumption(
        "all-reduce latency",
        "An all-reduce costs one latency, not one for each of its two halves.",
        "forced",
        "Two latencies break the shares of Table XVII.",
        (_assume("two latencies", all_reduce_latencies=2),),
    ),
    Assumption(
        "sparse update",
        "The update writes the looked-up rows, which stay on the chip, without reading them again.",
        "forced",
        "Sec. V-B says so; reading them again costs a tenth to a third of the training QPS.",
        (_assume("read, modify, write", sparse_update="read-modify-write"),),
    ),
    Assumption(
        "lookup groups",
        "A batch's lookups and their exchange overlap in 10 groups.",
        "likely",
        "'Grouping memory accesses' (Sec. V-B) gives no number; about ten fits best.",
        tuple(_system(f"{n} groups", partial(_groups, groups=n)) for n in (1, 5, 20, 100)),
    ),
    Assumption(
        "index width",
        "Indices are 4 bytes wide.",
        "forced",
        "320 kB of indices per chip at 8 chips (Sec. VI-B).",
        (Alternative("8 bytes", Variant(workload=partial(_indices, width=8))),),
    ),
    Assumption(
        "sharded gradients",
        "Pooled gradients of fully sharded tables are gathered by all chips.",
        "likely",
        "Fig. 13 says 'all-to-all or all-gather'; only the all-gather explains SS and LS.",
        (_assume("all-to-all", sharded_gradient=Operation.ALL_TO_ALL),),
    ),
    Assumption(
        "backward",
        "The dense backward pass costs twice the forward pass.",
        "likely",
        "Gradients of weights and of inputs, each as large as the forward pass.",
        (_assume("once", backward_factor=1.0), _assume("three times", backward_factor=3.0)),
    ),
    Assumption(
        "interaction",
        "The dot interaction leaves the diagonal out.",
        "forced",
        "Table XII says so.",
        (Alternative("with diagonal", Variant(workload=_diagonal)),),
    ),
    Assumption(
        "dense compute",
        "RecSpeed computes 250 TFLOPS in FP16.",
        "free",
        "Not printed; dense layers take 1 to 2 % of a batch.",
        (
            _system("125 TFLOPS", partial(_compute, name=_RECSPEED, tflops=125.0)),
            _system("312 TFLOPS (A100)", partial(_compute, name=_RECSPEED, tflops=312.0)),
        ),
    ),
    Assumption(
        "dense update",
        "SGD updates 1,750 dense parameters per nanosecond and chip.",
        "free",
        "Fitted on the all-reduce shares of Table XVII.",
        (
            _system("half the rate", partial(_compute, name=_RECSPEED, updates_per_ns=875.0)),
            _system("twice the rate", partial(_compute, name=_RECSPEED, updates_per_ns=3500.0)),
        ),
    ),
    Assumption(
        "memory rates",
        "Lookup rates are calibrated: two access times per memory.",
        "free",
        "The DRAM timings cannot be recovered; published ones are faster at 64 B and 256 B.",
        (_system("published timings", _published_timings),),
    ),
    Assumption(
        "DGX-2 bandwidth",
        "The DGX-2's collectives fall from 150 to 107 GB/s towards 29 MB.",
        "free",
        "150 GB/s is printed (Table XV); the fall is recovered from LS alone.",
        (_system("150 GB/s throughout", partial(_network, name=_DGX, curve=None)),),
    ),
    Assumption(
        "DGX-2 latency",
        "102 us for an all-gather or all-to-all, 127 us for an all-reduce.",
        "free",
        "The digits of Table VI are lost; recovered from SU.",
        (
            _system(
                "100 and 125 us",
                partial(_latencies, name=_DGX, all_gather=100.0, all_reduce=125.0),
            ),
            _system(
                "both 102 us", partial(_latencies, name=_DGX, all_gather=102.0, all_reduce=102.0)
            ),
        ),
    ),
)


def sensitivities() -> list[Sensitivity]:
    """Every alternative of every assumption, one changed at a time."""
    default = table_rows()
    result = []
    for assumption in ASSUMPTIONS:
        for alternative in assumption.alternatives:
            rows = table_rows(alternative.variant)
            if len(rows) != len(default):
                raise SpecificationError(f"{alternative.label}: {len(rows)} cells")
            change = tuple(
                new.model / old.model - 1 for new, old in zip(rows, default, strict=True)
            )
            result.append(Sensitivity(assumption, alternative, tuple(rows), change))
    return result
