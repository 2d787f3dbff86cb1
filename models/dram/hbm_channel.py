"""Golden model of an HBM channel: two pseudo channels that share its command buses.

It is written from docs/dram.md and shares nothing with the RTL.
"""

import numpy as np

from recspeed.models.dram.command_bus import command_buses
from recspeed.models.dram.front_end_record import front_end
from recspeed.models.dram.hbm_channel_loop import run_clocks_of_both
from recspeed.models.dram.simulation import check_run, dram_result
from recspeed.models.dram.sourced_front_end import run_state
from recspeed.models.lib.command_log import CHUNK_CLOCKS, RunLog
from recspeed.models.lib.endless_run import EndlessRunError, patience, standstill
from recspeed.models.runs.dram import REQUESTS, DramResult, DramRun


def simulate_hbm_channel(
    runs: tuple[DramRun, DramRun], *, record_beats: bool = True
) -> tuple[DramResult, DramResult]:
    """Execute a run on each pseudo channel of one HBM channel, both from clock 0 on.

    Parameters
    ----------
    runs : two DramRun
        The input of pseudo channels 0 and 1, of one preset and queue depth.
    record_beats : bool
        Whether the results' `beats` are filled; without them a long run takes less memory and time.

    Raises
    ------
    ValueError
        For two presets or queue depths, for a device of one command bus, and for either run as
        `simulate_dram` does.
    EndlessRunError
        For a run that cannot end.
    """
    check_pair(runs)
    fronts = np.concatenate([front_end(r.preset, r.settings, r.queue_depth) for r in runs])
    states = np.concatenate([run_state(run) for run in runs])
    logs = _run_to_end(runs, fronts, states)
    results = [
        dram_result(run, fronts[n : n + 1], states[n : n + 1], logs[n], record_beats=record_beats)
        for n, run in enumerate(runs)
    ]
    return results[0], results[1]


def check_pair(runs: tuple[DramRun, DramRun]) -> None:
    """Refuse what two pseudo channels cannot have, and either run as `check_run` does.

    Raises
    ------
    ValueError, EndlessRunError
        As `simulate_hbm_channel` does.
    """
    presets = [run.preset for run in runs]
    if presets[0] != presets[1]:
        names = " and ".join(preset.name for preset in presets)
        raise ValueError(f"pseudo channels of {names}; expected one preset")
    if presets[0].organization.command_bus != "separate":
        raise ValueError(f"{presets[0].name} has no pseudo channels that share command buses")
    depths = [run.queue_depth for run in runs]
    if depths[0] != depths[1]:
        raise ValueError(f"queues of {depths[0]} and {depths[1]} requests; expected one depth")
    for number, run in enumerate(runs):
        try:
            check_run(run)
        except (ValueError, EndlessRunError) as error:
            raise type(error)(f"pseudo channel {number}: {error}") from error


def _run_to_end(
    runs: tuple[DramRun, DramRun], fronts: np.ndarray, states: np.ndarray
) -> tuple[RunLog, RunLog]:
    """Run the clock loop until both are done."""
    logs = (RunLog(), RunLog())
    buffers = (tuple(log.commands for log in logs), tuple(log.served for log in logs))
    reads, writes = (
        tuple(np.ascontiguousarray(getattr(run, name), dtype=REQUESTS) for run in runs)
        for name in ("reads", "writes")
    )
    # Each may have every other clock of the buses only.
    limit = 2 * max(patience(run.preset, run.settings.refresh_group) for run in runs)
    buses = command_buses(runs[0].preset)
    while not states["finished"].all():
        run_clocks_of_both(fronts, states, buses, reads, writes, *buffers, CHUNK_CLOCKS)
        for log, logged in zip(logs, states["logged"], strict=True):
            log.keep(logged)
        t = buses["t"][0]
        for number in np.flatnonzero(states["finished"] == 0):
            if t - states["progress"][number] > limit:
                error = standstill(states["progress"][number], t)
                raise EndlessRunError(f"pseudo channel {number}: {error}")
    return logs
