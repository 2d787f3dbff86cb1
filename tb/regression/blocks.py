"""The full regression: every block, with the cases that it is made of."""

from collections.abc import Callable, Mapping

from recspeed.tb.regression.case import Case
from recspeed.tb.regression.cluster_cases import channel_cases
from recspeed.tb.regression.collective_cases import collective_cases
from recspeed.tb.regression.dram_cases import front_end_cases, hbm_channel_cases

__all__ = ["BLOCKS", "regression_cases"]

BLOCKS: Mapping[str, Callable[[int, int], list[Case]]] = {
    "cluster": channel_cases,
    "dram_front_end": front_end_cases,
    "hbm_channel": hbm_channel_cases,
    "collective": collective_cases,
}
"""Cases of a block by number of random runs, as the block counts them, and first seed."""


def regression_cases(random_runs: Mapping[str, int], first_seed: int) -> list[Case]:
    """The cases of the blocks in `random_runs`, with that many random runs of each."""
    return [
        case
        for block, cases in BLOCKS.items()
        if block in random_runs
        for case in cases(random_runs[block], first_seed)
    ]
