"""The write buffer: holds the data of accepted writes until it is on the bus."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.front_end import MAXIMUM_BURSTS, WRITE_BUFFER_BURSTS
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import BEAT_BITS, bits

__all__ = ["WriteBuffer"]


class WriteBuffer(wiring.Component):
    """A ring of bursts: filled in the order of the writes, drained in that of the write commands.

    A write's room is free again when it and every write accepted before it are on the bus.

    Members
    -------
    limit : In(range(WRITE_BUFFER_BURSTS + 1))
        Bursts to hold at most; a larger write is taken alone.
    offered : In(1)
        A write is offered and its queue has room.
    bursts : In(range(MAXIMUM_BURSTS))
        Bursts of that write, less one.
    data : In(stream of BEAT_BITS)
        Beats of the writes, in the order of the writes.
    accept : Out(1)
        The last beat of the offered write is taken in this clock.
    first : Out(range(WRITE_BUFFER_BURSTS))
        Where the offered write's first burst will lie: to be kept with the write.
    number : Out(range(WRITE_BUFFER_BURSTS))
        The offered write's number: to be kept with it too.
    send : In(1)
        A write command is decided in this clock.
    send_burst : In(range(WRITE_BUFFER_BURSTS))
        Place of its burst in the ring.
    send_last : In(1)
        It is the last one of its write.
    send_number : In(range(WRITE_BUFFER_BURSTS))
        Number of that write.
    send_tag : In(tag_bits)
        Tag of that write.
    bus_valid : Out(1)
        A beat is on the bus: tCWL clocks after the command on the bus, 1 + tCWL after `send`.
    bus_data : Out(BEAT_BITS)
        The beat.
    written : Out(1)
        The last beat of a write is on the bus in this clock.
    written_tag : Out(tag_bits)
        Tag of that write.

    *Timing*: one beat of `data` per clock; room that a write leaves is free from the second clock
    after `written` on.

    *Undefined*: `send` of a burst that is not in the ring; `bursts` that change while a write is
    offered.

    Source: docs/dram.md, "Write buffer".
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int):
        self.preset = preset
        self.tag_bits = tag_bits
        place = bits(WRITE_BUFFER_BURSTS)
        super().__init__(
            {
                "limit": In(bits(WRITE_BUFFER_BURSTS + 1)),
                "offered": In(1),
                "bursts": In(bits(MAXIMUM_BURSTS)),
                "data": In(stream.Signature(BEAT_BITS)),
                "accept": Out(1),
                "first": Out(place),
                "number": Out(place),
                "send": In(1),
                "send_burst": In(place),
                "send_last": In(1),
                "send_number": In(place),
                "send_tag": In(tag_bits),
                "bus_valid": Out(1),
                "bus_data": Out(BEAT_BITS),
                "written": Out(1),
                "written_tag": Out(tag_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = self.preset.burst_clocks
        self.finished_number = Signal(range(WRITE_BUFFER_BURSTS))
        m.submodules.memory = memory = Memory(
            shape=BEAT_BITS, depth=WRITE_BUFFER_BURSTS * beats, init=[]
        )
        retired = Signal(bits(MAXIMUM_BURSTS))
        retire = Signal()
        self._fill(m, memory, retire, retired)
        self._drain(m, memory)
        self._retire(m, retire, retired)
        return m

    def _fill(self, m, memory, retire, retired):
        """Take the beats of the offered write while there is room for all of it."""
        beats = self.preset.burst_clocks
        write = memory.write_port()
        held = Signal(range(WRITE_BUFFER_BURSTS + MAXIMUM_BURSTS + 1))
        taken = Signal(range(MAXIMUM_BURSTS * beats))
        wanted = Signal(range(MAXIMUM_BURSTS + 1))
        beat_taken = Signal()
        m.d.comb += [
            wanted.eq(self.bursts + 1),
            self.data.ready.eq(self.offered & ((held == 0) | (held + wanted <= self.limit))),
            beat_taken.eq(self.data.valid & self.data.ready),
            self.accept.eq(beat_taken & (taken == wanted * beats - 1)),
            write.en.eq(beat_taken),
            write.addr.eq(self.first * beats + taken),
            write.data.eq(self.data.payload),
        ]
        with m.If(beat_taken):
            m.d.sync += taken.eq(Mux(self.accept, 0, taken + 1))
        with m.If(self.accept):
            m.d.sync += [self.first.eq(self.first + wanted), self.number.eq(self.number + 1)]
        m.d.sync += held.eq(held + Mux(self.accept, wanted, 0) - Mux(retire, retired + 1, 0))

    def _drain(self, m, memory):
        """Put the bursts on the bus in the order of the commands."""
        beats = self.preset.burst_clocks
        cwl = self.preset.clocks.tCWL
        layout = data.StructLayout(
            {
                "burst": unsigned(bits(WRITE_BUFFER_BURSTS)),
                "last": unsigned(1),
                "number": unsigned(bits(WRITE_BUFFER_BURSTS)),
                "tag": unsigned(self.tag_bits),
            }
        )
        depth = 1 << (cwl // self.preset.clocks.tCCD_S + 3).bit_length()
        m.submodules.sends = sends = Memory(shape=layout, depth=depth, init=[])
        enqueue = sends.write_port()
        head = sends.read_port(domain="comb")
        read = memory.read_port()
        # Decided in t, on the bus in t + 1, data from t + 1 + tCWL on: read one clock before.
        due = Signal(cwl + beats)
        reading = Signal()
        beat = Signal(range(beats))
        last_beat = Signal()
        m.d.comb += [
            enqueue.en.eq(self.send),
            enqueue.data.burst.eq(self.send_burst),
            enqueue.data.last.eq(self.send_last),
            enqueue.data.number.eq(self.send_number),
            enqueue.data.tag.eq(self.send_tag),
            reading.eq(due[0]),
            last_beat.eq(reading & (beat == beats - 1)),
            read.en.eq(reading),
            read.addr.eq(head.data.burst * beats + beat),
            self.bus_data.eq(read.data),
        ]
        m.d.sync += [
            due.eq((due >> 1) | Mux(self.send, ((1 << beats) - 1) << (cwl - 1), 0)),
            self.bus_valid.eq(reading),
            self.written.eq(last_beat & head.data.last),
            self.written_tag.eq(head.data.tag),
            self.finished_number.eq(head.data.number),
        ]
        with m.If(self.send):
            m.d.sync += enqueue.addr.eq(enqueue.addr + 1)
        with m.If(reading):
            m.d.sync += beat.eq(Mux(last_beat, 0, beat + 1))
        with m.If(last_beat):
            m.d.sync += head.addr.eq(head.addr + 1)

    def _retire(self, m, retire, retired):
        """Free the room of the oldest write when it is on the bus."""
        m.submodules.sizes = sizes = Memory(
            shape=bits(MAXIMUM_BURSTS), depth=WRITE_BUFFER_BURSTS, init=[]
        )
        size = sizes.write_port()
        oldest_size = sizes.read_port(domain="comb")
        finished = Signal(WRITE_BUFFER_BURSTS)
        oldest = Signal(range(WRITE_BUFFER_BURSTS))
        m.d.comb += [
            size.en.eq(self.accept),
            size.addr.eq(self.number),
            size.data.eq(self.bursts),
            oldest_size.addr.eq(oldest),
            retire.eq(finished.bit_select(oldest, 1)),
            retired.eq(oldest_size.data),
        ]
        with m.If(self.written):
            m.d.sync += finished.bit_select(self.finished_number, 1).eq(1)
        with m.If(retire):
            m.d.sync += [finished.bit_select(oldest, 1).eq(0), oldest.eq(oldest + 1)]
