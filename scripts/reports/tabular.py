"""CSV files, written whole or not at all."""

import csv
from pathlib import Path

from recspeed.scripts.console import whole_file


def write_csv(path: Path, header: list[str], rows: list) -> None:
    """One CSV file, whole or not at all. Floats keep full precision."""
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
