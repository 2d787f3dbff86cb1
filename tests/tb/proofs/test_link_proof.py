"""Bounded proofs of the link, and that they fail for links that are broken."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from recspeed.rtl.collective import receiver, transmitter
from recspeed.rtl.collective.credits import ReceiveCredits, TransmitCredits
from recspeed.tb.proofs import link_proof
from recspeed.tb.proofs.link_proof import LinkProof, small_link
from recspeed.tb.proofs.solver import run_solver

DEPTH = 17
"""Clocks; the cover test shows that three deliveries and two replays fit into them."""
DEPTH_OF_TWO = 15
"""Clocks with two virtual channels: a credit of the wrong channel shows in the last of them."""
DEPTH_OF_MORE = 13
"""Clocks with more sequence numbers."""
DEEPER = 3
"""More clocks in the regression: each costs nearly as much as all before it."""
DEPTHS = [0, pytest.param(DEEPER, marks=pytest.mark.regression)]


@pytest.mark.parametrize("further", DEPTHS)
def test_link_delivers_once_and_in_order_and_never_overflows(further):
    proof = run_solver(LinkProof(small_link()), DEPTH + further)
    assert proof.holds, proof.log


@pytest.mark.parametrize("further", DEPTHS)
def test_link_with_more_sequence_numbers(further):
    proof = run_solver(LinkProof(small_link(3)), DEPTH_OF_MORE + further)
    assert proof.holds, proof.log


@pytest.mark.parametrize("further", DEPTHS)
def test_link_of_two_virtual_channels(further):
    """Each channel in order and without overflow, whatever the other one does."""
    proof = run_solver(LinkProof(small_link(channels=2)), DEPTH_OF_TWO + further)
    assert proof.holds, proof.log


def test_deliveries_on_both_channels_and_replays_are_within_the_bound():
    proof = run_solver(LinkProof(small_link(channels=2)), DEPTH_OF_TWO, cover=True)
    assert proof.holds, proof.log
    assert "Reached cover statement" in proof.log


def test_credit_of_the_wrong_channel_fails(monkeypatch):
    """Both channels live on the credit of one: the other's buffer overflows."""

    class Swapped(transmitter.Transmitter):
        def _credit(self, m, next_):
            return super()._credit(m, next_) | (self.ack.limit[0] != self.ack.limit[1])

    monkeypatch.setattr(link_proof, "Transmitter", Swapped)
    proof = run_solver(LinkProof(small_link(channels=2)), DEPTH_OF_TWO)
    assert not proof.holds
    assert "Assert failed" in proof.log


def test_deliveries_and_replays_are_within_the_bound():
    proof = run_solver(LinkProof(small_link()), DEPTH, cover=True)
    assert proof.holds, proof.log
    assert "Reached cover statement" in proof.log


def test_sending_without_credit_fails(monkeypatch):
    class Generous(TransmitCredits):
        def elaborate(self, platform):
            m = Module()
            m.d.comb += self.available.eq(1)
            return m

    monkeypatch.setattr(transmitter, "TransmitCredits", Generous)
    proof = run_solver(LinkProof(small_link()), DEPTH)
    assert not proof.holds
    assert "Assert failed" in proof.log


def test_one_credit_too_many_fails(monkeypatch):
    monkeypatch.setattr(
        receiver, "ReceiveCredits", lambda bits, depth: ReceiveCredits(bits, depth + 1)
    )
    proof = run_solver(LinkProof(small_link()), DEPTH)
    assert not proof.holds
    assert "Assert failed" in proof.log


def test_accepting_any_number_fails(monkeypatch):
    """A receiver that takes every flit for the expected one delivers duplicates."""

    class Gullible(receiver.Receiver):
        def elaborate(self, platform):
            m = Module()
            m.submodules.inner = inner = honest(*self.arguments)
            for name, member in self.signature.members.items():
                if name == "o":
                    wiring.connect(m, inner.o[0], wiring.flipped(self.o[0]))
                elif member.flow == wiring.In and name != "flit":
                    m.d.comb += getattr(inner, name).eq(getattr(self, name))
                elif name != "flit":
                    m.d.comb += getattr(self, name).eq(getattr(inner, name))
            m.d.comb += [inner.flit.eq(self.flit), inner.flit.sequence.eq(inner.report.ack)]
            self.buffers = inner.buffers
            return m

        def __init__(self, *arguments):
            self.arguments = arguments
            super().__init__(*arguments)

    honest = receiver.Receiver
    monkeypatch.setattr(link_proof, "Receiver", Gullible)
    proof = run_solver(LinkProof(small_link()), DEPTH)
    assert not proof.holds
    assert "Assert failed" in proof.log
