"""The ports of a DRAM front-end."""

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.front_end import WRITE_BUFFER_BURSTS
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.timing import MAXIMUM_REFRESH_DEBT
from recspeed.rtl.dram.attribution import Cause
from recspeed.rtl.dram.bank_machine import HIT_BITS
from recspeed.rtl.dram.dram_bus import BEAT_BITS, DramBus, ReadResponse, Request, bits
from recspeed.rtl.dram.mode_control import LIMIT_BITS

__all__ = ["FrontEndPorts"]


class FrontEndPorts(Signature):
    """Ports of a front-end, seen from it.

    Members
    -------
    run : In(1)
        Refresh counts clocks from the first one in which this is 1. Hold the streams' `valid` at 0
        before.
    outstanding : In(range(maximum_outstanding + 1))
        Read bursts in flight at most. A larger request is taken alone.
    write_buffer : In(range(WRITE_BUFFER_BURSTS + 1))
        Write bursts in the buffer at most. A larger request is taken alone.
    refresh_group : In(range(MAXIMUM_REFRESH_DEBT + 1))
        All-bank refreshes per group, 0 for none.
    per_bank : In(1)
        Per-bank refresh in their place.
    turnaround_limit : In(LIMIT_BITS)
        Clocks until a direction yields.
    row_hits : In(HIT_BITS)
        Requests per activation; 0: one.
    reads : In(stream of Request)
        Row visits to read.
    writes : In(stream of Request)
        Row visits to write.
    write_data : In(stream of BEAT_BITS)
        The beats of the writes, in their order.
    response_valid : Out(1)
        A beat has come; it cannot be stalled.
    response : Out(ReadResponse)
        The beat. Those of one request come in order, those of several interleave.
    written : Out(1)
        A write's last beat is on the bus.
    written_tag : Out(tag_bits)
        Tag of that write.
    dram : Out(DramBus)
        To the memory.
    cause : Out(Cause)
        What this clock is spent on.
    activate : Out(1)
        An ACT is decided in this clock, for counting.
    move_read : Out(1)
        A read of a burst is decided in this clock, for counting.
    move_write : Out(1)
        A write of a burst is decided in this clock, for counting.
    refresh : Out(1)
        A refresh is decided in this clock, for counting.
    """

    def __init__(self, preset: MemoryPreset, tag_bits: int, maximum_outstanding: int):
        request = Request(preset, tag_bits)
        super().__init__(
            {
                "run": In(1),
                "outstanding": In(range(maximum_outstanding + 1)),
                "write_buffer": In(bits(WRITE_BUFFER_BURSTS + 1)),
                "refresh_group": In(range(MAXIMUM_REFRESH_DEBT + 1)),
                "per_bank": In(1),
                "turnaround_limit": In(LIMIT_BITS),
                "row_hits": In(HIT_BITS),
                "reads": In(stream.Signature(request)),
                "writes": In(stream.Signature(request)),
                "write_data": In(stream.Signature(BEAT_BITS)),
                "response_valid": Out(1),
                "response": Out(ReadResponse(preset, tag_bits)),
                "written": Out(1),
                "written_tag": Out(tag_bits),
                "dram": Out(DramBus(preset)),
                "cause": Out(Cause),
                "activate": Out(1),
                "move_read": Out(1),
                "move_write": Out(1),
                "refresh": Out(1),
            }
        )
