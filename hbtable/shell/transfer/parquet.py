"""Parquet, by pyarrow (an extra: pip install 'hbtable[parquet]').

Exported files have a record a cell: row, column (family:qualifier), timestamp (int64, milliseconds), value, all bytes
but the timestamp; lossless. Imported are such files, and those with a record a row (parquet_values.py).
"""

import importlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, final

from hbtable.errors import WrongValue
from hbtable.hbase.admin.structs import AdminMutation, AdminOperation, AdminRow
from hbtable.model.mutation import PUT
from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.transfer.pieces import Piece
from hbtable.shell.transfer.records import ROW_KEY, BadRecord, Fields, family_and_qualifier, row_key, timestamp_of

_CELLS: Final = ("row", "column", "timestamp", "value")
_BATCH_RECORDS: Final = 10_000
_GROUP_RECORDS: Final = 1 << 17
_GROUP_BYTES: Final = 64 << 20


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(f"pyarrow{module}")
    except ImportError:
        raise ShellError("Parquet needs pyarrow, which is not installed: pip install 'hbtable[parquet]'") from None


def check_pyarrow() -> None:
    """ShellError: it is not installed."""
    _pyarrow("")


def _schema() -> Any:
    arrow = _pyarrow("")
    types = {name: arrow.int64() if name == "timestamp" else arrow.binary() for name in _CELLS}
    return arrow.schema(list(types.items()))


@final
class GroupsWriter:
    """A Parquet file; complete when the `with` block ends without an error. Records are gathered into row groups of
    about 130,000, or of 64 MB in memory: readers pass over a group as a whole, and read one at a time."""

    def __init__(self, path: Path, schema: Any = None) -> None:
        """`schema` None: of cells."""
        self.schema = _schema() if schema is None else schema
        self._file = path.open("wb")
        self._writer = _pyarrow(".parquet").ParquetWriter(self._file, self.schema)
        self._held: list[Any] = []
        self._records = self._bytes = 0

    def write_cells(self, rows: Sequence[AdminRow]) -> None:
        cells = [(row.row, cell.column, cell.timestamp, cell.value) for row in rows for cell in row.cells or ()]
        if cells:
            columns = dict(zip(_CELLS, zip(*cells, strict=True), strict=True))
            self.write(_pyarrow("").table(columns, schema=self.schema))

    def write_batch(self, batch: Any) -> None:
        self.write(_pyarrow("").Table.from_batches([batch]))

    def write(self, table: Any) -> None:
        self._held.append(table)
        self._records += table.num_rows
        self._bytes += table.nbytes
        if self._records >= _GROUP_RECORDS or self._bytes >= _GROUP_BYTES:
            self._end_group()

    def _end_group(self) -> None:
        if self._records:
            self._writer.write_table(_pyarrow("").concat_tables(self._held), row_group_size=self._records)
        self._held, self._records, self._bytes = [], 0, 0

    def __enter__(self) -> "GroupsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._end_group()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def join_parts(target: Path, paths: Sequence[Path]) -> None:
    """One file of all parts, in their order; replaces `target` whole."""
    parquet = _pyarrow(".parquet")
    beside = target.with_name(f"{target.name}.new")
    with GroupsWriter(beside, parquet.read_schema(paths[0])) as writer:
        for path in paths:
            part = parquet.ParquetFile(path)
            for group in range(part.num_row_groups):
                writer.write(part.read_row_group(group))
            part.close()
    os.replace(beside, target)


def read_rows(path: Path, columns: Sequence[str], offset: int) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    """(a row or what is wrong with it, number of the record behind it), from record `offset` on."""
    try:
        file = _pyarrow(".parquet").ParquetFile(path)
    except (ValueError, OSError) as error:
        raise ShellError(f"{path} is no Parquet file: {error}") from None
    count = len(file.schema_arrow.names)
    if columns and len(columns) != count:
        raise ArgumentError(f"{path} has {count} columns, and {len(columns)} are named")
    names = list(columns) or _names(path, file.schema_arrow)
    if sorted(names) == sorted(_CELLS):
        return _cells(_records(file, offset), [names.index(name) for name in _CELLS], offset)
    from hbtable.shell.transfer.parquet_values import ROW, is_as_read, values_of

    if not columns and is_as_read(file.schema_arrow):
        names = [ROW_KEY if name == ROW else name for name in names]
    return _wide(_batches(file, offset), values_of(file.schema_arrow, names), Fields(names), offset)


def _names(path: Path, schema: Any) -> list[str]:
    """The columns that the file's fields are named for. ArgumentError."""
    from hbtable.arrow.field_names import column_of

    try:
        return [column_of(field).decode("utf-8", "surrogateescape") for field in schema]
    except WrongValue as error:
        raise ArgumentError(f"{path}: {error}; name all columns of the file with --columns") from None


def _batches(file: Any, offset: int) -> Iterator[Any]:
    """Those of the records from `offset` on."""
    left = offset
    for batch in file.iter_batches(batch_size=_BATCH_RECORDS):
        if left < batch.num_rows:
            yield batch.slice(left)
        left = max(0, left - batch.num_rows)


def _records(file: Any, offset: int) -> Iterator[tuple[object, ...]]:
    for batch in _batches(file, offset):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _cells(
    found: Iterator[tuple[object, ...]], places: Sequence[int], offset: int
) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    """Neighbouring cells of one row are one mutation, or of a long row several."""
    row: bytes | None = None
    piece = Piece()
    number = offset
    for record in found:
        key, column, timestamp, value = (record[place] for place in places)
        if row is not None and key != row:
            yield AdminMutation(row, piece.operations), number
            row, piece = None, Piece()
        number += 1
        try:
            found_row, operation = _cell(key, column, timestamp, value)
        except BadRecord as error:
            if row is not None:  # first: an import may be broken off behind the bad record, and goes on there
                yield AdminMutation(row, piece.operations), number - 1
                row, piece = None, Piece()
            yield _bad(error, number, record), number
            continue
        row = found_row
        if piece.add(operation):
            yield AdminMutation(row, piece.operations), number
            row, piece = None, Piece()
    if row is not None:
        yield AdminMutation(row, piece.operations), number


def _cell(key: object, column: object, timestamp: object, value: object) -> tuple[bytes, AdminOperation]:
    """The row and the put. BadRecord."""
    if not (isinstance(key, bytes) and isinstance(column, bytes) and isinstance(value, bytes)):
        raise BadRecord("row, column and value have to be bytes")
    time = -1 if timestamp is None else timestamp
    if type(time) is not int:
        kind = type(time).__name__
        raise BadRecord(
            f"timestamp is {kind}, and has to be milliseconds since 1970 as a number (int64), or null for now"
        )
    if timestamp is not None:
        timestamp_of("timestamp", time)
    return row_key(key), AdminOperation(PUT, *family_and_qualifier("column", column), time, value)


def _wide(
    batches: Iterator[Any], values_of: Callable[[Any], list[Sequence[Any]]], fields: Fields, offset: int
) -> Iterator[tuple[AdminMutation | BadRecord, int]]:
    number = offset
    for batch in batches:
        for at, values in enumerate(zip(*values_of(batch), strict=True)):
            number += 1
            try:
                for value in values:
                    if isinstance(value, BadRecord):
                        raise value
                record: AdminMutation | BadRecord = fields.mutation_of_values(values)
            except BadRecord as error:
                record = _bad(error, number, [_python(column[at]) for column in batch.columns])
            yield record, number


def _python(value: Any) -> object:
    try:
        return value.as_py()
    except ValueError:  # text that is no UTF-8, nanoseconds
        return f"{value.type} that cannot be shown"


def _bad(error: BadRecord, number: int, record: Sequence[object]) -> BadRecord:
    """As a line of JSON: a Parquet file has no lines that could be kept."""
    values = [value if isinstance(value, (int, float, bool, type(None))) else _text(value) for value in record]
    shown = json.dumps({"record": number, "values": values}, ensure_ascii=False)
    error.raw = f"{shown}\n".encode("utf-8", "surrogateescape")
    return error


def _text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
