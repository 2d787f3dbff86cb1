"""`recspeed trace convert`: from dlrm's and Criteo's files to traces, and from traces to dlrm's."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from recspeed.models.traces import criteo, dlrm
from recspeed.models.traces.convert import RowMap, join_tables, map_rows, uniform_offsets
from recspeed.models.traces.stack_distance import stack_profile
from recspeed.models.traces.trace import Trace, load_trace, save_trace
from recspeed.scripts.console import UserError, out, progress, whole_file
from recspeed.scripts.options import numbers


class Form(StrEnum):
    """File formats besides RecSpeed's own."""

    DLRM = "dlrm"
    DLRM_BINARY = "dlrm-binary"
    DLRM_PROFILE = "dlrm-profile"
    CRITEO = "criteo"
    NPZ = "npz"


class RowMapping(StrEnum):
    """How an identifier becomes a row number."""

    KEEP = "keep"
    MODULO = "modulo"
    DENSE = "dense"


ROW_MAPS: dict[RowMapping, RowMap] = {
    RowMapping.KEEP: "keep",
    RowMapping.MODULO: "modulo",
    RowMapping.DENSE: "dense",
}

RowsOption = Annotated[
    str | None, typer.Option("--rows", help="Rows of each table: one number, or one per table.")
]
OutOption = Annotated[Path, typer.Option("--out", help="File to write.")]


def convert(
    sources: Annotated[
        list[Path], typer.Argument(help="File to read; for dlrm one per table, in table order.")
    ],
    form: Annotated[
        Form, typer.Option("--from", help="What it is. DeepRecSys' tables are dlrm's text.")
    ],
    out_path: OutOption,
    target: Annotated[
        Form,
        typer.Option(
            "--to",
            help="npz, or one table as dlrm, dlrm-binary or its stack-distance dlrm-profile.",
        ),
    ] = Form.NPZ,
    lookups_per_bag: Annotated[
        int, typer.Option(min=1, help="dlrm: lookups of each bag; the last bag holds the rest.")
    ] = 1,
    rows: RowsOption = None,
    dim: Annotated[int, typer.Option(min=1, help="FP16 elements of a row.")] = 32,
    table: Annotated[
        str | None,
        typer.Option(help="criteo: categories to take, 0 to 25; --to dlrm: the table to write."),
    ] = None,
    row_map: Annotated[
        RowMapping | None,
        typer.Option(
            "--map",
            help="Identifier to row: as it is (dlrm's default), modulo --rows (criteo's with "
            "--rows), or dense, numbered by first touch (criteo's without).",
        ),
    ] = None,
) -> None:
    """Convert dlrm's one-table traces (text or binary) or Criteo's click logs, or write dlrm's."""
    if form is Form.DLRM_PROFILE:
        raise UserError(
            "--from dlrm-profile: a profile is no trace; expected trace generate with --profile"
        )
    chosen = numbers(table, "--table", 0) if table is not None else None
    if form in (Form.CRITEO, Form.NPZ) and len(sources) != 1:
        raise UserError(f"--from {form}: {len(sources)} files; expected one")
    if form is Form.CRITEO:
        trace = _from_criteo(sources[0], chosen, rows, dim, row_map)
    elif form is Form.NPZ:
        trace = load_trace(sources[0])
    else:
        trace = _from_dlrm(sources, form, lookups_per_bag, rows, dim, row_map)
    if target is Form.NPZ:
        write_trace(trace, out_path)
    elif target is Form.CRITEO:
        raise UserError("--to criteo: expected npz or a form of dlrm")
    else:
        _write_dlrm(trace, chosen, target, out_path)


def per_table(text: str, option: str, tables: int) -> list[int]:
    """One number per table from an option's text, which may give one for all."""
    values = numbers(text, option)
    if len(values) not in (1, tables):
        raise UserError(f"{option} {text}: {len(values)} numbers; expected 1 or {tables}")
    return values * tables if len(values) == 1 else values


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace file, whole or not at all, and say what it holds."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        save_trace(trace, file)
    out.print(
        f"{path}: {trace.tables} tables, batch of {trace.batch}, {len(trace.indices)} lookups",
        highlight=False,
        soft_wrap=True,
    )


def _from_criteo(
    path: Path, chosen: list[int] | None, rows: str | None, dim: int, row_map: RowMapping | None
) -> Trace:
    tables = chosen if chosen is not None else list(range(criteo.CATEGORIES))
    if row_map is None:
        row_map = RowMapping.MODULO if rows is not None else RowMapping.DENSE
    table_rows = per_table(rows, "--rows", len(tables)) if rows is not None else None
    with progress() as bar:
        task = bar.add_task("bytes", total=path.stat().st_size)
        return criteo.read_criteo(
            path,
            tables=tables,
            row_map=ROW_MAPS[row_map],
            rows=table_rows,
            dim=dim,
            progress=lambda count: bar.advance(task, count),
        )


def _from_dlrm(
    sources: list[Path],
    form: Form,
    lookups_per_bag: int,
    rows: str | None,
    dim: int,
    row_map: RowMapping | None,
) -> Trace:
    read = dlrm.read_text_trace if form is Form.DLRM else dlrm.read_binary_trace
    wanted = per_table(rows, "--rows", len(sources)) if rows is not None else None
    tables, table_rows = [], []
    for number, path in enumerate(sources):
        mapped, needed = map_rows(
            read(path),
            ROW_MAPS[row_map or RowMapping.KEEP],
            wanted[number] if wanted is not None else None,
            str(path),
        )
        tables.append((mapped, uniform_offsets(len(mapped), lookups_per_bag)))
        table_rows.append(needed)
    return join_tables(tables, table_rows, dim, [str(path) for path in sources])


def _write_dlrm(trace: Trace, chosen: list[int] | None, target: Form, path: Path) -> None:
    tables = chosen or [0]
    if len(tables) != 1 or tables[0] >= trace.tables:
        raise UserError(
            f"--table {','.join(map(str, tables))}: expected one table, 0 to {trace.tables - 1}"
        )
    ids = trace.of_table(tables[0])
    with whole_file(path) as temporary:
        if target is Form.DLRM:
            temporary.write_text(dlrm.text_trace(ids))
        elif target is Form.DLRM_PROFILE:
            temporary.write_text(dlrm.profile_text(stack_profile(ids)))
        else:
            temporary.write_bytes(dlrm.binary_trace(ids))
    what = "profile" if target is Form.DLRM_PROFILE else "row ids"
    out.print(
        f"{path}: {what} of table {tables[0]}, {len(ids)} lookups", highlight=False, soft_wrap=True
    )
