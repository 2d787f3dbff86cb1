"""One table or figure of a report: its numbers as CSV, picture as PNG, text for the page."""

import base64
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from recspeed.scripts.reports import drawing
from recspeed.scripts.reports.tabular import write_csv

Cell = str | float | int | None


def shown(value: Cell) -> str:
    """A cell as text for people: four significant digits, thousands separated."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == 0 or isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e7):
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass
class Exhibit:
    """A table or figure. `key` names its files, `section` the paper's section that it belongs to.

    `rows` are the numbers behind it; `preview` limits how many the page shows (None: all).
    `picture` is set once the PNG is written; `plotted` says that it is more than the table, drawn.
    """

    key: str
    title: str
    section: str
    caption: str
    header: list[str]
    rows: list[list[Cell]]
    preview: int | None = None
    notes: list[str] = field(default_factory=list)
    picture: Path | None = None
    plotted: bool = False

    def write(self, folder: Path) -> None:
        """Write KEY.csv, and KEY.png as a drawn table where no plot was drawn before."""
        write_csv(folder / f"{self.key}.csv", self.header, self.rows)
        self.plotted = self.picture is not None
        if self.picture is None:
            self.picture = folder / f"{self.key}.png"
            draw_table(self.picture, self.title, self.header, self.rows)

    @property
    def image(self) -> str:
        """The PNG as a data URI, so that the page is one file."""
        if self.picture is None:
            raise ValueError(f"exhibit {self.key} has no picture yet")
        return "data:image/png;base64," + base64.b64encode(self.picture.read_bytes()).decode()

    @property
    def shown_rows(self) -> list[list[str]]:
        """The rows of the page, as text."""
        rows = self.rows if self.preview is None else self.rows[: self.preview]
        return [[shown(cell) for cell in row] for row in rows]


def draw_table(path: Path, title: str, header: list[str], rows: list[list[Cell]]) -> None:
    """Draw rows as a table with wrapped cells."""
    width = 11.0
    texts = [header, *([shown(cell) for cell in row] for row in rows)]
    natural = [min(max(len(row[i]) for row in texts), 52) + 3 for i in range(len(header))]
    share = [part / sum(natural) for part in natural]
    limits = [max(int(part * width * 12.5) - 2, 6) for part in share]
    wrapped = [
        ["\n".join(textwrap.wrap(cell, limits[i])) or "" for i, cell in enumerate(row)]
        for row in texts
    ]
    lines = [max(cell.count("\n") + 1 for cell in row) for row in wrapped]
    height = sum(lines) * 0.19 + len(lines) * 0.09 + 0.5
    with drawing.figure(size=(width, height)) as (sheet, ax):
        ax.axis("off")
        ax.set_title(title, loc="left", fontsize=12, fontweight="bold")
        table = ax.table(wrapped, colWidths=share, cellLoc="left", bbox=(0, 0, 1, 1))
        table.auto_set_font_size(False)
        table.set_fontsize(9)
        total = sum(count * 0.19 + 0.09 for count in lines)
        for (row, _), cell in table.get_celld().items():
            cell.set_height((lines[row] * 0.19 + 0.09) / total)
            cell.set_edgecolor("#d5dae0")
            cell.PAD = 0.02
            if row == 0:
                cell.set_facecolor("#e8eef4")
                cell.set_text_props(fontweight="bold")
        drawing.save(sheet, path)
