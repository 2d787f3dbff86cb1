"""Address maps: bijections, published capacities to the last byte, vectors in one row, refusals."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recspeed.models.spec.address_map import (
    DEFAULT_ADDRESS_MAP,
    FIELDS,
    AddressMap,
    Location,
    VectorPlacement,
    address_map,
    parse_address_map,
)
from recspeed.models.spec.memory import MemoryPreset, memory_preset, memory_preset_names
from recspeed.models.spec.toml import SpecificationError


def fields_of(location: Location) -> dict[str, int]:
    return {name: int(value) for name, value in location._asdict().items()}


def test_fields_lie_as_the_text_says():
    """hbm2-2000: row 14 bits, bank 2, bank group 2, four channels 2, column 5, burst of 32 B."""
    preset = memory_preset("hbm2-2000")
    one = address_map("row:bank:bankgroup:channel:column", preset, 4)
    row, bank, group, channel, column, byte = 0x2BCD, 2, 1, 3, 21, 30
    address = ((((row << 2 | bank) << 2 | group) << 2 | channel) << 5 | column) << 5 | byte
    place = {
        "channel": channel,
        "rank": 0,
        "stackid": 0,
        "bankgroup": group,
        "bank": bank,
        "row": row,
        "column": column,
        "byte": byte,
    }
    assert fields_of(one.decode(address)) == place
    other = address_map("column:row:bank:channel:bankgroup", preset, 4)
    address = ((((column << 14 | row) << 2 | bank) << 2 | channel) << 2 | group) << 5 | byte
    assert fields_of(other.decode(address)) == place
    split = address_map("row:column=3:bank:bankgroup:channel:column=2", preset, 4)
    address = row << 3 | column >> 2
    address = ((address << 2 | bank) << 2 | group) << 2 | channel
    address = (address << 2 | column & 3) << 5 | byte
    assert fields_of(split.decode(address)) == place
    # 96 channels above the columns: the fields above them are the quotient.
    many = address_map("row:bank:bankgroup:channel:column", preset, 96)
    address = ((((row << 2 | bank) << 2 | group) * 96 + 77) << 5 | column) << 5 | byte
    assert fields_of(many.decode(address)) == place | {"channel": 77}


def test_hashes_by_hand_and_in_order():
    preset = memory_preset("hbm2-2000")
    plain = "row:bank:bankgroup:channel:column"
    address = 0b10110111011010 << 16 | 0b10_01_11 << 10 | 0x15A
    place = fields_of(address_map(plain, preset, 4).decode(address))
    assert (place["bank"], place["bankgroup"], place["row"]) == (2, 1, 0b10110111011010)
    row = place["row"]
    hashed = address_map(f"{plain},bank^=row,bankgroup^=row[2]", preset, 4).decode(address)
    assert int(hashed.bank) == 2 ^ (row & 3)
    assert int(hashed.bankgroup) == 1 ^ (row >> 2 & 3)
    chained = address_map(f"{plain},bank^=row,bankgroup^=bank", preset, 4).decode(address)
    assert int(chained.bankgroup) == 1 ^ 2 ^ (row & 3)
    reordered = address_map(f"{plain}, bankgroup ^= bank, bank ^= row", preset, 4).decode(address)
    assert int(reordered.bankgroup) == 1 ^ 2
    assert int(reordered.bank) == 2 ^ (row & 3)
    # From the last bit of the row up there is one bit alone.
    top = address_map(f"{plain},channel^=row[13]", preset, 4).decode(address)
    assert int(top.channel) == place["channel"] ^ (row >> 13)


@st.composite
def maps(draw, largest: int = 10**9) -> AddressMap:
    """Random orders, splits, counts (channels, rows and others of no power of two) and hashes."""
    counts = {name: 1 << draw(st.integers(0, 5), label=name) for name in FIELDS}
    counts["channel"] = draw(st.integers(1, 100), label="channels")
    counts["row"] = draw(st.integers(1, 1 << 20), label="rows")
    burst = draw(st.sampled_from([32, 64]))
    while prod(counts.values()) * burst > largest:
        name = max(counts, key=lambda name: counts[name])
        counts[name] = counts[name] // 2 if counts[name] & counts[name] - 1 == 0 else 1
    words = []
    for name in FIELDS:
        bits = counts[name].bit_length() - 1
        if counts[name] == 1 and draw(st.booleans()):
            continue
        if counts[name] == 1 << bits and draw(st.booleans()):
            cut = draw(st.integers(0, bits))
            words += [f"{name}={bits - cut}", f"{name}={cut}"]
        else:
            words.append(name)
    order = draw(st.permutations(words))
    hashable = [name for name in FIELDS if name != "column"]
    targets = [name for name in hashable if counts[name] & counts[name] - 1 == 0]
    hashes = []
    for _ in range(draw(st.integers(0, 4)) if targets else 0):
        target = draw(st.sampled_from(targets))
        source = draw(st.sampled_from([name for name in hashable if name != target]))
        shift = draw(st.integers(0, max((counts[source] - 1).bit_length() - 1, 0)))
        hashes.append(f"{target}^={source}[{shift}]")
    text = ",".join([":".join(order), *hashes])
    if not words:
        text = "row"
    return parse_address_map(text, counts, burst)


@settings(max_examples=150, deadline=None)
@given(maps(1 << 62), st.integers(0, 2**32))
def test_decode_and_encode_undo_each_other(one, seed):
    rng = np.random.default_rng(seed)
    addresses = rng.integers(0, one.capacity_bytes, 200, dtype=np.int64)
    addresses[:2] = 0, one.capacity_bytes - 1
    location = one.decode(addresses)
    assert np.array_equal(one.encode(location), addresses)
    limits = {**one.counts, "byte": one.burst_bytes}
    random = Location(**{name: rng.integers(0, limits[name], 200) for name in Location._fields})
    back = one.decode(one.encode(random))
    for name in Location._fields:
        assert np.array_equal(getattr(back, name), getattr(random, name)), name


@settings(max_examples=60, deadline=None)
@given(maps(1 << 17))
def test_every_place_of_a_small_memory_has_one_address(one):
    location = one.decode(np.arange(one.capacity_bytes))
    number = np.zeros(one.capacity_bytes, dtype=np.int64)
    for name, values in location._asdict().items():
        limit = {**one.counts, "byte": one.burst_bytes}[name]
        assert values.min() >= 0
        assert values.max() < limit
        number = number * limit + values
    assert np.array_equal(np.sort(number), np.arange(one.capacity_bytes))


def large_ddr4() -> MemoryPreset:
    """256 GiB in one channel: four ranks of 524,288 rows."""
    values = memory_preset("ddr4-3200").model_dump()
    values["organization"] |= {"ranks": 4, "rows": 1 << 19}
    values["capacity"]["pseudo_channel_mib"] = 256 << 10
    return MemoryPreset.model_validate(values)


CAPACITIES = {
    "96 GiB of HBM2E in six stacks": (memory_preset("hbm2e-3000"), 96, 96 << 30),
    "256 GiB of DDR4 in sixteen channels": (memory_preset("ddr4-3200"), 16, 256 << 30),
    "256 GiB of DDR4 in one channel": (large_ddr4(), 1, 256 << 30),
}
MAPS = [
    DEFAULT_ADDRESS_MAP,
    "channel:row:rank:stackid:bank:bankgroup:column",
    "row:column:rank:bank:stackid:bankgroup:channel",
    f"{DEFAULT_ADDRESS_MAP},bank^=row,bankgroup^=row[2],rank^=row[4],stackid^=row[4]",
]


@pytest.mark.parametrize("text", MAPS)
@pytest.mark.parametrize("memory", list(CAPACITIES))
def test_capacity_to_the_last_byte(memory, text):
    preset, channels, expected = CAPACITIES[memory]
    one = address_map(text, preset, channels)
    assert one.capacity_bytes == expected
    # Around every power of two at which an integer could overflow, and the last bytes.
    edges = [1 << 31, 1 << 32, 1 << 35, expected]
    addresses = np.array([edge + step for edge in edges for step in range(-70, 0)])
    assert np.array_equal(one.encode(one.decode(addresses)), addresses)
    assert len({tuple(fields_of(one.decode(int(a))).values()) for a in addresses}) == len(addresses)
    plain = address_map(text.split(",")[0], preset, channels)
    last = fields_of(plain.decode(expected - 1))
    assert last == {
        "channel": channels - 1,
        "rank": preset.organization.ranks - 1,
        "stackid": preset.organization.stack_ids - 1,
        "bankgroup": 3,
        "bank": 3,
        "row": preset.organization.rows - 1,
        "column": preset.bursts_per_row - 1,
        "byte": preset.burst_bytes - 1,
    }
    assert int(plain.flat_bank(plain.decode(expected - 1))) == preset.banks - 1
    for address in (expected, expected + 1, -1, 1 << 63, 1 << 64, -(1 << 70)):
        with pytest.raises(ValueError, match=f"^address {address}; expected 0 to {expected - 1}$"):
            one.decode(address)
    with pytest.raises(ValueError, match=r"^address of type float64; expected integers$"):
        one.decode(np.array([1.0]))
    with pytest.raises(ValueError, match=f"^row {preset.organization.rows}; expected 0 to "):
        one.encode(plain.decode(expected - 1)._replace(row=np.array(preset.organization.rows)))
    assert one.decode(np.array([], dtype=np.int64)).row.shape == (0,)
    narrow = np.array([0, 5, (1 << 32) - 1], dtype=np.uint32)
    assert np.array_equal(one.encode(one.decode(narrow)), narrow.astype(np.int64))


@pytest.mark.parametrize("name", memory_preset_names())
def test_flat_banks_rotate_over_bank_groups(name):
    preset = memory_preset(name)
    org = preset.organization
    one = address_map(DEFAULT_ADDRESS_MAP, preset)
    block = np.arange(preset.banks) * org.row_bytes
    assert one.run_bytes == org.row_bytes
    assert np.array_equal(one.flat_bank(one.decode(block)), np.arange(preset.banks))


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("row:bank:bankgroup:channel:column", 1024),
        ("row:bank:bankgroup:channel:column,bank^=row,channel^=row", 1024),
        ("row:column=1:bank:bankgroup:channel:column=4", 512),
        ("row:column=4:bank:bankgroup:column=1:channel", 32),
        ("column:row:bank:bankgroup:channel", 32),
    ],
)
def test_vectors_lie_in_one_row_and_do_not_overlap(text, run):
    one = address_map(text, memory_preset("hbm2-2000"), 8)
    assert one.run_bytes == run
    for vector_bytes in range(1, run + 1, 23):
        for base in (0, 7 * run):
            table = VectorPlacement(one, vector_bytes, 500, base)
            starts = table.addresses(np.arange(500))
            places = one.decode(starts[:, None] + np.arange(vector_bytes))
            for name in ("channel", "rank", "stackid", "bankgroup", "bank", "row"):
                values = getattr(places, name)
                assert (values == values[:, :1]).all(), name
            # Bursts follow each other in the row, as a request of a front-end needs them.
            bursts = np.arange(vector_bytes) // one.burst_bytes
            assert np.array_equal(places.column, places.column[:, :1] + bursts)
            assert (np.diff(starts) >= vector_bytes).all()
            assert starts[0] == base
            assert starts[-1] + vector_bytes <= table.end
            assert (starts % one.burst_bytes == 0).all()
            # A run is left only when no further vector fits.
            assert table.per_run == run // (-(-vector_bytes // 32) * 32)
            assert len(np.unique(starts // run)) == -(-500 // table.per_run)


def test_a_table_ends_with_the_memory():
    one = address_map(DEFAULT_ADDRESS_MAP, memory_preset("hbm2e-3000"), 96)
    last = (96 << 30) // 256
    table = VectorPlacement(one, 256, last)
    assert table.end == 96 << 30
    assert int(table.addresses(last - 1)) == (96 << 30) - 256
    with pytest.raises(ValueError, match=f"^vector {last}; expected 0 to {last - 1}$"):
        table.addresses([0, last])
    with pytest.raises(
        ValueError, match=f"^{last + 1} vectors of 256 B from byte 0 on end at byte "
    ):
        VectorPlacement(one, 256, last + 1)
    with pytest.raises(ValueError, match=r"^a table at byte 96; expected a multiple of 1024$"):
        VectorPlacement(one, 256, 1, 96)
    short = address_map("row:column=3:stackid:bank:bankgroup:channel:column=2", one_preset(), 96)
    with pytest.raises(ValueError, match=r"^a vector of 129 B; expected 1 to 128 B, which 'row:c"):
        VectorPlacement(short, 129, 1)


def one_preset() -> MemoryPreset:
    return memory_preset("hbm2e-3000")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("row:bank:bankgroup:channel", "column is missing; the device has 32"),
        ("row:bank:bankgroup:column", "channel is missing; the device has 4"),
        (
            "row:bank:bankgroups:channel:column",
            "unknown field 'bankgroups'; expected one of channel, rank, stackid, bankgroup, bank, "
            "row, column",
        ),
        ("row:bank:row:bankgroup:channel:column", "row appears 2 times; expected once, or a width"),
        ("row:bank:row=3:bankgroup:channel:column", "row appears 2 times; expected once, or a "),
        ("row=13:bank:bankgroup:channel:column", "widths of row sum to 13; expected 14 for 16384 "),
        ("row=9:bank:row=6:bankgroup:channel:column", "widths of row sum to 15; expected 14 for "),
        ("row=999999999999:bank:bankgroup:channel:column", "widths of row sum to 999999999999; "),
        ("row:bank::bankgroup:channel:column", "'' is no field; expected a name, or name=width"),
        ("", "'' is no field; expected a name, or name=width"),
        ("row:bank:bankgroup:channel:column=", "'column=' is no field; expected a name, or "),
        ("row:bank:bankgroup:channel:column,", "'' is no hash; expected field^=field or field^=f"),
        ("row:bank:bankgroup:channel:column,bank=row", "'bank=row' is no hash; expected field^="),
        ("row:bank:bankgroup:channel:column,bank^=bank", "'bank^=bank' hashes bank with itself"),
        (
            "row:bank:bankgroup:channel:column,bank^=column",
            "'bank^=column' hashes columns, which would tear vectors apart",
        ),
        ("row:bank:bankgroup:channel:column,column^=row", "'column^=row' hashes columns, which "),
        ("row:bank:bankgroup:channel:column,bank^=row[14]", "'bank^=row[14]': row has 14 bits"),
        ("row:bank:bankgroup:channel:column,bang^=row", "unknown field 'bang'; expected one of ch"),
    ],
)
def test_maps_that_are_refused(text, reason):
    with pytest.raises(SpecificationError) as caught:
        address_map(text, memory_preset("hbm2-2000"), 4)
    assert str(caught.value).startswith(f"address map '{text}': {reason}")
    assert "\n" not in str(caught.value)


def test_fields_of_no_power_of_two():
    preset = memory_preset("hbm2-2000")
    with pytest.raises(SpecificationError, match="has 96 values, no power of two, and so "):
        address_map("row:bank:bankgroup:channel=6:column", preset, 96)
    with pytest.raises(SpecificationError, match=r"channel has 96 values, no power of two$"):
        address_map("row:bank:bankgroup:channel:column,channel^=row", preset, 96)
    for channels in (0, -1, 1 << 40):
        with pytest.raises(SpecificationError, match=r"make no address$"):
            address_map(DEFAULT_ADDRESS_MAP, preset, channels)
