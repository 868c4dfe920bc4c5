"""hbtable export: a table with every version as JSON lines, or the newest of named columns as CSV or TSV."""

import base64
import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hbtable.hbase.admin_structs import AdminColumn, AdminPage, AdminPosition, AdminRead, AdminRow, AdminScan
from hbtable.model.read import ALL_VERSIONS
from hbtable.shell.connection import Connection
from hbtable.shell.errors import BadArgument
from hbtable.shell.transfer.progress import Progress
from hbtable.shell.transfer.records import ROW_KEY, to_json


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What the command line said."""

    table: bytes
    path: Path
    format: str
    columns: Sequence[str] = ()
    """Of CSV and TSV: family:qualifier each."""
    page_rows: int = 1000


def run_export(server: Connection, options: ExportOptions, clock: Callable[[], float]) -> str:
    """The closing sentence. Started again after a break it cuts off what is behind the last page known to be whole."""
    if options.format != "jsonl" and not options.columns:
        raise BadArgument("name the columns of a CSV or TSV: --columns f:a,f:b; JSON lines need none")
    progress = Progress(options.path.with_name(f"{options.path.name}.export"), clock)
    state = progress.load()
    position = _position(state)
    rows, size = _number(state.get("rows")), _number(state.get("bytes")) if position is not None else 0
    read = AdminRead(_wanted(options.columns), max_versions=ALL_VERSIONS if options.format == "jsonl" else 1)
    with options.path.open("r+b" if position is not None and options.path.exists() else "wb") as file:
        file.truncate(size)
        file.seek(size)
        if not size and options.format != "jsonl":
            file.write(_lines(options, [[ROW_KEY, *options.columns]]))
        while True:
            scan = AdminScan(read._replace(cache_blocks=False), max_rows=options.page_rows, position=position)
            page: AdminPage = server.admin("adminScan", options.table, scan)
            file.write(_page(options, page.rows))
            rows += len(page.rows)
            position = page.position
            file.flush()
            os.fsync(file.fileno())  # the progress file may not speak of bytes that a power loss takes back
            if position is None:
                break
            progress.save({"rows": rows, "bytes": file.tell(), "position": _written(position)})
            progress.show(rows, 0)
    return progress.finish(rows, "exported")


def _page(options: ExportOptions, rows: Sequence[AdminRow]) -> bytes:
    if options.format == "jsonl":
        return "".join([to_json(row) + "\n" for row in rows]).encode()
    made = []
    for row in rows:
        values = {cell.column: cell.value for cell in row.cells or ()}
        found = [values.get(name.encode(), b"") for name in options.columns]
        made.append([one.decode("utf-8", "surrogateescape") for one in (row.row, *found)])
    return _lines(options, made)


def _lines(options: ExportOptions, rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter="," if options.format == "csv" else "\t", lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")


def _wanted(columns: Sequence[str]) -> list[AdminColumn] | None:
    if not columns:
        return None
    found = []
    for name in columns:
        family, colon, qualifier = name.encode().partition(b":")
        found.append(AdminColumn(family, qualifier if colon else None))
    return found


def _written(position: AdminPosition) -> list[object]:
    row, cells_done, state = position
    return [base64.b64encode(row).decode(), cells_done, base64.b64encode(state).decode()]


def _position(state: dict[str, object]) -> AdminPosition | None:
    held = state.get("position")
    if not isinstance(held, list) or len(held) != 3:
        return None
    return AdminPosition(base64.b64decode(held[0]), int(held[1]), base64.b64decode(held[2]))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
