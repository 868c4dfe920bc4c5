"""The records of a file, each as the mutation it asks for, with the offset to go on from.

An offset is a byte of a text file, a record's number of Parquet and of HBase's Export.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from hbtable.hbase.admin.structs import AdminCell, AdminMutation, AdminRow
from hbtable.shell.copying.columns import lifetime_of
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.records import BadRecord, Fields, from_json, lines, to_json

Record = AdminMutation | BadRecord
Check = Callable[[AdminMutation], AdminMutation]
"""The same row; BadRecord of one that the table cannot take."""
_SEPARATORS: Final = {"csv": ",", "tsv": "\t"}
HBASE_EXPORT: Final = "hbase-export"
HAVE_OFFSETS: Final = ("jsonl", "csv", "tsv")
"""Of the others the whole file counts as read from the beginning."""
__all__ = [
    "HAVE_OFFSETS",
    "HBASE_EXPORT",
    "BadRecord",
    "Record",
    "bytes_of_record",
    "files_to_read",
    "header",
    "json_line",
    "records",
]


def files_to_read(path: Path, form: str) -> list[Path]:
    """The files that `path` is, in their order. ArgumentError: a folder that is no whole export of HBase."""
    if form != HBASE_EXPORT:
        return [path]
    from hbtable.shell.transfer.hbase_exports import files_of

    return files_of(path)


def records(
    path: Path, form: str, columns: Sequence[str], offset: int, check: Check = lambda row: row
) -> Iterator[tuple[Record, int]]:
    """(a row, or what is wrong with it; the offset behind it). ArgumentError."""
    if form == "parquet":
        from hbtable.shell.transfer.parquet import read_rows

        yield from _checked(path, read_rows(path, columns, offset), check)
        return
    if form == HBASE_EXPORT:
        from hbtable.shell.transfer.hbase_exports import read_results

        if columns:
            raise ArgumentError("an export of HBase names its columns itself: leave --columns out")
        yield from _checked(path, read_results(path, offset), check)
        return
    with path.open("rb") as file:
        if form == "jsonl":
            yield from _json_lines(file, offset, check)
        else:
            yield from _fields(file, _SEPARATORS[form], columns, offset, check)


def header(path: Path, form: str, columns: Sequence[str]) -> bytes:
    """The line of `path` that names its fields, without which its other lines cannot be read; b"": they can."""
    if columns or form not in _SEPARATORS:
        return b""
    with path.open("rb") as file:
        return next(lines(file, _SEPARATORS[form]), ([], b"", 0))[1]


def bytes_of_record(path: Path, form: str, before: int, behind: int) -> bytes:
    """Those of the record of a text file that ends at `behind`: from `before` on no other one does but the line that
    names the fields."""
    with path.open("rb") as file:
        file.seek(before)
        found = lines(file, _SEPARATORS[form]) if form in _SEPARATORS else _plain_lines(file)
        return next(raw for _, raw, end in found if end >= behind)


def _plain_lines(file: IO[bytes]) -> Iterator[tuple[object, bytes, int]]:
    for line in iter(file.readline, b""):
        yield None, line, file.tell()


def _checked(path: Path, found: Iterator[tuple[Record, int]], check: Check) -> Iterator[tuple[Record, int]]:
    """The same, of a file without lines. A row that is refused is kept as a line of JSON that can be imported."""
    for record, behind in found:
        if isinstance(record, BadRecord):
            yield record, behind
            continue
        try:
            checked: Record = check(record)
        except BadRecord as error:
            checked = error
            error.raw = json_line(record)
            error.place = f"{path}, record {behind}"
        yield checked, behind


def json_line(row: AdminMutation) -> bytes:
    """The row as a record of JSON lines."""
    cells = [
        AdminCell(b"%b:%b" % (one.family, one.qualifier), one.timestamp, one.value, ttl_millis=lifetime_of(one.value))
        for one in row.operations or ()
    ]
    return f"{to_json(AdminRow(row.row, cells))}\n".encode()


def _json_lines(file: IO[bytes], offset: int, check: Check) -> Iterator[tuple[Record, int]]:
    file.seek(offset)
    for line in iter(file.readline, b""):
        if line.strip():
            try:
                record: Record = check(from_json(line))
            except BadRecord as error:
                record = error
                error.raw = line
            yield record, file.tell()


def _fields(
    file: IO[bytes], separator: str, columns: Sequence[str], offset: int, check: Check
) -> Iterator[tuple[Record, int]]:
    if file.read(len(BOM_UTF8)) == BOM_UTF8:
        raise ArgumentError(f"{file.name} begins with a byte order mark, which would be of the first field: remove it")
    file.seek(0)
    names = list(columns)
    if not names:
        first = next(lines(file, separator), ([], b"", 0))[0]
        if isinstance(first, BadRecord):
            raise ArgumentError(f"{file.name}, line 1, which is to name the fields: {first}")
        if not first:
            raise ArgumentError(f"{file.name} is empty and no --columns are given")
        names = first
    fields = Fields(names)
    if offset:
        file.seek(offset)
    begins = bool(columns) and not offset
    for found, raw, behind in lines(file, separator):
        if begins and found:
            begins = False
            if found == names:
                continue  # as an export of these columns begins; a row named HBASE_ROW_KEY is none that anybody means
        if found:
            try:
                if isinstance(found, BadRecord):
                    raise found
                record: Record = check(fields.mutation(found))
            except BadRecord as error:
                record = error
                error.raw = raw
            yield record, behind
