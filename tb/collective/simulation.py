"""Runs collectives on the RTL: what a run is in its peers' folder, and what comes back."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.collective import (
    COUNTERS,
    CollectiveOutcome,
    CollectiveRun,
    Descriptor,
    quiesce_clocks,
)
from recspeed.models.spec.link import LinkParameters
from recspeed.tb.collective.control import TOPLEVEL, Control, wire_number
from recspeed.tb.peers.library import FOLDER, parts
from recspeed.tb.simulator import toolchain
from recspeed.tb.simulator.layouts import Layout, Layouts, pack_number
from recspeed.tb.simulator.plan import PlannedRun, RunOutcome
from recspeed.tb.simulator.simulation import RunFormat, simulate_runs

HARNESS = "recspeed.tb.collective.harness"

DESCRIPTOR_WORDS = 64
FLIT_WORDS = 17

PEERS = (*parts("wire", "memory", "host"), FOLDER.parent / "checkers" / "link_laws.cpp")
ARGUMENTS = (
    "--hierarchical",
    "--build",
    # Wide operations stay calls: a quarter of the code, and faster for these widths.
    "--expand-limit",
    "2",
)

Images = Sequence[NDArray[np.uint8]]
Job = tuple[CollectiveRun, Images]
"""A run, and the contents of every rank's buffers before it."""
JobResult = tuple[CollectiveOutcome, list[NDArray[np.uint8]]]
"""What a run gave, and the contents of every rank's buffers after it."""


def collective_generator(link: LinkParameters, chips: int) -> toolchain.Generator:
    """How the testbench of `chips` engines is made."""

    def write(folder: Path) -> toolchain.Design:
        from recspeed.tb.collective.harness import (
            write_design,  # Amaranth, where there is no build yet
        )

        return write_design(folder, link, chips)

    return toolchain.Generator(
        HARNESS, {"link": link.model_dump(mode="json"), "chips": chips}, write
    )


def build_collective(
    link: LinkParameters, chips: int, *, waves: bool = False, cache: Path | None = None
) -> toolchain.Simulator:
    """The simulator of `chips` engines, from the cache where it is there.

    Raises
    ------
    toolchain.ToolchainError
        When it cannot be built.
    """
    return toolchain.build_generated(
        TOPLEVEL,
        collective_generator(link, chips),
        PEERS,
        arguments=ARGUMENTS,
        waves=waves,
        cache=cache,
    )


def pack_descriptor(layout: Layout, descriptor: Descriptor, rank: int, chips: int) -> int:
    """Bits of a descriptor as the engine of `rank` takes them."""
    values = {
        "common.operation": int(descriptor.operation),
        "common.wire": int(descriptor.wire),
        "common.sequence": descriptor.sequence,
        "common.local_source": descriptor.local_source,
        "common.local_bytes": descriptor.local_bytes,
        "common.result": descriptor.result,
        "common.result_bytes": descriptor.result_bytes,
    }
    for link, peer in enumerate(peer for peer in range(chips) if peer != rank):
        values |= {
            f"links.{link}.source": descriptor.source[peer],
            f"links.{link}.source_bytes": descriptor.source_bytes[peer],
            f"links.{link}.destination": descriptor.destination[peer],
            f"links.{link}.destination_bytes": descriptor.destination_bytes[peer],
        }
    return pack_number(layout, values)


def plan_job(job: Job) -> PlannedRun:
    """Registers of a run; the harness itself ends it at its limit, long before the watchdog."""
    run, _ = job
    quiesce = quiesce_clocks(run.link)
    registers = [(int(Control.QUIESCE), quiesce), (int(Control.LIMIT), run.limit)]
    return PlannedRun(registers, run.limit + quiesce + 1000, 0)


def write_job(folder: Path, job: Job, layouts: Layouts) -> None:
    """Put a run into `folder`, in the form that the peers read."""
    run, images = job
    chips = run.chips
    lines = [
        f"depths {run.link.replay_depth} {run.link.receive_depth} {run.link.virtual_channels}",
        f"faults {len(run.faults)}",
        *(f"dead {wire_number(*pair, chips)} {clock}" for pair, clock in run.dead.items()),
        *(f"{kind} {chip}" for kind in ("memory", "host") for chip in range(chips)),
        *(f"stall {chip} {s.rate} {s.begin} {s.end}" for chip, s in run.stalls.items()),
    ]
    (folder / "run.txt").write_text("\n".join(lines) + "\n")
    faults = sorted(run.faults, key=lambda f: (wire_number(f.source, f.target, chips), f.ordinal))
    with (folder / "faults.bin").open("wb") as file:
        for fault in faults:
            head = [wire_number(fault.source, fault.target, chips), int(fault.kind)]
            file.write(np.array(head, "<i4").tobytes())
            file.write(np.array([fault.ordinal], "<i8").tobytes())
            file.write(fault.mask.to_bytes(FLIT_WORDS * 4, "little"))
    for rank, (image, descriptors) in enumerate(zip(images, run.descriptors, strict=True)):
        image.tofile(folder / f"memory_{rank}.bin")
        with (folder / f"descriptors_{rank}.bin").open("wb") as file:
            for descriptor in descriptors:
                file.write(np.array([descriptor.ready_from], "<i8").tobytes())
                bits = pack_descriptor(layouts["descriptor"], descriptor, rank, chips)
                file.write(bits.to_bytes(DESCRIPTOR_WORDS * 4, "little"))


def read_events(folder: Path, run: CollectiveRun) -> CollectiveOutcome:
    """What the events of a run in `folder` say of it."""
    chips = run.chips
    outcome = CollectiveOutcome(
        starts=[[] for _ in range(chips)],
        completions=[[] for _ in range(chips)],
        peers=[[] for _ in range(chips)],
        errors=[None] * chips,
        counters=np.zeros((chips, chips - 1, len(COUNTERS)), np.int64),
        end=-1,
    )
    for line in (folder / "events.txt").read_text().splitlines():
        what, *rest = line.split(maxsplit=1)
        if what == "violation":
            outcome.violations.append(rest[0])
            continue
        numbers = [int(word) for word in rest[0].split()]
        match what:
            case "start":
                outcome.starts[numbers[0]].append(numbers[1])
            case "complete":
                outcome.completions[numbers[0]].append(numbers[1])
            case "peers":
                outcome.peers[numbers[0]].append((numbers[1], numbers[2]))
            case "error":
                clock, packed = numbers[1], numbers[2]
                outcome.errors[numbers[0]] = (clock, packed & 7, packed >> 3)
            case "counters":
                outcome.counters[numbers[0], numbers[1]] = numbers[2:]
            case "end":
                outcome.end = numbers[0] if numbers[0] < run.limit else -1
    return outcome


def read_job(folder: Path, job: Job, _outcome: RunOutcome, _layouts: Layouts) -> JobResult:
    """Read what the peers stored in `folder`."""
    run, _ = job
    images = [np.fromfile(folder / f"written_{rank}.bin", np.uint8) for rank in range(run.chips)]
    return read_events(folder, run), images


def simulate_collectives(
    jobs: Sequence[Job],
    *,
    simulator: toolchain.Simulator | None = None,
    waves: Path | None = None,
    on_result: Callable[[int, JobResult], None] | None = None,
    cache: Path | None = None,
    timeout_seconds: float = 3600,
) -> list[JobResult]:
    """Simulate runs that share chips and link parameters, one after the other in one process.

    Parameters
    ----------
    simulator
        A build for these runs, instead of the one that their chips and link parameters imply.
    waves
        Write a VCD waveform to this path; needs a slower build.
    on_result
        Called with number and result of each run, as soon as the simulation has ended.
    cache
        Folder of built simulators, instead of the usual one.
    timeout_seconds
        Wall-clock limit of the simulation.

    Raises
    ------
    ChannelError, toolchain.ToolchainError
        When the simulation cannot be built or fails.
    """
    if not jobs:
        return []
    first = jobs[0][0]
    if any(run.link != first.link or run.chips != first.chips for run, _ in jobs):
        raise ValueError("runs of one simulation must share chips and link parameters")
    return simulate_runs(
        simulator
        or build_collective(first.link, first.chips, waves=waves is not None, cache=cache),
        RunFormat(write_job, plan_job, read_job),
        jobs,
        waves=waves,
        on_result=on_result,
        timeout_seconds=timeout_seconds,
    )
