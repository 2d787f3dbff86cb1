"""The link checker against forged flits: every law that it knows is broken once."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from recspeed.models.spec.link import Kind
from recspeed.tb.simulator import toolchain

TB = Path(__file__).parents[3] / "tb"
SOURCE = TB / "checkers" / "link_laws.cpp"
FORWARD, BACK = 1, 2
DEPTH = 16

STUB = """
#include "peers.h"
static std::string lines;
static const recspeed::Part *laws;
recspeed::Part::Part(std::function<void()> clear_, std::map<std::string, Line> lines_,
                     std::function<void(const std::string &)>)
    : clear(clear_), lines(lines_) { laws = this; }
void recspeed::report(const std::string &line) { ::lines += line + "\\n"; }
void recspeed::die(const std::string &) { std::abort(); }
extern "C" const char *reported() { return lines.c_str(); }
extern "C" void begin(int channels) {
    std::istringstream depths("%d %d " + std::to_string(channels));
    lines.clear();
    laws->clear();
    laws->lines.at("depths")(depths, "");
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checker")
    stub = folder / "stub.cpp"
    stub.write_text("#include <cstdlib>\n" + STUB % (DEPTH, DEPTH))
    target = folder / "checker.so"
    root = toolchain.verilator().root
    include = (root or Path("/usr/share/verilator")) / "include" / "vltstd"
    subprocess.run(
        ["g++", "-std=gnu++20", "-shared", "-fPIC", f"-I{TB / 'peers'}", f"-I{include}",
         "-o", str(target), str(stub), str(SOURCE)],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(str(target))
    loaded.reported.restype = ctypes.c_char_p
    for name in ("recspeed_check_sent", "recspeed_check_delivered"):
        getattr(loaded, name).argtypes = [
            ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_char_p
        ]  # fmt: skip
    return loaded


def crc(data: bytes) -> bytes:
    remainder = 0
    for byte in data:
        for bit in range(8):
            carry = (remainder ^ (byte >> bit)) & 1
            remainder = (remainder >> 1) ^ (0xA001 if carry else 0)
    return remainder.to_bytes(2, "little")


def flit(kind: int, sequence: int = 0, payload: int = 0, channel: int = 0) -> bytes:
    header = kind | channel << 3 | (sequence % 4096) << 4
    body = header.to_bytes(2, "little") + payload.to_bytes(64, "little")
    return body + crc(body)


def report(
    ack: int, limit: int, kind: int = Kind.CONTROL, reserved: int = 0, second: int = 0
) -> bytes:
    """A report; `second` is the credit of virtual channel 1."""
    return flit(kind, 0, ack % 4096 | (limit % 4096) << 16 | (second % 4096) << 32 | reserved << 60)


class Link:
    """Two ends that obey the laws, except where a test does not."""

    def __init__(self, library, channels: int = 1):
        self.library = library
        library.begin(channels)
        self.clock = 0

    def send(self, wire: int, bits: bytes, *, lost: bool = False) -> None:
        self.clock += 1
        back = BACK if wire == FORWARD else FORWARD
        self.library.recspeed_check_sent(wire, back, self.clock, bits)
        if not lost:
            self.library.recspeed_check_delivered(wire, back, self.clock, bits)

    @property
    def reported(self) -> str:
        return self.library.reported().decode()


@pytest.fixture
def link(library):
    """A link on which flits 0 to 4 were sent, and 0 to 2 acknowledged."""
    link = Link(library)
    link.send(BACK, report(0, DEPTH, Kind.INIT))
    for number in range(5):
        link.send(FORWARD, flit(Kind.DATA, number, number + 100))
    link.send(BACK, report(3, 3 + DEPTH))
    assert link.reported == ""
    return link


def test_lawful_traffic_passes(link):
    link.send(FORWARD, flit(Kind.HEAD, 5, 1), lost=True)
    for number in (3, 4):
        link.send(FORWARD, flit(Kind.DATA, number, number + 100))
    link.send(FORWARD, flit(Kind.HEAD, 5, 1))
    link.send(BACK, report(6, 6 + DEPTH))
    for lap in range(6, 9000):
        link.send(FORWARD, flit(Kind.DATA, lap, lap))
        link.send(BACK, report(lap + 1, lap + 1 + DEPTH))
    assert link.reported == ""


BROKEN = {
    "a flit is sent with a wrong CRC": (FORWARD, flit(Kind.DATA, 5)[:-1] + b"\xff"),
    "a flit of an unknown kind": (FORWARD, flit(6)),
    "a virtual channel that does not exist": (FORWARD, flit(Kind.DATA, 5, channel=1)),
    "a sequence number was skipped": (FORWARD, flit(Kind.DATA, 6)),
    "a flit is replayed that is acknowledged": (FORWARD, flit(Kind.DATA, 2, 102)),
    "a replayed flit is not the original": (FORWARD, flit(Kind.DATA, 4, 105)),
    "a flit is acknowledged that was not received": (BACK, report(6, 3 + DEPTH)),
    "an acknowledgement goes back": (BACK, report(2, 3 + DEPTH)),
    "a credit of virtual channel 0 goes back": (BACK, report(4, 2 + DEPTH)),
    "more credit of virtual channel 0 than the receive buffer holds": (
        BACK, report(3, 4 + DEPTH)
    ),
    "a report with reserved bits set": (BACK, report(4, 4 + DEPTH, reserved=1)),
}  # fmt: skip


def test_a_flit_that_was_on_its_way_when_its_acknowledgement_came(link):
    """Three clocks after the report a replayed flit is lawful, four clocks after it is not."""
    arrived = link.clock
    link.clock = arrived + 2
    link.send(FORWARD, flit(Kind.DATA, 2, 102))
    assert link.reported == ""
    link.clock = arrived + 3
    link.send(FORWARD, flit(Kind.DATA, 2, 102))
    assert "a flit is replayed that is acknowledged" in link.reported


@pytest.mark.parametrize("law", BROKEN)
def test_every_broken_law_is_named(link, law):
    wire, bits = BROKEN[law]
    link.clock += 9
    link.send(wire, bits)
    assert law in link.reported
    assert f"on wire {wire} at cycle {link.clock}" in link.reported


def test_a_flit_without_credit_is_named(link):
    for number in range(5, 3 + DEPTH):
        link.send(FORWARD, flit(Kind.DATA, number))
    assert link.reported == ""
    link.send(FORWARD, flit(Kind.DATA, 3 + DEPTH))
    assert "a new flit without credit" in link.reported


def test_a_flit_beyond_the_replay_buffer_is_named(library):
    link = Link(library)
    link.send(BACK, report(0, DEPTH, Kind.INIT))
    for number in range(DEPTH):
        link.send(FORWARD, flit(Kind.DATA, number))
    # Credit for everything, acknowledgement for nothing.
    library.recspeed_check_delivered(BACK, FORWARD, 99, report(0, 2 * DEPTH))
    assert link.reported == ""
    link.send(FORWARD, flit(Kind.DATA, DEPTH))
    assert "more flits unacknowledged than the replay buffer holds" in link.reported


def test_credit_of_a_channel_that_does_not_exist_is_a_reserved_bit(link):
    link.send(BACK, report(4, 4 + DEPTH, second=1))
    assert "a report with reserved bits set" in link.reported


@pytest.fixture
def pair(library):
    """A link of two virtual channels: flits 0 to 5 alternate, all acknowledged, credit for more."""
    link = Link(library, 2)
    link.send(BACK, report(0, DEPTH, Kind.INIT, second=DEPTH))
    for number in range(6):
        link.send(FORWARD, flit(Kind.DATA, number, number, channel=number % 2))
    link.send(BACK, report(6, 3 + DEPTH, second=3 + DEPTH))
    for number in range(6, 9):
        link.send(FORWARD, flit(Kind.DATA, number, number, channel=1))
    assert link.reported == ""
    return link


def test_lawful_traffic_on_two_channels_passes(pair):
    sent = [3, 6]
    for number in range(9, 9000):
        channel = number * number % 3 % 2
        pair.send(FORWARD, flit(Kind.DATA, number, number, channel=channel))
        sent[channel] += 1
        pair.send(BACK, report(number + 1, sent[0] + DEPTH, second=sent[1] + DEPTH))
    assert pair.reported == ""


BROKEN_ON_TWO = {
    "a virtual channel that does not exist": (
        BACK, flit(Kind.CONTROL, 0, 6 | 19 << 16 | 19 << 32, channel=1)
    ),
    "a replayed flit is not the original": (FORWARD, flit(Kind.DATA, 7, 7, channel=0)),
    "a credit of virtual channel 1 goes back": (BACK, report(7, 19, second=18)),
    "more credit of virtual channel 1 than the receive buffer holds": (
        BACK, report(7, 19, second=4 + DEPTH + 1)
    ),
    "more credit of virtual channel 0 than the receive buffer holds": (
        BACK, report(9, 20, second=19)
    ),
    "a report with reserved bits set": (BACK, report(7, 19, second=19, reserved=1)),
}  # fmt: skip


@pytest.mark.parametrize("law", BROKEN_ON_TWO)
def test_every_broken_law_of_two_channels_is_named(pair, law):
    wire, bits = BROKEN_ON_TWO[law]
    pair.clock += 9
    pair.send(wire, bits)
    assert pair.reported.count("\n") == 1
    assert law in pair.reported


@pytest.mark.parametrize("full", [0, 1])
def test_credit_of_one_channel_is_none_for_the_other(library, full):
    link = Link(library, 2)
    link.send(BACK, report(0, DEPTH, Kind.INIT, second=DEPTH))
    for number in range(DEPTH):
        link.send(FORWARD, flit(Kind.DATA, number, number, channel=full))
    # All is acknowledged, and nothing of it is taken from the receive buffer.
    link.send(BACK, report(DEPTH, DEPTH, second=DEPTH))
    link.send(FORWARD, flit(Kind.DATA, DEPTH, 1, channel=1 - full))
    assert link.reported == ""
    link.send(FORWARD, flit(Kind.DATA, DEPTH + 1, 1, channel=full))
    assert "a new flit without credit" in link.reported
