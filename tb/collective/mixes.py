"""Random mixes of collectives, with skews, stalls and link errors, and runs of special interest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recspeed.models.runs.collective import (
    Collective,
    CollectiveRun,
    Fault,
    FaultKind,
    Layout,
    Stall,
    collective,
    lay_out,
    start_clock,
)
from recspeed.models.spec.collective import Operation, WireFormat
from recspeed.models.spec.link import LinkParameters

LIMIT = 2_000_000
"""Clocks after which a run counts as hanging."""

FLIT_BITS = 544


@dataclass(frozen=True, eq=False)
class Mix:
    """A run with the collectives that it is made of and their inputs `[k][rank]`, uint8."""

    collectives: list[Collective]
    inputs: list[list[NDArray[np.uint8]]]
    layout: Layout
    run: CollectiveRun

    @property
    def images(self) -> list[NDArray[np.uint8]]:
        """Contents of every rank's buffers before the run.

        What is no input is random, so that a byte which is written where nothing belongs shows.
        """
        return self.layout.images(self.inputs, np.random.default_rng(0))


def random_mask(rng: np.random.Generator) -> int:
    """Bits to flip that the CRC surely finds: one, two, three, or a burst of up to 16."""
    match int(rng.integers(4)):
        case 0:
            return 1 << int(rng.integers(FLIT_BITS))
        case 1:
            first, second = rng.choice(FLIT_BITS, 2, replace=False)
            return 1 << int(first) | 1 << int(second)
        case 2:
            return sum(1 << int(bit) for bit in rng.choice(FLIT_BITS, 3, replace=False))
        case _:
            length = int(rng.integers(2, 17))
            inner = int(rng.integers(1 << (length - 2)))
            burst = 1 | inner << 1 | 1 << (length - 1)
            return burst << int(rng.integers(FLIT_BITS - length + 1))


def random_faults(rng: np.random.Generator, chips: int, rate: float, flits: int) -> list[Fault]:
    """Faults of about `rate` of the first `flits` flits of every wire."""
    faults = []
    for source in range(chips):
        for target in range(chips):
            if source == target:
                continue
            count = int(rng.binomial(flits, rate))
            for ordinal in rng.choice(flits, min(count, flits), replace=False):
                kind = FaultKind(int(rng.choice(3, p=(0.7, 0.2, 0.1))))
                mask = random_mask(rng) if kind == FaultKind.CORRUPT else 0
                faults.append(Fault(source, target, int(ordinal), kind, mask))
    return faults


def operand(rng: np.random.Generator, item: Collective, rank: int) -> NDArray[np.uint8]:
    """Random input of a rank: bytes, FP16 values of all kinds, or partial sums."""
    total = sum(item.input_blocks(rank))
    if not item.operation.reduces:
        return rng.integers(0, 256, total, dtype=np.uint8)
    count = total // item.wire.bytes
    # Mostly numbers of ordinary size, of which some cancel, and now and then any bit pattern.
    values = (rng.normal(size=count) * 2.0 ** int(rng.integers(-8, 8))).astype(np.float16)
    odd = rng.random(count) < rng.choice((0, 0.01, 0.5))
    values[odd] = rng.integers(0, 1 << 16, int(odd.sum())).astype(np.uint16).view(np.float16)
    if item.wire == WireFormat.FP16:
        return values.view(np.uint8)
    if item.wire == WireFormat.FP32:
        factor = np.float32(rng.integers(1, 64))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities and NaN are meant
            sums = values.astype(np.float32) * factor
        odd = rng.random(count) < rng.choice((0, 0.01))
        bits = rng.integers(0, 1 << 32, int(odd.sum()), dtype=np.uint64).astype(np.uint32)
        sums[odd] = bits.view(np.float32)
        return sums.view(np.uint8)
    finite = np.where(np.isfinite(values), values, np.float16(0)).astype(np.float64)
    integers = (finite * 2.0**24).astype(np.int64) * int(rng.integers(1, 1 << 12))
    huge = rng.random(count) < rng.choice((0, 0.05))
    integers[huge] = rng.integers(-(1 << 60), 1 << 60, int(huge.sum()))
    flags = rng.integers(1, 8, count).astype(np.uint64) * (rng.random(count) < 0.02)
    words = (integers.view(np.uint64) & np.uint64((1 << 61) - 1)) | flags.astype(
        np.uint64
    ) << np.uint64(61)
    return words.view(np.uint8)


def make_mix(
    link: LinkParameters,
    collectives: list[Collective],
    rng: np.random.Generator,
    **settings: object,
) -> Mix:
    """Fill in random inputs, lay them out, and make the run."""
    chips = collectives[0].chips
    inputs = [[operand(rng, item, rank) for rank in range(chips)] for item in collectives]
    layout = lay_out(collectives)
    values = {"link": link, "descriptors": layout.descriptors, "limit": LIMIT, **settings}
    return Mix(collectives, inputs, layout, CollectiveRun(**values))  # type: ignore[arg-type]  # as given


def _random_collective(
    rng: np.random.Generator, chips: int, budget: int, begin: int, sequence: int
) -> Collective:
    operation = Operation(int(rng.integers(4)))
    wire = WireFormat(int(rng.integers(3))) if operation.reduces else WireFormat.FP16
    size = int(2.0 ** rng.uniform(0, np.log2(budget))) * int(rng.random() < 0.9)
    skew = int(rng.choice((0, 40, 1500)))
    ready = begin + rng.integers(0, skew + 1, chips)
    item = collective(
        operation, size * chips, chips, wire=wire, ready_from=ready, sequence=sequence
    )
    if operation == Operation.ALL_GATHER:
        item = collective(operation, size, chips, ready_from=ready, sequence=sequence)
    if rng.random() < 0.4:
        lengths = rng.integers(0, size + 1, (chips, chips))
        lengths[rng.random((chips, chips)) < 0.2] = 0
        if operation == Operation.ALL_GATHER:
            lengths = np.tile(lengths[:, :1], (1, chips))
        if operation.reduces:
            lengths = np.tile(lengths[:1] // wire.bytes * wire.bytes, (chips, 1))
        item = replace(item, lengths=lengths.astype(np.int64))
    return item


def random_mix(seed: int, link: LinkParameters, chips: int, budget: int = 1 << 13) -> Mix:
    """One to four collectives of up to about `budget` bytes per peer; everything from `seed`."""
    rng = np.random.default_rng((seed, chips))
    begin = int(rng.choice((0, start_clock(link))))
    collectives = [
        _random_collective(rng, chips, budget, begin, int(rng.integers(1 << 16)))
        for _ in range(int(rng.integers(1, 5)))
    ]
    settings: dict[str, object] = {}
    if rng.random() < 0.4:
        rate = float(rng.choice((0.002, 0.02)))
        settings["faults"] = random_faults(rng, chips, rate, 4 * (budget // 64) + 200)
    if rng.random() < 0.4:
        stalled = rng.random(chips) < 0.5
        settings["stalls"] = {
            rank: Stall(int(rng.integers(0, 200))) for rank in range(chips) if stalled[rank]
        }
    return make_mix(link, collectives, rng, **settings)


def _plain(
    link: LinkParameters, chips: int, operation: Operation, size: int, sequence: int = 0
) -> Collective:
    ready = np.full(chips, start_clock(link), np.int64)
    return collective(operation, size, chips, ready_from=ready, sequence=sequence)


def _with_descriptor(mix: Mix, rank: int, **changes: object) -> Mix:
    """The same run, where one rank's first descriptor is another."""
    descriptors = [list(items) for items in mix.run.descriptors]
    descriptors[rank][0] = replace(descriptors[rank][0], **changes)  # type: ignore[arg-type]  # as given
    return replace(mix, run=replace(mix.run, descriptors=descriptors))


def no_data(link: LinkParameters, chips: int) -> Mix:
    """All four operations without data."""
    items = [_plain(link, chips, op, 0, int(op)) for op in Operation]
    return make_mix(link, items, np.random.default_rng(0))


def one_flit(link: LinkParameters, chips: int) -> Mix:
    """All-to-all of one flit per peer."""
    item = _plain(link, chips, Operation.ALL_TO_ALL, 64 * chips)
    return make_mix(link, [item], np.random.default_rng(1))


def late_rank(link: LinkParameters, chips: int) -> Mix:
    """One rank that begins long after its peers' timeouts and status intervals have run out."""
    item = _plain(link, chips, Operation.ALL_REDUCE, 3000 * chips)
    item.ready_from[-1] += 3 * link.silence_limit
    return make_mix(link, [item], np.random.default_rng(2))


def stalled_receiver(link: LinkParameters, chips: int) -> Mix:
    """One rank whose write ports stand still for a long time in the middle of a message."""
    item = _plain(link, chips, Operation.ALL_TO_ALL, 64 * 200 * chips)
    begin = start_clock(link) + link.latency + 30
    stall = Stall(0, begin, begin + 2 * link.silence_limit)
    return make_mix(link, [item], np.random.default_rng(3), stalls={0: stall})


def dead_link(link: LinkParameters, chips: int) -> Mix:
    """A wire that goes dead in one direction in the middle of a message."""
    item = _plain(link, chips, Operation.ALL_TO_ALL, 64 * 200 * chips)
    dead = {(0, 1): start_clock(link) + 50}
    return make_mix(link, [item], np.random.default_rng(4), dead=dead)


def dead_from_the_start(link: LinkParameters, chips: int) -> Mix:
    """A wire that never carries anything."""
    item = _plain(link, chips, Operation.ALL_GATHER, 640)
    return make_mix(link, [item], np.random.default_rng(5), dead={(1, 0): 0})


def wrong_operation(link: LinkParameters, chips: int) -> Mix:
    """One rank runs another operation than its peers."""
    mix = make_mix(
        link, [_plain(link, chips, Operation.ALL_TO_ALL, 640 * chips)], np.random.default_rng(6)
    )
    return _with_descriptor(mix, 0, operation=Operation.ALL_GATHER)


def wrong_sequence(link: LinkParameters, chips: int) -> Mix:
    """One rank is at another collective than its peers."""
    mix = make_mix(
        link, [_plain(link, chips, Operation.ALL_TO_ALL, 640 * chips)], np.random.default_rng(7)
    )
    return _with_descriptor(mix, 0, sequence=77)


def wrong_length(link: LinkParameters, chips: int) -> Mix:
    """One rank sends one byte less to one peer than that expects, in a long message."""
    mix = make_mix(
        link,
        [_plain(link, chips, Operation.ALL_TO_ALL, 64 * 500 * chips)],
        np.random.default_rng(8),
    )
    lengths = list(mix.run.descriptors[0][0].source_bytes)
    lengths[1] -= 1
    return _with_descriptor(mix, 0, source_bytes=tuple(lengths))


def wrong_format(link: LinkParameters, chips: int) -> Mix:
    """One rank labels its slices with another wire format."""
    mix = make_mix(
        link,
        [_plain(link, chips, Operation.REDUCE_SCATTER, 640 * chips)],
        np.random.default_rng(9),
    )
    return _with_descriptor(mix, 0, wire=WireFormat.FP32)


def every_flit_hit(link: LinkParameters, chips: int) -> Mix:
    """Every seventh flit of every wire is hit, INIT and CONTROL flits included."""
    rng = np.random.default_rng(10)
    faults = [
        Fault(source, target, ordinal, kind, random_mask(rng) if kind == 0 else 0)
        for source in range(chips)
        for target in range(chips)
        if source != target
        for ordinal in range((source + target) % 7, 900, 7)
        for kind in [FaultKind(ordinal % 3)]
    ]
    items = [_plain(link, chips, op, 1500 * chips, int(op)) for op in Operation]
    return make_mix(link, items, rng, faults=faults)


SPECIAL_MIXES: dict[str, Callable[[LinkParameters, int], Mix]] = {
    function.__name__: function
    for function in (
        no_data,
        one_flit,
        late_rank,
        stalled_receiver,
        dead_link,
        dead_from_the_start,
        wrong_operation,
        wrong_sequence,
        wrong_length,
        wrong_format,
        every_flit_hit,
    )
}
