"""Layouts as numbers: equal to Amaranth's, packed and unpacked."""

import numpy as np
import pytest
from amaranth.lib import data

from recspeed.rtl.collective.descriptor import descriptor_layout
from recspeed.tb.simulator.layouts import (
    item_field,
    pack_items,
    pack_number,
    plain_layout,
    read_layouts,
    write_layouts,
)
from recspeed.tb.simulator.simulation import SINK_RECORD

WIDE = data.StructLayout({"low": 27, "middle": 32, "high": 20, "top": 1})


def test_a_layout_survives_its_file(tmp_path):
    layouts = {"descriptor": plain_layout(descriptor_layout(3)), "wide": plain_layout(WIDE)}
    write_layouts(tmp_path, layouts)
    assert read_layouts(tmp_path) == layouts
    assert layouts["wide"]["middle"] == (27, 32)


def test_nested_fields_are_where_amaranth_has_them():
    layout = descriptor_layout(3)
    plain = plain_layout(layout)
    rng = np.random.default_rng(1)
    values = {name: int(rng.integers(1 << width)) for name, (_, width) in plain.items()}
    groups = {"common": {}, "links": [{}, {}, {}]}
    for name, value in values.items():
        first, *rest = name.split(".")
        if first == "common":
            groups["common"][rest[0]] = value
        else:
            groups["links"][int(rest[0])][rest[1]] = value
    assert pack_number(plain, values) == layout.const(groups).as_bits()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"^field top: 2 does not fit into 1 bits$"):
        pack_number(plain_layout(WIDE), {"top": 2})
    with pytest.raises(ValueError, match=r"^field low: -1 does not fit into 27 bits$"):
        pack_number(plain_layout(WIDE), {"low": -1})
    with pytest.raises(KeyError, match="absent"):
        pack_number(plain_layout(WIDE), {"absent": 1})


def test_items_of_sinks_are_unpacked_field_by_field():
    plain = plain_layout(WIDE)
    rng = np.random.default_rng(2)
    values = {name: rng.integers(0, 1 << width, 50) for name, (_, width) in plain.items()}
    records = np.zeros(50, dtype=SINK_RECORD)
    for number in range(50):
        item = pack_number(plain, {name: int(column[number]) for name, column in values.items()})
        for word in range(3):
            records["item"][number, word] = item >> (32 * word) & 0xFFFFFFFF
    for name, column in values.items():
        np.testing.assert_array_equal(item_field(records, plain[name]), column)


def test_items_of_sources_are_packed_as_one_by_one():
    plain = plain_layout(data.StructLayout({"a": 8, "b": 40, "c": 16}))
    rng = np.random.default_rng(3)
    values = {name: rng.integers(0, 1 << width, 50) for name, (_, width) in plain.items()}
    packed = pack_items(plain, values)
    assert packed.dtype == np.uint64
    for number in range(50):
        item = {name: int(column[number]) for name, column in values.items()}
        assert int(packed[number]) == pack_number(plain, item)
