"""Lookup issue: bags and indices in CSR form become checked read requests."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from recspeed.models.spec.cluster import ClusterParameters
from recspeed.models.spec.memory import MemoryPreset
from recspeed.models.spec.table import Policy
from recspeed.rtl.dram.dram_bus import Request
from recspeed.rtl.pooling.lookup_layouts import (
    BAG_NUMBER_BITS,
    INDEX_BITS,
    LENGTH_BITS,
    TABLE_BITS,
    Bag,
    LookupTag,
)
from recspeed.rtl.pooling.slot_ports import BagOpening
from recspeed.rtl.pooling.tables import DescriptorRead, TableDescriptor
from recspeed.rtl.pooling.vector_placement import AddressMap

__all__ = ["LookupIssue"]

LANES_SHIFT = 3
"""log2 of the elements of a beat."""


class LookupIssue(wiring.Component):
    """Takes bags and their indices, applies the policy for lookups out of range, issues the others.

    Members
    -------
    run : In(1)
        Nothing is taken before this is 1.
    bags : In(stream.Signature(Bag))
        Heads of the bags.
    indices : In(stream.Signature(64))
        Row numbers, those of the first bag first.
    table : Out(DescriptorRead)
        To `Tables`, combinational.
    slots : Out(BagOpening)
        To `BagSlots`.
    requests : Out(stream.Signature(Request))
        Reads of the lookups, tagged with `LookupTag`.
    halted : Out(1)
        A lookup was out of range under FATAL: nothing is taken any more. Its bag was closed.
    error_bag : Out(BAG_NUMBER_BITS)
        The bag of that lookup.
    error_position : Out(LENGTH_BITS)
        Its position in the bag.
    error_index : Out(64)
        Its row number.
    lookups : Out(1)
        An index is taken in this clock.
    clamped : Out(1)
        It was clamped.
    dropped : Out(1)
        It was dropped.

    *Timing*: an index taken in clock t is offered as a request from t + 2 on; one index per clock,
    one clock per bag besides. Stalls with `requests` and while no slot is free.

    *Undefined*: a bag of a table that has no descriptor.

    Source: docs/cluster.md, "Lookup issue and bag slots".
    """

    def __init__(self, preset: MemoryPreset, parameters: ClusterParameters):
        self.preset = preset
        self.tag_layout = LookupTag(preset, parameters)
        self.request_layout = Request(preset, self.tag_layout.size)
        super().__init__(
            {
                "run": In(1),
                "bags": In(stream.Signature(Bag())),
                "indices": In(stream.Signature(unsigned(INDEX_BITS))),
                "table": Out(DescriptorRead(preset)),
                "slots": Out(BagOpening(parameters)),
                "requests": Out(stream.Signature(self.request_layout)),
                "halted": Out(1),
                "error_bag": Out(BAG_NUMBER_BITS),
                "error_position": Out(LENGTH_BITS),
                "error_index": Out(INDEX_BITS),
                "lookups": Out(1),
                "clamped": Out(1),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.address_map = address_map = AddressMap(self.preset)
        fields = TableDescriptor(self.preset).members
        checked_layout = data.StructLayout(
            {
                "vector": unsigned(address_map.vector_bits),
                "bursts": fields["bursts"],
                "base_row": fields["base_row"],
                "row_span": fields["row_span"],
                "tag": self.tag_layout,
            }
        )
        checked = Signal(checked_layout)
        checked_valid = Signal()
        checked_ready = Signal()
        enter = Signal()

        self._bag(m, checked_ready, enter, checked)
        m.d.comb += checked_ready.eq(~checked_valid | ~self.requests.valid | self.requests.ready)
        with m.If(checked_ready):
            m.d.sync += checked_valid.eq(enter)

        request = self.requests.payload
        m.d.comb += [
            address_map.vector.eq(checked.vector),
            address_map.base_row.eq(checked.base_row),
            address_map.row_span.eq(checked.row_span),
            address_map.bursts.eq(checked.bursts),
        ]
        with m.If(~self.requests.valid | self.requests.ready):
            m.d.sync += self.requests.valid.eq(checked_valid)
            with m.If(checked_valid):
                m.d.sync += [
                    request.bank.eq(address_map.bank),
                    request.row.eq(address_map.row),
                    request.column.eq(address_map.column),
                    request.bursts.eq(checked.bursts - 1),
                    request.tag.eq(checked.tag.as_value()),
                ]
        return m

    def _bag(self, m, checked_ready, enter, checked):
        """The open bag: takes its indices one by one, closes it after the last."""
        table = Signal(TABLE_BITS)
        slots = self.slots
        slot = Signal.like(slots.open_slot)
        position = Signal(LENGTH_BITS)
        length = Signal(LENGTH_BITS)
        issued = Signal(LENGTH_BITS)
        bag_number = Signal(BAG_NUMBER_BITS)
        bag_taken = Signal()
        index_taken = Signal()
        in_range = Signal()
        fatal = Signal()
        descriptor = self.table.descriptor
        index = self.indices.payload

        m.d.comb += [
            self.table.table.eq(Mux(slots.open, table, self.bags.payload.table)),
            self.bags.ready.eq(self.run & ~slots.open & ~self.halted & slots.free),
            self.indices.ready.eq(self.run & slots.open & checked_ready),
            bag_taken.eq(self.bags.valid & self.bags.ready),
            index_taken.eq(self.indices.valid & self.indices.ready),
            in_range.eq(index < descriptor.rows),
            slots.take.eq(bag_taken),
            slots.elements.eq(descriptor.elements),
            self.lookups.eq(index_taken),
            self.clamped.eq(index_taken & ~in_range & (descriptor.policy == Policy.CLAMP)),
            self.dropped.eq(index_taken & ~in_range & (descriptor.policy == Policy.DROP)),
            fatal.eq(index_taken & ~in_range & (descriptor.policy == Policy.FATAL)),
            enter.eq(index_taken & (in_range | self.clamped)),
            slots.close.eq(index_taken & ((position + 1 == length) | fatal)),
            slots.closing_slot.eq(slot),
            slots.issued.eq(issued + enter),
        ]
        with m.If(bag_taken):
            m.d.sync += [
                table.eq(self.bags.payload.table),
                length.eq(self.bags.payload.length),
                slot.eq(slots.open_slot),
                position.eq(0),
                issued.eq(0),
                bag_number.eq(bag_number + 1),
                slots.open.eq(self.bags.payload.length != 0),
            ]
        with m.If(index_taken):
            m.d.sync += [
                position.eq(position + 1),
                issued.eq(slots.issued),
            ]
        with m.If(slots.close):
            m.d.sync += slots.open.eq(0)
        with m.If(fatal):
            m.d.sync += [
                self.halted.eq(1),
                self.error_bag.eq(bag_number - 1),
                self.error_position.eq(position),
                self.error_index.eq(index),
            ]
        with m.If(enter):
            m.d.sync += [
                checked.vector.eq(Mux(in_range, index, 0)),
                checked.bursts.eq(descriptor.bursts),
                checked.base_row.eq(descriptor.base_row),
                checked.row_span.eq(descriptor.row_span),
                checked.tag.slot.eq(slot),
                checked.tag.last_beat.eq((descriptor.elements - 1) >> LANES_SHIFT),
            ]
