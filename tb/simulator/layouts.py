"""Where the fields of a packed item are, as plain numbers that are kept with a built simulator.

A layout here is a mapping of a field's name to its first bit and its number of bits. Fields of
fields have names with dots, as in `links.0.source`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "Layout",
    "Layouts",
    "item_field",
    "pack_items",
    "pack_number",
    "plain_layout",
    "read_layouts",
    "write_layouts",
]

Layout = Mapping[str, tuple[int, int]]
Layouts = Mapping[str, Layout]
"""Layouts by the name of the stream."""

FILE = "layouts.json"


def plain_layout(layout: Any) -> Layout:
    """An Amaranth layout as numbers: its fields, and those of the layouts in it."""
    return dict(_places(layout, "", 0))


def _places(layout: Any, prefix: str, base: int) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, member in layout:
        place = base + member.offset
        if hasattr(member.shape, "size"):  # a layout too
            yield from _places(member.shape, f"{prefix}{name}.", place)
        else:
            yield f"{prefix}{name}", (place, member.width)


def write_layouts(folder: Path, layouts: Layouts) -> None:
    """Leave layouts in `folder`."""
    (folder / FILE).write_text(json.dumps(layouts))


def read_layouts(folder: Path) -> Layouts:
    """The layouts in `folder`."""
    return {
        stream: {name: (place, width) for name, (place, width) in fields.items()}
        for stream, fields in json.loads((folder / FILE).read_text()).items()
    }


def pack_number(layout: Layout, values: Mapping[str, int]) -> int:
    """One item of any width; fields that are not given are 0.

    Raises
    ------
    KeyError
        For a field that the layout does not have.
    ValueError
        For a value that does not fit into its field.
    """
    packed = 0
    for name, value in values.items():
        place, width = layout[name]
        if not 0 <= value < 1 << width:
            raise ValueError(f"field {name}: {value} does not fit into {width} bits")
        packed |= value << place
    return packed


def pack_items(layout: Layout, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """uint64[n]: n items of at most 64 bits, from the values of each field."""
    columns = [
        column.astype(np.uint64) << np.uint64(layout[name][0]) for name, column in values.items()
    ]
    return np.bitwise_or.reduce(columns)


def item_field(records: np.ndarray, place: tuple[int, int]) -> np.ndarray:
    """int64[n]: a field of at most 32 bits of the items of `records` (SINK_RECORD)."""
    position, width = place
    word, bit = divmod(position, 32)
    words = records["item"]
    low = words[:, word].astype(np.uint64)
    high = words[:, word + 1].astype(np.uint64) << np.uint64(32)
    return ((low | high) >> np.uint64(bit) & np.uint64((1 << width) - 1)).astype(np.int64)
