"""The read return path: puts a tag to every beat that comes back."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import BEAT_BITS, ReadResponse

__all__ = ["ReturnPath"]


class ReturnPath(wiring.Component):
    """Remembers the reads on their way; data returns in the order of the reads.

    Members
    -------
    read : In(1)
        A read is decided in this clock.
    tag : In(tag_bits)
        Tag of its request.
    burst : In(burst)
        Number of its burst in the request.
    last : In(1)
        That burst is the request's last one.
    data_valid : In(1)
        A beat comes from the DRAM.
    data : In(BEAT_BITS)
        The beat.
    response_valid : Out(1)
        A beat is handed on. It cannot be stalled.
    response : Out(ReadResponse)
        The beat with its tag.
    burst_done : Out(1)
        The beat is the last one of its burst.

    *Timing*: `response` is combinational from `data`.

    *Undefined*: beats without a read.

    Source: docs/dram.md, "Request queues".
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        self.preset = preset
        self.layout = ReadResponse(preset, tag_bits)
        fields = self.layout.members
        super().__init__(
            {
                "read": In(1),
                "tag": In(tag_bits),
                "burst": In(fields["burst"]),
                "last": In(1),
                "data_valid": In(1),
                "data": In(BEAT_BITS),
                "response_valid": Out(1),
                "response": Out(self.layout),
                "burst_done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        t = self.preset.clocks
        fields = self.layout.members
        entry = data.StructLayout(
            {"tag": fields["tag"], "burst": fields["burst"], "last": unsigned(1)}
        )
        # A read is on its way for the registered command, tCL and its beats.
        depth = 1 << ((t.tCL + 2 + self.preset.burst_clocks) // t.tCCD_S + 1).bit_length()
        m.submodules.reads = reads = Memory(shape=entry, depth=depth, init=[])
        write = reads.write_port()
        head = reads.read_port(domain="comb")
        write_pointer = Signal(range(depth))
        read_pointer = Signal(range(depth))
        beat = Signal(range(self.preset.burst_clocks))
        m.d.comb += [
            write.en.eq(self.read),
            write.addr.eq(write_pointer),
            write.data.tag.eq(self.tag),
            write.data.burst.eq(self.burst),
            write.data.last.eq(self.last),
            head.addr.eq(read_pointer),
            self.response_valid.eq(self.data_valid),
            self.response.tag.eq(head.data.tag),
            self.response.burst.eq(head.data.burst),
            self.response.beat.eq(beat),
            self.response.last.eq(head.data.last),
            self.response.data.eq(self.data),
            self.burst_done.eq(self.data_valid & (beat == self.preset.burst_clocks - 1)),
        ]
        m.d.sync += write_pointer.eq(write_pointer + self.read)
        with m.If(self.data_valid):
            m.d.sync += beat.eq(beat + 1)
            with m.If(self.burst_done):
                m.d.sync += [beat.eq(0), read_pointer.eq(read_pointer + 1)]
        return m
