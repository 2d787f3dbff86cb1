"""Between the fields of a flit and the 544 bits on the wire."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.link import Kind
from recspeed.rtl.collective.crc import Crc16

FLIT_BITS = 544
HEADER_BITS = 16


def report_layout(sequence_bits: int, channels: int) -> data.StructLayout:
    """What a CONTROL or INIT flit tells: `ack`, `nak`, `heard`, `limit` of every channel."""
    limits = data.ArrayLayout(sequence_bits, channels)
    return data.StructLayout({"ack": sequence_bits, "nak": 1, "heard": 1, "limit": limits})


def channel_bits(channels: int) -> int:
    """Bits that a flit's virtual channel takes inside the link: none where there is but one."""
    return channels - 1


def flit_layout(sequence_bits: int, payload_bits: int, channels: int) -> data.StructLayout:
    """A flit as the protocol sees it; `report` belongs to CONTROL and INIT, `payload` to others."""
    return data.StructLayout(
        {
            "kind": 3,
            "channel": channel_bits(channels),
            "sequence": sequence_bits,
            "payload": payload_bits,
            "report": report_layout(sequence_bits, channels),
        }
    )


class Framer(wiring.Component):
    """Packs a flit and adds its CRC. Combinational.

    Members: `flit` (`flit_layout(12, 512, channels)`), `word` 544 bits.
    """

    def __init__(self, channels: int) -> None:
        self._channels = channels
        super().__init__({"flit": In(flit_layout(12, 512, channels)), "word": Out(FLIT_BITS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flit, report = self.flit, self.flit.report
        limits = [Cat(report.limit[channel], Const(0, 4)) for channel in range(self._channels)]
        words = Cat(report.ack, report.nak, report.heard, Const(0, 2), *limits)
        channel = flit.channel if self._channels > 1 else Const(0, 1)
        is_report = (flit.kind == Kind.CONTROL) | (flit.kind == Kind.INIT)
        m.submodules.crc = crc = Crc16(FLIT_BITS - 16)
        m.d.comb += [
            crc.word.eq(
                Cat(flit.kind, channel, flit.sequence, Mux(is_report, words, flit.payload))
            ),
            self.word.eq(Cat(crc.word, crc.crc)),
        ]
        return m


class Deframer(wiring.Component):
    """Checks the CRC and unpacks. Combinational.

    Members: `word` 544 bits, `flit` (`flit_layout(12, 512, channels)`), `good`: the CRC is right.
    `report` is the first word of the payload whatever the kind.
    """

    def __init__(self, channels: int) -> None:
        self._channels = channels
        super().__init__(
            {
                "word": In(FLIT_BITS),
                "flit": Out(flit_layout(12, 512, channels)),
                "good": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        payload = self.word[16:528]
        m.submodules.crc = crc = Crc16(FLIT_BITS)
        m.d.comb += [
            crc.word.eq(self.word),
            self.good.eq(crc.crc == 0),
            self.flit.kind.eq(self.word[0:3]),
            self.flit.channel.eq(self.word[3 : 3 + channel_bits(self._channels)]),
            self.flit.sequence.eq(self.word[4:16]),
            self.flit.payload.eq(payload),
            self.flit.report.ack.eq(payload[0:12]),
            self.flit.report.nak.eq(payload[12]),
            self.flit.report.heard.eq(payload[13]),
        ]
        m.d.comb += [
            self.flit.report.limit[channel].eq(payload[16 + 16 * channel :][:12])
            for channel in range(self._channels)
        ]
        return m
