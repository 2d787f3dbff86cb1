"""The clock loop of a whole system: all engines, all links, and the wires between them."""

from numba import njit

from recspeed.models.collective.engine import chip_clock
from recspeed.models.lib.compilation import sources_fingerprint


def _compile(fingerprint: int):
    """The loop, compiled; `fingerprint` makes numba's cache notice changes in other files."""

    @njit(error_model="numpy", cache=True, nogil=True)
    def run_clocks(system):
        """Run a `SystemRecord` until every chip has finished and `quiesce` clocks more, or `limit`.

        Leaves the last clock in `run.end`, -1 at the limit.
        """
        _ = fingerprint
        run = system.run[0]
        clock, waited = 0, 0
        while clock != run.limit:
            finished = True
            for rank in range(len(system.chips)):
                finished = finished and system.chips[rank].finished != 0
            if finished and waited == run.quiesce:
                run.end = clock
                return
            waited += finished
            for rank in range(len(system.chips)):
                chip_clock(system, rank, clock)
            clock += 1

    return run_clocks


run_clocks = _compile(sources_fingerprint("collective", "lib", "runs", "spec"))
