"""Golden model of an HBM channel: two pseudo channels that share its command buses.

It is written from docs/dram.md and shares nothing with the RTL.
"""

import numpy as np

from recspeed.models.dram.clock_loop import run_clocks_on_shared_buses
from recspeed.models.dram.command_bus import command_buses
from recspeed.models.dram.front_end_record import front_ends
from recspeed.models.dram.simulation import check_run, dram_result
from recspeed.models.dram.sourced_front_end import sourced_runs
from recspeed.models.lib.command_log import CHUNK_CLOCKS, CommandLogs
from recspeed.models.lib.endless_run import EndlessRunError, patience, standstill
from recspeed.models.runs.dram import DramResult, DramRun


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
    records = front_ends(runs)
    users, reads, writes = sourced_runs(runs)
    logs = CommandLogs(len(runs))
    buses = command_buses(runs[0].preset)
    # Each may have every other clock of the buses only.
    limit = 2 * max(patience(run.preset, run.settings.refresh_group) for run in runs)
    while not users["finished"].all():
        run_clocks_on_shared_buses(
            records, users, buses, reads, writes, logs.commands, logs.served, CHUNK_CLOCKS
        )
        logs.keep(users["logged"])
        t = buses["t"][0]
        for number in np.flatnonzero(users["finished"] == 0):
            if t - users["progress"][number] > limit:
                error = standstill(users["progress"][number], t)
                raise EndlessRunError(f"pseudo channel {number}: {error}")
    results = [
        dram_result(run, records[number], users[number], logs, number, record_beats=record_beats)
        for number, run in enumerate(runs)
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
