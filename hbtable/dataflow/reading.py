"""A split's rows, read by one task over a connection of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hbtable.client.given import at_least_one, seconds
from hbtable.client.rows import RowDict
from hbtable.dataflow.places import RETRY_SECONDS, table_at
from hbtable.dataflow.splits import Split
from hbtable.errors import TableNotFound, WrongType
from hbtable.library.table import Table
from hbtable.model import names
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

Batch = list[tuple[bytes, RowDict]]
"""Rows, ascending, as Table.scan gives them."""


@switches
def read(split: Split, batch_rows: int = 1000, retry_seconds: float = RETRY_SECONDS) -> Iterator[Batch]:
    """The rows of the split, at most `batch_rows` at a time, as scan() gives them: with Split.versions each value is a
    list. Each row comes once, whole, also when a server dies or a tablet is split or moved meanwhile: reading goes on
    behind the last row, for which a server is waited for `retry_seconds` at each break; then Unavailable.
    TableNotFound, also at the end: some of these rows may be of another table than the split."""
    _check(split)
    batch_rows = at_least_one("'batch_rows'", batch_rows)
    retry_seconds = seconds("'retry_seconds'", retry_seconds)
    return _read(split, batch_rows, retry_seconds)


@switches
def _read(split: Split, batch_rows: int, retry_seconds: float) -> Iterator[Batch]:
    if _is_empty(split):
        return
    with _table_of(split, retry_seconds) as table:
        rows = table.scan(
            split.row_start or None,
            split.row_stop or None,
            columns=split.columns,
            filter=split.filter,
            timestamp=split.timestamp,
            batch_size=batch_rows,
            versions=split.versions,
        )
        batch: Batch = []
        for found in rows:
            batch.append(found)
            if len(batch) == batch_rows:
                yield batch
                batch = []
        if batch:
            yield batch


@switches
def read_arrow(
    split: Split, batch_rows: int = 10_000, row: str = "row", retry_seconds: float = RETRY_SECONDS
) -> "Iterator[RecordBatch]":
    """The same as Arrow's record batches (Table.to_arrow): a record a row where the split has types, else a record a
    cell. WrongValue names row, column and bytes of a value that is not what its type says."""
    _check(split)
    batch_rows = at_least_one("'batch_rows'", batch_rows)
    retry_seconds = seconds("'retry_seconds'", retry_seconds)
    return _read_arrow(split, batch_rows, row, retry_seconds)


@switches
def _read_arrow(split: Split, batch_rows: int, row: str, retry_seconds: float) -> "Iterator[RecordBatch]":
    if _is_empty(split):
        return
    with _table_of(split, retry_seconds) as table:
        yield from table.to_arrow(
            split.types if split.types is not None else split.columns,
            row_start=split.row_start or None,
            row_stop=split.row_stop or None,
            filter=split.filter,
            timestamp=split.timestamp,
            versions=split.versions,
            batch_rows=batch_rows,
            row=row,
        )


@switches
def arrow_schema(split: Split, row: str) -> "Schema":
    """Of read_arrow()'s batches. Nothing is read."""
    with table_at(split.place, split.table, 0.0) as table:
        columns = split.types if split.types is not None else split.columns
        return table.to_arrow(columns, versions=split.versions, row=row).schema


@switches
@contextmanager
def _table_of(split: Split, retry_seconds: float) -> Iterator[Table]:
    """The split's table, from the first row to the last: no table has the number of another one."""
    with table_at(split.place, split.table, retry_seconds) as table:
        try:
            _check_number(split, table)
            yield table
            _check_number(split, table)
        except TableNotFound as error:
            raise TableNotFound(f"{error}; it was there when this split of it was made: make new ones") from None


@switches
def _check_number(split: Split, table: Table) -> None:
    if split.table_id and table.table.record().table_id != split.table_id:
        raise TableNotFound(f"table {names.shown(split.table)} was dropped or truncated")


def _is_empty(split: Split) -> bool:
    """Of a scan a row_stop that equals row_start is that row."""
    return bool(split.row_stop) and split.row_start >= split.row_stop


def _check(split: object) -> None:
    if not isinstance(split, Split):
        raise WrongType(f"the split {shown(split)} is {type(split).__name__}, and has to be one of splits()")
