"""The row decoder: what the beats of a DRAM row mean, as fixed-point addends."""

from amaranth.hdl import Const, Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, Signature

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.rtl.dram.dram_bus import ReadResponse
from recspeed.rtl.lib.fixed_point import ExactSum, Fp16ToFixed
from recspeed.rtl.pooling.lookup_layouts import LookupTag

__all__ = ["BeatPlace", "DecodedBeats", "RowDecoder"]

FP16_BITS = 16


class BeatPlace(data.StructLayout):
    """Which beat this is: of the lookup tagged `tag`, beat `beat` of its burst `burst`.

    `last` marks the beats of a lookup's last burst.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        tag = LookupTag(preset, parameters)
        response = ReadResponse(preset, tag.size).members
        super().__init__(
            {
                "tag": tag,
                "burst": response["burst"],
                "beat": response["beat"],
                "last": unsigned(1),
            }
        )


class DecodedBeats(Signature):
    """Beats of addends, seen from the decoder. They cannot be stalled.

    The place of a beat comes one clock before its addends, so that its sums can be fetched.

    Members
    -------
    valid : Out(1)
        A beat; its addends follow in the next clock.
    place : Out(BeatPlace)
        With `valid`: where the beat belongs.
    addends : Out(ArrayLayout(ExactSum, lanes))
        In the clock after `valid`: the beat's lanes.
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        super().__init__(
            {
                "valid": Out(1),
                "place": Out(BeatPlace(preset, parameters)),
                "addends": Out(data.ArrayLayout(ExactSum(), parameters.lanes)),
            }
        )


class RowDecoder(wiring.Component):
    """Decodes rows of FP16: each beat of 16 B is one beat of 8 addends, exact in fixed point.

    Members
    -------
    response_valid : In(1)
        A beat from the front-end's return path. It cannot be stalled.
    response : In(ReadResponse)
        With `response_valid`: the beat, tagged with `LookupTag`.
    decoded : Out(DecodedBeats)
        The beat as addends.

    *Timing*: `decoded.valid` and `decoded.place` are combinational from the response;
    `decoded.addends` is a register, one clock after it. One beat per clock.

    *Undefined*: `decoded.addends` in a clock after one without a beat.

    Source: docs/cluster.md, "Row decoder".
    """

    latency = 1
    """Clocks from a response to its addends."""

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.parameters = parameters
        self.tag_layout = LookupTag(preset, parameters)
        super().__init__(
            {
                "response_valid": In(1),
                "response": In(ReadResponse(preset, self.tag_layout.size)),
                "decoded": Out(DecodedBeats(preset, parameters)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        response, place = self.response, self.decoded.place
        m.d.comb += [
            self.decoded.valid.eq(self.response_valid),
            place.tag.eq(self.tag_layout(response.tag)),
            place.burst.eq(response.burst),
            place.beat.eq(response.beat),
            place.last.eq(response.last),
        ]
        for lane in range(self.parameters.lanes):
            m.submodules[f"convert_{lane}"] = convert = Fp16ToFixed()
            m.d.comb += convert.value.eq(response.data.word_select(Const(lane), FP16_BITS))
            m.d.sync += self.decoded.addends[lane].eq(convert.fixed)
        return m
