"""Compares what RTL and golden model make of a run, and holds both against the bound."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recspeed.models.bounds.collective import bound_clocks
from recspeed.models.collective.simulation import golden_outcome, golden_output
from recspeed.models.runs.collective import COUNTERS, CollectiveOutcome
from recspeed.models.spec.link import PAYLOAD_BYTES
from recspeed.tb.collective.mixes import Mix


def compare_outcomes(rtl: CollectiveOutcome, golden: CollectiveOutcome) -> list[str]:
    """One line per difference in clocks, errors and counters."""
    faults = []
    for name in ("starts", "completions", "peers", "errors"):
        seen, expected = getattr(rtl, name), getattr(golden, name)
        faults += [
            f"{name} of rank {rank}: RTL {a}, golden {b}"
            for rank, (a, b) in enumerate(zip(seen, expected, strict=True))
            if a != b
        ]
    if rtl.end != golden.end:
        faults.append(f"last clock: RTL {rtl.end}, golden {golden.end}")
    for rank, link, counter in np.argwhere(rtl.counters != golden.counters):
        faults.append(
            f"{COUNTERS[counter]} of rank {rank}, link {link}: "
            f"RTL {rtl.counters[rank, link, counter]}, "
            f"golden {golden.counters[rank, link, counter]}"
        )
    return faults


def compare_data(
    mix: Mix, outcome: CollectiveOutcome, outputs: Sequence[Sequence[NDArray[np.uint8]]]
) -> list[str]:
    """One line per output that differs, of the collectives that every rank has completed."""
    faults = []
    for number, item in enumerate(mix.collectives):
        if any(len(clocks) <= number for clocks in outcome.completions):
            break
        expected = golden_output(item, mix.inputs[number])
        for rank, (seen, wanted) in enumerate(zip(outputs[number], expected, strict=True)):
            if not np.array_equal(seen, wanted):
                place = int(np.argmax(seen != wanted)) if seen.shape == wanted.shape else -1
                faults.append(
                    f"collective {number} ({item.operation.name.lower()}), rank {rank}: "
                    f"output differs, first at byte {place}"
                )
        begin = min(clocks[number] for clocks in outcome.starts)
        end = max(clocks[number] for clocks in outcome.completions)
        bound = bound_clocks(item, mix.run.link)
        if end - begin < bound:
            faults.append(f"collective {number}: {end - begin} clocks beat the bound, {bound}")
    return faults


def compare_rest(mix: Mix, images: Sequence[NDArray[np.uint8]]) -> list[str]:
    """One line per rank whose buffers were written where no output is, as in a last line's tail."""
    faults = []
    for rank, (before, after) in enumerate(zip(mix.images, images, strict=True)):
        changed = before != after
        for blocks in mix.layout.outputs:
            for line, length in blocks[rank]:
                changed[line * PAYLOAD_BYTES : line * PAYLOAD_BYTES + length] = False
        if changed.any():
            place = int(np.argmax(changed))
            faults.append(f"rank {rank}: byte {place} of the buffers is no output and was written")
    return faults


def judge(mix: Mix, rtl: CollectiveOutcome, images: Sequence[NDArray[np.uint8]]) -> list[str]:
    """Everything that is wrong with the RTL's result of a mix."""
    golden = golden_outcome(mix.run)
    faults = [*rtl.violations, *compare_outcomes(rtl, golden)]
    if rtl.end < 0:
        faults.append(f"the run did not end within {mix.run.limit} clocks")
    faults += compare_data(mix, rtl, mix.layout.extract(images))
    return faults + compare_rest(mix, images)
