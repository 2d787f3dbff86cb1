"""Checks the stream law on one stream: what is offered stays until it is taken."""

# As for rtl in pyproject.toml: an Amaranth component's members are unknown to checkers.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class StreamLaw(wiring.Component):
    """Counts clocks in which an offered payload was withdrawn or changed before its transfer.

    Members
    -------
    enable : In(1)
        Look; while 0 nothing is remembered.
    valid, ready, payload : In
        The stream.
    violations : Out(16)
        Saturates.

    Timing: a violation in clock t is counted from t + 1 on.
    """

    def __init__(self, payload_bits: int):
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "ready": In(1),
                "payload": In(payload_bits),
                "violations": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pending = Signal()
        offered = Signal.like(self.payload)
        m.d.sync += [
            pending.eq(self.enable & self.valid & ~self.ready),
            offered.eq(self.payload),
        ]
        broken = pending & (~self.valid | (self.payload != offered))
        with m.If(self.enable & broken & ~self.violations.all()):
            m.d.sync += self.violations.eq(self.violations + 1)
        return m
