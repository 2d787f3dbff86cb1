"""The CRC-16 in hardware against published check values and an independent bit-serial one."""

import random

import pytest
from amaranth.sim import Simulator

from recspeed.rtl.collective.crc import Crc16

SEED = 20
FLIT_BYTES = 68

PUBLISHED = {
    b"123456789": 0xBB3D,  # CRC-16/ARC in the catalogue of parametrised CRC algorithms
    b"\x00": 0x0000,
    b"\x01": 0xC0C1,  # first entry of the table that every table-driven implementation carries
    b"\xff": 0x4040,  # and its last
    b"\x02": 0xC181,
    b"\x80": 0xA001,
}


def serial(data: bytes) -> int:
    """Bit by bit, from the polynomial's definition."""
    remainder = 0
    for byte in data:
        for bit in range(8):
            carry = (remainder ^ (byte >> bit)) & 1
            remainder = (remainder >> 1) ^ (0xA001 if carry else 0)
    return remainder


def crcs(words: list[bytes]) -> list[int]:
    """What the hardware makes of words of one length."""
    dut = Crc16(8 * len(words[0]))
    answers = []

    async def bench(context):
        for word in words:
            context.set(dut.word, int.from_bytes(word, "little"))
            answers.append(context.get(dut.crc))

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    return answers


@pytest.mark.parametrize("word", PUBLISHED)
def test_published_values(word):
    assert crcs([word]) == [PUBLISHED[word]]
    assert serial(word) == PUBLISHED[word]


@pytest.mark.parametrize("length", [2, 15, 30, 31, 60, 66, 68, 120])
def test_every_width_matches_the_serial_form(length):
    rng = random.Random(SEED + length)
    words = [rng.randbytes(length) for _ in range(40)]
    assert crcs(words) == [serial(word) for word in words], f"seed {SEED}"


def test_appended_crc_makes_zero():
    rng = random.Random(SEED)
    words = [rng.randbytes(66) for _ in range(20)]
    whole = [word + crc.to_bytes(2, "little") for word, crc in zip(words, crcs(words), strict=True)]
    assert crcs(whole) == [0] * len(words)


def test_every_single_error_and_every_burst_is_seen():
    bits = 8 * FLIT_BYTES
    patterns = [1 << bit for bit in range(bits)]
    rng = random.Random(SEED)
    for length in range(2, 17):
        for _ in range(30):
            inner = rng.getrandbits(length - 2) if length > 2 else 0
            burst = 1 | inner << 1 | 1 << (length - 1)
            patterns.append(burst << rng.randrange(bits - length + 1))
    patterns += [1 << a | 1 << b for a, b in (rng.sample(range(bits), 2) for _ in range(300))]
    # By linearity a pattern is seen, whatever the flit, when its own CRC is not 0.
    seen = crcs([pattern.to_bytes(FLIT_BYTES, "little") for pattern in patterns])
    assert 0 not in seen, f"seed {SEED}"
