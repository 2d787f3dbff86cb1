"""Runs collectives on the RTL."""

import shutil
import tempfile
from collections.abc import Sequence
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
from recspeed.rtl.collective.descriptor import descriptor_layout
from recspeed.tb.collective.harness import build, wire_number
from recspeed.tb.simulator import toolchain

DESCRIPTOR_WORDS = 64
FLIT_WORDS = 17

Images = Sequence[NDArray[np.uint8]]


def pack_descriptor(descriptor: Descriptor, rank: int, chips: int) -> int:
    """Bits of a descriptor as the engine of `rank` takes them."""
    layout = descriptor_layout(chips - 1)
    peers = [peer for peer in range(chips) if peer != rank]
    constant = layout.const(
        {
            "common": {
                "operation": int(descriptor.operation),
                "wire": int(descriptor.wire),
                "sequence": descriptor.sequence,
                "local_source": descriptor.local_source,
                "local_bytes": descriptor.local_bytes,
                "result": descriptor.result,
                "result_bytes": descriptor.result_bytes,
            },
            "links": [
                {
                    "source": descriptor.source[peer],
                    "source_bytes": descriptor.source_bytes[peer],
                    "destination": descriptor.destination[peer],
                    "destination_bytes": descriptor.destination_bytes[peer],
                }
                for peer in peers
            ],
        }
    )
    return constant.as_bits()


def _store_run(folder: Path, run: CollectiveRun, images: Images) -> None:
    """Write a run as tb/collective/peers.cpp reads it."""
    folder.mkdir(parents=True)
    chips = run.chips
    lines = [
        f"depths {run.link.replay_depth} {run.link.receive_depth} {run.link.virtual_channels}",
        f"chips {chips}",
        *(f"stall {chip} {s.rate} {s.begin} {s.end}" for chip, s in run.stalls.items()),
        *(f"dead {wire_number(*pair, chips)} {clock}" for pair, clock in run.dead.items()),
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
                bits = pack_descriptor(descriptor, rank, chips)
                file.write(bits.to_bytes(DESCRIPTOR_WORDS * 4, "little"))


def _load_outcome(folder: Path, run: CollectiveRun) -> CollectiveOutcome:
    """Read what the run gave."""
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


def run_rtl(
    runs: Sequence[tuple[CollectiveRun, Images]],
    *,
    scratch: Path | None = None,
    waves: Path | None = None,
    cache: Path | None = None,
    timeout_seconds: float = 3600,
) -> list[tuple[CollectiveOutcome, list[NDArray[np.uint8]]]]:
    """Simulate runs that share chips and link parameters, one after the other.

    Parameters
    ----------
    runs
        Pairs of a run and the contents of every rank's buffers.
    scratch
        Folder for files of the simulation; a temporary one otherwise.
    waves
        File for a waveform (VCD), from a build of its own.
    cache
        Folder of built simulators, instead of the usual one.

    Returns
    -------
    list of (outcome, contents of every rank's buffers afterwards)

    Raises
    ------
    toolchain.ToolchainError
        When the simulation cannot be built or fails.
    """
    with tempfile.TemporaryDirectory(prefix="recspeed-collective-") as temporary:
        folder = scratch or Path(temporary)
        first = runs[0][0]
        simulator = build(
            first.link, first.chips, folder / "sources", waves=waves is not None, cache=cache
        )
        for index, (run, images) in enumerate(runs):
            _store_run(folder / "runs" / str(index), run, images)
        toolchain.simulate(
            simulator,
            "recspeed.tb.collective.cocotb_collective",
            folder=folder / "simulation",
            environment={
                "RECSPEED_RUNS": str((folder / "runs").absolute()),
                "RECSPEED_QUIESCE": str(quiesce_clocks(first.link)),
                "RECSPEED_LIMITS": " ".join(str(run.limit) for run, _ in runs),
            },
            timeout_seconds=timeout_seconds,
        )
        if waves is not None:
            waves.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / "simulation" / "dump.vcd", waves)
        results = []
        for index, (run, _) in enumerate(runs):
            place = folder / "runs" / str(index)
            outcome = _load_outcome(place, run)
            images = [
                np.fromfile(place / f"written_{rank}.bin", np.uint8) for rank in range(run.chips)
            ]
            results.append((outcome, images))
        return results
