"""Thrift2's structs in hbtable's terms: columns, times, filters, mutations, and results back."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hbtable.client.whole_rows import Families
from hbtable.filters.grammar import parse as parse_filter
from hbtable.hbase import conversion
from hbtable.hbase.codec.thrift2_structs import (
    TCellVisibility,
    TColumn,
    TColumnValue,
    TDelete,
    TGet,
    Thrift2Scan,
    TPut,
    TResult,
    TTimeRange,
)
from hbtable.hbase.conversion import check_row, shown
from hbtable.hbase.errors import DO_NOT_RETRY, PLAIN, BadArgument, JavaError
from hbtable.hbase.thrift2.filter_bytes import as_text
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME, Cell
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
    Operation,
    RowMutation,
)
from hbtable.model.read import Columns, FamilyTimes, ReadSpec, check_family_times
from hbtable.runtime.slices import OwnList, with_pauses
from hbtable.switches import switches

Pause = Callable[[], object]
"""Called between many things: lets other tasks run."""

_CELLS_BETWEEN_PAUSES: Final = 256
_WRITES_BETWEEN_PAUSES: Final = 64
PUT_TYPE: Final = 4
"""The type of every cell that is read: HBase's number for a put."""
SKIP_WAL: Final = 1
_DELETE_COLUMN: Final = 0
_DELETE_COLUMNS: Final = 1
_OF_COLUMNS: Final = {_DELETE_COLUMN: DELETE_VERSION, _DELETE_COLUMNS: DELETE_COLUMN}
_DELETE_FAMILY: Final = 2
_DELETE_FAMILY_VERSION: Final = 3
_OF_FAMILIES: Final = {_DELETE_FAMILY: DELETE_FAMILY, _DELETE_FAMILY_VERSION: DELETE_FAMILY_VERSION}


@switches
def read_spec(get: TGet, answer_bytes: int, pause: Pause) -> ReadSpec:
    """A time counts before a range of times."""
    if get.max_versions is not None and get.max_versions <= 0:
        raise JavaError(PLAIN, "versions must be positive")
    if get.timestamp is not None:
        low, high = _checked(get.timestamp, min(get.timestamp + 1, MAX_TIMESTAMP))
    else:
        low, high = _times(get.time_range)
    return ReadSpec(
        _columns(get.columns, pause),
        low,
        high,
        get.max_versions or 1,
        _filter(get.filter_string, get.filter_bytes),
        get.cache_blocks is not False,
        max_bytes=answer_bytes,
    )


@switches
def scan_spec(scan: Thrift2Scan, answer_bytes: int, pause: Pause) -> ReadSpec:
    versions = 1 if scan.max_versions is None else scan.max_versions
    if versions <= 0:
        raise JavaError(PLAIN, "versions must be positive")
    low, high = _times(scan.time_range)
    return ReadSpec(
        _columns(scan.columns, pause),
        low,
        high,
        versions,
        _filter(scan.filter_string, scan.filter_bytes),
        scan.cache_blocks is not False,
        max_bytes=answer_bytes,
    )


def family_times(scan: Thrift2Scan) -> FamilyTimes | None:
    """A family's own range counts in the place of the scan's."""
    ranges = scan.family_time_ranges or {}
    check_family_times(len(ranges))
    return {family: _times(given) for family, given in ranges.items()} or None


@switches
def _columns(named: Sequence[TColumn] | None, pause: Pause) -> Columns | None:
    chosen: dict[bytes, set[bytes] | None] = {}
    for column in with_pauses(named or (), pause, _CELLS_BETWEEN_PAUSES):
        wanted = chosen.setdefault(column.family, set())
        if column.qualifier is None:
            chosen[column.family] = None
        elif wanted is not None:
            wanted.add(column.qualifier)
    if not chosen:
        return None
    columns = {family: None if wanted is None else frozenset(wanted) for family, wanted in chosen.items()}
    if named and len(named) > _CELLS_BETWEEN_PAUSES:
        pause()  # to copy very many takes a few milliseconds
    return columns


def _times(given: TTimeRange | None) -> tuple[int, int]:
    return (0, MAX_TIMESTAMP) if given is None else _checked(given.min_stamp, given.max_stamp)


def _checked(low: int, high: int) -> tuple[int, int]:
    if low < 0 or high < 0:
        raise BadArgument(f"Timestamp cannot be negative. minStamp:{low}, maxStamp:{high}")
    if high < low:
        raise BadArgument(f"maxStamp is smaller than minStamp. minStamp:{low}, maxStamp:{high}")
    return low, high


def _filter(text: bytes | None, serialized: bytes | None) -> bytes | None:
    if serialized is not None:
        text = as_text(serialized)
    if text is not None:
        parse_filter(text)
    return text


@switches
def result(row: bytes | None, cells: Sequence[Cell], pause: Pause, partial: bool = False) -> TResult:
    """`pause` is called between many."""
    if len(cells) <= _CELLS_BETWEEN_PAUSES:
        return TResult(row, [_value(cell) for cell in cells], False, partial)
    values: OwnList[TColumnValue] = OwnList()
    for first in range(0, len(cells), _CELLS_BETWEEN_PAUSES):
        values += [_value(cell) for cell in cells[first : first + _CELLS_BETWEEN_PAUSES]]
        pause()
    return TResult(row, values, False, partial)


NOTHING: Final = TResult(None, [], False, False)


def _value(cell: Cell) -> TColumnValue:
    column, timestamp, value = cell
    family, _, qualifier = column.partition(b":")
    return TColumnValue(family, qualifier, value, timestamp, None, PUT_TYPE)


# ---------------------------------------------------------------- writes


def _write_time(given: int | None, default: int) -> int:
    return default if given is None else conversion.write_time(given)


def check_visibility(asked: TCellVisibility | None) -> None:
    """Refuses what would be written unprotected."""
    if asked is not None and asked.expression:
        raise JavaError(DO_NOT_RETRY, "cells with visibility expressions cannot be protected here; nothing was written")


@switches
def put_mutation(put: TPut, cell_bytes: int, pause: Pause) -> RowMutation:
    row = check_row(put.row)
    check_visibility(put.cell_visibility)
    if not put.column_values:
        raise BadArgument(f"No columns to insert: the put into row {shown(row)} is empty")
    default = _write_time(put.timestamp, SERVER_TIME)
    cells = with_pauses(put.column_values, pause, _WRITES_BETWEEN_PAUSES)
    operations = [_put(row, cell, default, cell_bytes) for cell in cells]
    return RowMutation(row, operations, put.durability == SKIP_WAL, conversion.ttl_millis(put.attributes))


def _put(row: bytes, cell: TColumnValue, default: int, cell_bytes: int) -> Operation:
    family, time = cell.family, _write_time(cell.timestamp, default)
    if not family:
        raise BadArgument("a cell to be written has no column family")
    if b":" in family:  # refused by the tablet, as any other that no table has, if it comes to that
        return PUT, family, cell.qualifier, time, cell.value
    return conversion.put(row, family + b":" + cell.qualifier, cell.value, time, cell_bytes)


@switches
def delete_mutation(delete: TDelete, families: Families, pause: Pause) -> RowMutation:
    row = check_row(delete.row)
    skip_log = delete.durability == SKIP_WAL
    if not delete.columns:
        time = _write_time(delete.timestamp if delete.columns is None else None, SERVER_TIME)
        whole: list[Operation] = [(DELETE_FAMILY, family, b"", time, b"") for family in families()]
        return RowMutation(row, whole, skip_log)
    kind = _DELETE_COLUMNS if delete.delete_type is None else delete.delete_type
    columns: Iterable[TColumn] = with_pauses(delete.columns, pause, _WRITES_BETWEEN_PAUSES)
    if kind == _DELETE_FAMILY:  # of several of one family HBase's client keeps the last
        columns = with_pauses({column.family: column for column in columns}.values(), pause, _WRITES_BETWEEN_PAUSES)
    return RowMutation(row, [_delete(row, column, kind) for column in columns], skip_log)


def _delete(row: bytes, column: TColumn, kind: int) -> Operation:
    time = _write_time(column.timestamp, SERVER_TIME)
    if kind in _OF_COLUMNS:
        return _OF_COLUMNS[kind], column.family, column.qualifier or b"", time, b""
    if kind == _DELETE_FAMILY_VERSION and column.timestamp is None:
        raise BadArgument(f"a delete of one version of family {shown(column.family)} has no timestamp")
    if kind not in _OF_FAMILIES:
        raise BadArgument(f"a delete of row {shown(row)} has the type {kind}; there are 0 to 3 (TDeleteType)")
    return _OF_FAMILIES[kind], column.family, b"", time, b""
