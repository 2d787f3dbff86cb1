"""Address maps: which byte address lies in which channel, bank, row and column.

A map is written as bit fields, the most significant first, then hashes:

    row:rank:bank:bankgroup:channel:column,bank^=row,bankgroup^=row[2]

Fields are channel, rank, stackid, bankgroup, bank, row and column (which counts bursts; the bytes
of a burst lie below all fields). Fields of one value may be left out. The width of a field follows
from the device and the number of channels; a field may be split into parts of given widths, as in
`row:column=3:bank:column=2`. A field of other than 2^n values (96 channels) takes the remainder of
a division there, and the fields above it the quotient.

A hash XORs bits of one field, from bit 0 or from the given one up, into another, in the order of
the text. Each is undone by itself, so every map is a bijection between addresses and places.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.toml import SpecificationError

DEFAULT_ADDRESS_MAP = "row:rank:stackid:bank:bankgroup:channel:column"
"""Consecutive row-sized blocks go to other channels, then to other bank groups."""

FIELDS: tuple[str, ...] = ("channel", "rank", "stackid", "bankgroup", "bank", "row", "column")

PART = re.compile(r"([a-z]+)(?:=([0-9]+))?")
HASH = re.compile(r"([a-z]+)\^=([a-z]+)(?:\[([0-9]+)\])?")


class Location(NamedTuple):
    """Places in memory, int64[n] each: one value per field, and the byte within the burst."""

    channel: NDArray[np.int64]
    rank: NDArray[np.int64]
    stackid: NDArray[np.int64]
    bankgroup: NDArray[np.int64]
    bank: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    byte: NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """One part of the address: `count` values of `field`, each worth `weight` of that field."""

    field: str
    count: int
    weight: int


@dataclass(frozen=True)
class Hash:
    """`target ^= source >> shift`, as far as the target has bits."""

    target: str
    source: str
    shift: int


@dataclass(frozen=True)
class AddressMap:
    """A map between byte addresses and places.

    Attributes
    ----------
    counts : dict of str to int
        Values of each field; fields that were left out have one.
    burst_bytes : int
        Bytes of a burst, a power of two.
    parts : tuple of Part
        Most significant first.
    hashes : tuple of Hash
        In the order in which an address is decoded.
    """

    text: str
    counts: Mapping[str, int]
    burst_bytes: int
    parts: tuple[Part, ...]
    hashes: tuple[Hash, ...]

    @property
    def capacity_bytes(self) -> int:
        """Bytes of all channels."""
        return prod(self.counts.values()) * self.burst_bytes

    @property
    def run_bytes(self) -> int:
        """Bytes of consecutive addresses that lie in one DRAM row, from every multiple of it on."""
        bursts = 1
        for part in reversed(self.parts):
            if part.field != "column":
                break
            bursts *= part.count
        return bursts * self.burst_bytes

    def decode(self, addresses: ArrayLike) -> Location:
        """Where each byte address lies.

        Raises
        ------
        ValueError
            For an address that is no integer or beyond the capacity.
        """
        values = _integers(addresses, "address", self.capacity_bytes)
        rest, byte = np.divmod(values, self.burst_bytes)
        fields = {name: np.zeros_like(values) for name in FIELDS}
        for part in reversed(self.parts):
            rest, value = np.divmod(rest, part.count)
            fields[part.field] += value * part.weight
        for step in self.hashes:
            self._apply(step, fields)
        return Location(**fields, byte=byte)

    def encode(self, location: Location) -> NDArray[np.int64]:
        """The byte address of each place; undoes `decode`.

        Raises
        ------
        ValueError
            For a field out of its range.
        """
        limits = {**self.counts, "byte": self.burst_bytes}
        fields = {
            name: _integers(values, name, limits[name])
            for name, values in location._asdict().items()
        }
        byte = fields.pop("byte")
        for step in reversed(self.hashes):
            self._apply(step, fields)
        address = np.zeros_like(byte)
        for part in self.parts:
            address = address * part.count + fields[part.field] // part.weight % part.count
        return address * self.burst_bytes + byte

    def flat_bank(self, location: Location) -> NDArray[np.int64]:
        """Flat bank number within the channel (`models/spec/memory.py`)."""
        stack = location.rank * self.counts["stackid"] + location.stackid
        bank = stack * self.counts["bank"] + location.bank
        return bank * self.counts["bankgroup"] + location.bankgroup

    def _apply(self, step: Hash, fields: dict[str, NDArray[np.int64]]) -> None:
        mask = self.counts[step.target] - 1
        fields[step.target] = fields[step.target] ^ (fields[step.source] >> step.shift & mask)


@dataclass(frozen=True)
class VectorPlacement:
    """Where the vectors of a table lie so that none crosses a DRAM row.

    A run of `map.run_bytes` holds as many whole vectors as fit, each in whole bursts; what is left
    of the run stays empty.

    Attributes
    ----------
    base : int
        Byte address of the table, a multiple of `map.run_bytes`.
    vectors : int
        Vectors in the table.
    """

    map: AddressMap
    vector_bytes: int
    vectors: int
    base: int = 0

    def __post_init__(self) -> None:
        run = self.map.run_bytes
        if not 1 <= self.vector_bytes <= run:
            raise ValueError(
                f"a vector of {self.vector_bytes} B; expected 1 to {run} B, "
                f"which '{self.map.text}' keeps in one DRAM row"
            )
        if self.base % run:
            raise ValueError(f"a table at byte {self.base}; expected a multiple of {run}")
        if self.vectors < 0 or self.base < 0 or self.end > self.map.capacity_bytes:
            raise ValueError(
                f"{self.vectors} vectors of {self.vector_bytes} B from byte {self.base} on end at "
                f"byte {self.end}; expected at most {self.map.capacity_bytes}"
            )

    @property
    def stride(self) -> int:
        """Bytes from one vector of a run to the next: the vector in whole bursts."""
        return -(-self.vector_bytes // self.map.burst_bytes) * self.map.burst_bytes

    @property
    def per_run(self) -> int:
        """Vectors in one run."""
        return self.map.run_bytes // self.stride

    @property
    def end(self) -> int:
        """First byte address behind the table; the next table may begin there."""
        return self.base + -(-self.vectors // self.per_run) * self.map.run_bytes

    def addresses(self, indices: ArrayLike) -> NDArray[np.int64]:
        """Byte address of the first byte of each vector.

        Raises
        ------
        ValueError
            For an index beyond the table.
        """
        run, place = np.divmod(_integers(indices, "vector", self.vectors), self.per_run)
        return self.base + run * self.map.run_bytes + place * self.stride


def address_map(text: str, preset: MemoryPreset, channels: int = 1) -> AddressMap:
    """The map `text` of `channels` channels of a device.

    Raises
    ------
    SpecificationError
        For a text that is no map of this device.
    """
    org = preset.organization
    counts = {
        "channel": channels,
        "rank": org.ranks,
        "stackid": org.stack_ids,
        "bankgroup": org.bank_groups,
        "bank": org.banks_per_group,
        "row": org.rows,
        "column": preset.bursts_per_row,
    }
    return parse_address_map(text, counts, preset.burst_bytes)


def parse_address_map(text: str, counts: Mapping[str, int], burst_bytes: int) -> AddressMap:
    """The map `text` over fields of so many values each; fields without a count have one value.

    Raises
    ------
    SpecificationError
        For a text that is no such map.
    """
    values = {name: counts.get(name, 1) for name in FIELDS}
    if min(values.values()) < 1 or prod(values.values()) * burst_bytes >= 1 << 63:
        raise SpecificationError(f"address map '{text}': field sizes {values} make no address")
    order, *hashes = text.replace(" ", "").split(",")
    try:
        parts = _parts(order.split(":"), values)
        steps = tuple(_hash(one, values) for one in hashes)
    except ValueError as error:
        raise SpecificationError(f"address map '{text}': {error}") from None
    return AddressMap(text, values, burst_bytes, parts, steps)


def _parts(words: list[str], counts: Mapping[str, int]) -> tuple[Part, ...]:
    given: list[tuple[str, int | None]] = []
    for word in words:
        match = PART.fullmatch(word)
        if match is None:
            raise ValueError(f"'{word}' is no field; expected a name, or name=width")
        name = _known(match[1])
        given.append((name, None if match[2] is None else int(match[2])))
    for name in FIELDS:
        _check_field(name, [width for field, width in given if field == name], counts[name])
    parts: list[Part] = []
    weights = dict.fromkeys(FIELDS, 1)
    for name, width in reversed(given):
        count = counts[name] if width is None else 1 << width
        parts.append(Part(name, count, weights[name]))
        weights[name] *= count
    return tuple(reversed(parts))


def _check_field(name: str, widths: list[int | None], count: int) -> None:
    bits = count.bit_length() - 1
    if not widths:
        if count > 1:
            raise ValueError(f"{name} is missing; the device has {count}")
        return
    if widths == [None]:
        return
    known = [width for width in widths if width is not None]
    if len(known) < len(widths):
        raise ValueError(f"{name} appears {len(widths)} times; expected once, or a width for each")
    if count != 1 << bits:
        raise ValueError(f"{name} has {count} values, no power of two, and so takes no width")
    if sum(known) != bits:
        raise ValueError(
            f"widths of {name} sum to {sum(known)}; expected {bits} for {count} values"
        )


def _hash(word: str, counts: Mapping[str, int]) -> Hash:
    match = HASH.fullmatch(word)
    if match is None:
        raise ValueError(f"'{word}' is no hash; expected field^=field or field^=field[bit]")
    target, source, shift = _known(match[1]), _known(match[2]), int(match[3] or 0)
    if target == source:
        raise ValueError(f"'{word}' hashes {target} with itself")
    if "column" in (target, source):
        raise ValueError(f"'{word}' hashes columns, which would tear vectors apart")
    if counts[target] & (counts[target] - 1):
        raise ValueError(f"'{word}': {target} has {counts[target]} values, no power of two")
    bits = (counts[source] - 1).bit_length()
    if counts[target] > 1 and shift >= max(bits, 1):
        raise ValueError(f"'{word}': {source} has {bits} bits")
    return Hash(target, source, shift)


def _known(name: str) -> str:
    if name not in FIELDS:
        raise ValueError(f"unknown field '{name}'; expected one of {', '.join(FIELDS)}")
    return name


def _integers(values: ArrayLike, what: str, limit: int) -> NDArray[np.int64]:
    """The values as int64, each from 0 to `limit` - 1."""
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    beyond_64_bits = array.dtype == object and all(isinstance(one, int) for one in array.flat)
    if array.dtype.kind not in "iu" and not beyond_64_bits:
        raise ValueError(f"{what} of type {array.dtype}; expected integers")
    bad = (array < 0) | (array >= limit)
    if bad.any():
        raise ValueError(f"{what} {array[bad].flat[0]}; expected 0 to {limit - 1}")
    return array.astype(np.int64)
