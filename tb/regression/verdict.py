"""The verdict on one case of a regression: RTL against golden model and JEDEC's rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from recspeed.models.cluster.simulation import simulate_cluster
from recspeed.models.dram.hbm_channel import simulate_hbm_channel
from recspeed.models.dram.simulation import simulate_dram
from recspeed.models.runs.cluster import ClusterResult, ClusterRun
from recspeed.models.runs.dram import DramResult, DramRun
from recspeed.tb.checkers import jedec
from recspeed.tb.checkers.scoreboard import compare, compare_dram


@dataclass(frozen=True)
class Verdict:
    """What became of a case; passed when there are no faults."""

    name: str
    faults: tuple[str, ...]
    cycles: int

    @property
    def passed(self) -> bool:
        return not self.faults


def judge(name: str, run: ClusterRun, rtl: ClusterResult) -> Verdict:
    """Compare an RTL result with the golden model's, and its commands with JEDEC's rules."""
    faults = [str(difference) for difference in compare(rtl, simulate_cluster(run))]
    return Verdict(name, (*faults, *jedec_faults(run, rtl)), rtl.cycles)


def judge_front_end(name: str, run: DramRun, rtl: DramResult) -> Verdict:
    """Compare what a front-end gave with the golden model, and its commands with JEDEC's rules."""
    faults = [str(difference) for difference in compare_dram(rtl, simulate_dram(run))]
    return Verdict(name, (*faults, *jedec_faults(run, rtl)), rtl.cycles)


def judge_hbm_channel(
    name: str, runs: tuple[DramRun, DramRun], rtl: Sequence[DramResult]
) -> Verdict:
    """Judge each pseudo channel of an HBM channel as `judge_front_end`, and their shared buses."""
    faults = []
    for number, (run, result, golden) in enumerate(
        zip(runs, rtl, simulate_hbm_channel(runs), strict=True)
    ):
        own = [*map(str, compare_dram(result, golden)), *jedec_faults(run, result)]
        faults += [f"pseudo channel {number}: {fault}" for fault in own]
    report = jedec.check_shared_row_bus(runs[0].preset, rtl[0].commands, rtl[1].commands)
    faults += [f"JEDEC: {violation}" for violation in report.violations]
    return Verdict(name, tuple(faults), max(result.cycles for result in rtl))


def jedec_faults(run: ClusterRun | DramRun, rtl: ClusterResult | DramResult) -> list[str]:
    """Violations of JEDEC's rules in the commands of a result."""
    settings = run.settings
    report = jedec.check(
        run.preset,
        rtl.commands,
        refresh=settings.refresh_group > 0,
        per_bank=settings.per_bank,
    )
    return [f"JEDEC: {violation}" for violation in report.violations]
