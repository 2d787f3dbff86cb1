"""The model's side of the paper's Tables IV, V and X to XII: computed, not quoted."""

from recspeed.models.performance import presets
from recspeed.models.performance.collective_time import collective_time
from recspeed.models.performance.errors import DoesNotFitError
from recspeed.models.performance.footprint import rows_that_fit
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.paper import CASES, evaluate_case
from recspeed.models.spec.collective import Operation
from recspeed.models.spec.interconnect import Interconnect, Topology
from recspeed.models.spec.placement_strategy import parse_placement
from recspeed.models.spec.workload import Workload

WORKLOADS = ("rm2-small", "rm2-large")
TOPOLOGIES: tuple[Topology, ...] = ("fully-connected", "switched", "ring", "mesh")


def model_sizes() -> list[list[str | float]]:
    """Table IV's columns for DLRM-RM2 that fills RecSpeed: parameters, operations per weight.

    An embedding row is read once per lookup and each of its values is added once; a dense weight
    is used by every sample of a chip's share of the batch, a multiply and an add each.
    """
    system = presets.system("recspeed-16")
    rows: list[list[str | float]] = []
    for name in WORKLOADS:
        workload = presets.workload(name)
        group = workload.tables[0]
        embeddings = rows_that_fit(workload, system) * workload.table_count * group.dimension
        adds_per_value = 1.0
        rows.append([f"{name}: embedding tables that fill recspeed-16", embeddings, adds_per_value])
        dense = 2 * workload.mlp_macs_per_sample * workload.batch / system.chips
        rows.append([f"{name}: MLPs", workload.dense_parameters, dense / workload.dense_parameters])
    return rows


def collective_times() -> list[list[str | float]]:
    """Table V by numbers: microseconds of every operation on four topologies of equal bandwidth.

    8 chips, 100 GB/s per chip, 0.2 us per link and 0.3 us per switch; 64 kB and 1 MB per chip.
    """
    rows: list[list[str | float]] = []
    chips = 8
    for topology in TOPOLOGIES:
        network = Interconnect(
            topology=topology, gb_per_s=100.0, link_latency_us=0.2, switch_latency_us=0.3
        )
        for operation in Operation:
            times: list[str | float] = [topology, operation.text]
            for volume in (64e3, 1e6):
                f = (chips - 1) / chips
                sent = {
                    Operation.ALL_GATHER: volume * (chips - 1),
                    Operation.ALL_REDUCE: 2 * volume * f,
                }
                time = collective_time(network, operation, sent.get(operation, volume * f), chips)
                times.append(time.seconds * 1e6)
            rows.append(times)
    return rows


def buffer_bytes() -> list[list[str | float]]:
    """Table X by numbers: bytes per chip of RecSpeed for each use of on-chip memory, training."""
    rows: list[list[str | float]] = []
    for case in CASES:
        size = evaluate_case(case, "recspeed-16", training=True).footprint
        rows.append(
            [
                case.name,
                size.dense_weights,
                size.gradients,
                size.kept_rows,
                size.buffers,
                size.activations,
                size.on_chip,
            ]
        )
    return rows


WHAT_IF = (
    ("dgx-a100", "dgx-a100-plus"),
    ("gc200-4", "gc200-4-dram"),
    ("cs-1", "cs-1-dram"),
)
"""Table XI: a system as it is, and with the changes that the table names."""


def what_if() -> list[list[str | float]]:
    """Table XI by numbers: capacity and QPS of each case before and after the change.

    Chips whose tables would lie in SRAM are quoted at the rows that fit there.
    """
    rows: list[list[str | float]] = []
    for pair in WHAT_IF:
        for name in pair:
            system = presets.system(name)
            line: list[str | float] = [name, system.memory_bytes / 2**30]
            line += [evaluate_case(case, name, training=False).qps for case in CASES]
            rows.append(line)
    return rows


def _answer(workload: Workload, name: str) -> str:
    """QPS of a workload on a system under its best plain placement, or that it does not fit."""
    best = 0.0
    for placement in ("unsharded", "row-wise"):
        try:
            result = evaluate(workload, presets.system(name), parse_placement(placement))
        except DoesNotFitError:
            continue
        best = max(best, result.qps)
    return f"{best:,.0f} QPS" if best else "does not fit"


FITTED = ("deeprecsys-rm1", "deeprecsys-rm2", "kaggle-dlrm", "mlperf-dcnv2")


def what_fits() -> list[list[str | float]]:
    """Sec. II-D by numbers: rows per RM2 table that fit, and which public models fit."""
    rows: list[list[str | float]] = []
    for name in ("cs-1", "gc2-16", "gc200-4", "cs-1-dram", "gc200-4-dram", "recspeed-16"):
        system = presets.system(name)
        line: list[str | float] = [name, system.memory_bytes / 2**30]
        line.append(rows_that_fit(presets.workload("rm2-small"), system))
        line += [_answer(presets.workload(model), name) for model in FITTED]
        rows.append(line)
    return rows


def configuration() -> list[list[str | float]]:
    """Table XII by numbers: what follows from the configuration."""
    rows: list[list[str | float]] = []
    for name in WORKLOADS:
        w = presets.workload(name)
        rows.append(
            [
                name,
                w.batch,
                w.interaction_width,
                w.dense_parameters,
                2 * w.macs_per_sample / 1e6,
                w.batch * w.lookups_per_sample,
                w.batch * w.gathered_bytes_per_sample / 1e6,
            ]
        )
    return rows


def all_systems() -> list[list[str | float]]:
    """Every system preset on the paper's four cases, inference, side by side."""
    rows: list[list[str | float]] = []
    for name in presets.names("systems"):
        system = presets.system(name)
        line: list[str | float] = [name, system.chips, system.memory_bytes / 2**30]
        results = [evaluate_case(case, name, training=False) for case in CASES]
        line += [result.qps for result in results]
        line += [results[0].bottleneck, results[3].bottleneck]
        rows.append(line)
    return rows
