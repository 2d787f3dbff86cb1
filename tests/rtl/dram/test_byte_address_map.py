"""The RTL's address map against the model's: all of small memories, random bytes of large ones."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from recspeed.models.spec.address_map import (
    DEFAULT_ADDRESS_MAP,
    AddressMap,
    address_map,
    parse_address_map,
)
from recspeed.models.spec.memory import memory_preset
from recspeed.rtl.dram.byte_address_map import ByteAddressMap

PORTS = {
    "channel": "channel",
    "rank": "rank",
    "stackid": "stackid",
    "bankgroup": "bankgroup",
    "bank": "bank_in_group",
    "row": "row",
    "column": "column",
    "byte": "byte_in_burst",
}


def outputs(one: AddressMap, addresses: list[int]) -> dict[str, list[int]]:
    """Every output of the block for each address, by name of the output."""
    block = ByteAddressMap(one)
    names = [*PORTS.values(), "bank", "valid"]
    found: dict[str, list[int]] = {name: [] for name in names}

    async def bench(ctx):
        for address in addresses:
            ctx.set(block.address, address)
            for name in names:
                found[name].append(ctx.get(getattr(block, name)))

    simulator = Simulator(block)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def compare(one: AddressMap, addresses: np.ndarray, context: str) -> None:
    """All addresses are inside: fields, flat bank and `valid` equal the model's."""
    found = outputs(one, addresses.tolist())
    location = one.decode(addresses)
    for field, port in PORTS.items():
        assert found[port] == getattr(location, field).tolist(), f"{context}: {port}"
    assert found["bank"] == one.flat_bank(location).tolist(), f"{context}: bank"
    assert found["valid"] == [1] * len(addresses), context


SMALL = [
    ("row:rank:stackid:bank:bankgroup:channel:column", {"channel": 3, "row": 5}),
    ("channel:row:bank:bankgroup:rank:column", {"channel": 5, "row": 7, "rank": 2}),
    ("row:column=1:channel:bank:bankgroup:column=1,bank^=row", {"channel": 12, "row": 4}),
    ("column:bankgroup:channel:bank:row,bankgroup^=row[1],bank^=bankgroup", {"row": 9}),
    ("row:channel:stackid:bank:bankgroup:column,bank^=channel[1]", {"channel": 6, "stackid": 2}),
    ("bankgroup:bank:column:row", {"row": 1}),
    ("column", {"bank": 1, "bankgroup": 1}),
]


@pytest.mark.parametrize(("text", "counts"), SMALL, ids=[text for text, _ in SMALL])
def test_every_byte_of_a_small_memory(text, counts):
    one = parse_address_map(text, {"bank": 2, "bankgroup": 4, "column": 4} | counts, 2)
    compare(one, np.arange(one.capacity_bytes), text)
    # Beyond the capacity every address is refused.
    bits = (one.capacity_bytes - 1).bit_length()
    beyond = list(range(one.capacity_bytes, 1 << bits))
    assert outputs(one, beyond)["valid"] == [0] * len(beyond)


HASHES = "bank^=row,bankgroup^=row[2],bankgroup^=bank"
LARGE = [
    ("hbm2e-3000", 96, DEFAULT_ADDRESS_MAP),
    ("hbm2e-3000", 96, f"{DEFAULT_ADDRESS_MAP},{HASHES},stackid^=channel[6]"),
    ("hbm2e-3000", 96, "channel:row:stackid:bank:bankgroup:column"),
    ("hbm2e-3000", 96, "row:column=3:stackid:bank:bankgroup:channel:column=2"),
    ("hbm3-6400", 7, f"row:channel:stackid:bank:bankgroup:column,{HASHES}"),
    ("ddr4-3200", 16, f"{DEFAULT_ADDRESS_MAP},{HASHES},rank^=row[5],channel^=row[7]"),
    ("gddr6-14000", 24, DEFAULT_ADDRESS_MAP),
]


@pytest.mark.parametrize(("name", "channels", "text"), LARGE)
def test_random_and_extreme_bytes_of_a_large_memory(name, channels, text):
    seed = 20
    one = address_map(text, memory_preset(name), channels)
    rng = np.random.default_rng(seed)
    edges = [0, 1 << 31, 1 << 32, one.capacity_bytes]
    near = {edge + step for edge in edges for step in range(-40, 40)}
    inside = sorted(address for address in near if 0 <= address < one.capacity_bytes)
    random = rng.integers(0, one.capacity_bytes, 1500, dtype=np.int64)
    compare(one, np.concatenate([inside, random]), f"seed {seed}")
    bits = (one.capacity_bytes - 1).bit_length()
    beyond = [
        a for a in (one.capacity_bytes, (1 << bits) - 1) if one.capacity_bytes <= a < 1 << bits
    ]
    assert outputs(one, beyond)["valid"] == [0] * len(beyond)


def test_the_division_is_exact_for_every_odd_part():
    """Quotient and remainder around every multiple near the ends, for 3 to 99 channels."""
    for channels in range(3, 100, 2):
        counts = {"channel": channels, "row": 1 << 20}
        one = parse_address_map("row:channel", counts, 1)
        highest = one.capacity_bytes
        multiples = [0, channels, highest // 2 // channels * channels, highest - channels]
        addresses = {m + step for m in multiples for step in (-2, -1, 0, 1, channels - 1)}
        inside = np.array(sorted(a for a in addresses if 0 <= a < highest))
        compare(one, inside, f"{channels} channels")
