"""Arbitration among requesters that carry an age, and perhaps an order that goes before it."""

from amaranth.hdl import Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["OldestReady"]


class OldestReady(wiring.Component):
    """Grants the oldest of the ready requesters: a tree of modular age comparators.

    With `order_bits` it is the oldest of those with the smallest order.

    Parameters
    ----------
    requesters : int
        Number of requesters, a power of two.
    age_bits : int
        Width of an age. Ages are sequence numbers modulo `2 ** age_bits`.
    order_bits : int
        Width of the order; 0 for none.

    Members
    -------
    ready : In(requesters)
        Who may be granted.
    age : In(age_bits).array(requesters)
        Sequence number; the smaller one, modulo wrap-around, is older.
    order : In(order_bits).array(requesters)
        An unsigned number; no such member without order.
    valid : Out(1)
        Somebody is ready.
    index : Out(range(requesters))
        The granted requester.
    grant : Out(requesters)
        The same, one-hot; zero where nobody is ready.

    *Timing*: combinational.

    *Undefined*: ages of two ready requesters that are `2 ** (age_bits - 1)` or more apart; `index`
    while `valid` is 0.
    """

    def __init__(self, requesters: int, age_bits: int, order_bits: int = 0):
        if requesters & (requesters - 1) or requesters < 2:
            raise ValueError(f"requesters must be a power of two of at least 2, not {requesters}")
        self.requesters = requesters
        self.age_bits = age_bits
        self.order_bits = order_bits
        order = {"order": In(order_bits).array(requesters)} if order_bits else {}
        super().__init__(
            {
                "ready": In(requesters),
                "age": In(age_bits).array(requesters),
                **order,
                "valid": Out(1),
                "index": Out(range(requesters)),
                "grant": Out(requesters),
            }
        )

    def elaborate(self, platform):
        m = Module()
        orders = self.order if self.order_bits else [Const(0)] * self.requesters
        level = [(self.ready[i], orders[i], self.age[i], i) for i in range(self.requesters)]
        depth = 0
        while len(level) > 1:
            next_level = []
            for position in range(0, len(level), 2):
                valid_a, order_a, age_a, index_a = level[position]
                valid_b, order_b, age_b, index_b = level[position + 1]
                name = f"{depth}_{position // 2}"
                valid = Signal(name=f"valid_{name}")
                order = Signal(self.order_bits or 1, name=f"order_{name}")
                age = Signal(self.age_bits, name=f"age_{name}")
                index = Signal(range(self.requesters), name=f"index_{name}")
                difference = Signal(unsigned(self.age_bits), name=f"difference_{name}")
                older = Signal(name=f"older_{name}")
                before = Signal(name=f"before_{name}")
                take_b = Signal(name=f"take_b_{name}")
                m.d.comb += [
                    difference.eq(age_b - age_a),
                    older.eq(difference[-1]),
                    before.eq((order_b < order_a) | ((order_b == order_a) & older)),
                    take_b.eq(valid_b & (~valid_a | before)),
                    valid.eq(valid_a | valid_b),
                    order.eq(Mux(take_b, order_b, order_a)),
                    age.eq(Mux(take_b, age_b, age_a)),
                    index.eq(Mux(take_b, index_b, index_a)),
                ]
                next_level.append((valid, order, age, index))
            level = next_level
            depth += 1
        m.d.comb += [
            self.valid.eq(level[0][0]),
            self.index.eq(level[0][3]),
            self.grant.eq(self.valid << self.index),
        ]
        return m
