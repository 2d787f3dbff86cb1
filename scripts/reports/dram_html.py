"""Self-contained pages of pictures and tables about DRAM channels."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from jinja2 import Environment, StrictUndefined


@dataclass(frozen=True)
class Section:
    """A part of a page; a cell that ends in `!` is marked as a goal missed."""

    title: str
    text: str
    pictures: tuple[bytes, ...] = ()
    head: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=tuple)


def page(
    title: str, lead: str, sections: Sequence[Section], notes: Sequence[tuple[str, str]]
) -> str:
    """The page, with every picture embedded."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("recspeed.scripts.reports").joinpath("dram_sweep.html.j2")
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        title=title,
        lead=lead,
        notes=notes,
        sections=[
            {
                "title": section.title,
                "text": section.text,
                "images": [
                    "data:image/png;base64," + base64.b64encode(picture).decode()
                    for picture in section.pictures
                ],
                "head": section.head,
                "rows": section.rows,
            }
            for section in sections
        ],
    )
