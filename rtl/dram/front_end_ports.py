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
    outstanding, write_buffer : In
        Read bursts in flight, write bursts in the buffer, at most. A larger request is taken alone.
    refresh_group, per_bank : In
        All-bank refreshes per group, 0 for none; per-bank refresh in their place.
    turnaround_limit, row_hits : In
        Clocks until a direction yields; requests per activation (0: one).
    reads, writes : In stream of Request; write_data : In stream of beats
    response_valid : Out(1), response : Out(ReadResponse)
        Beats; they cannot be stalled. Beats of one request come in order, those of several
        interleave.
    written : Out(1), written_tag : Out
        A write's last beat is on the bus.
    dram : Out(DramBus)
    cause : Out(Cause)
        What this clock is spent on.
    activate, move_read, move_write, refresh : Out(1)
        Commands decided in this clock, for counting.
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
