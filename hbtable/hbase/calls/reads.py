"""Point reads of the interface: get*, getRow*, getRows*.

Upper time bounds are exclusive. What is not there is left out: an empty list, never an exception.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import final

from hbtable.client.table_calls import TableCalls
from hbtable.errors import CostExceeded, LimitExceeded
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.conversion import check_row, given_column, upper_bound
from hbtable.hbase.errors import PLAIN, BadArgument, JavaError
from hbtable.model.cell import MAX_TIMESTAMP, Cell, Row
from hbtable.model.read import ReadSpec, bytes_of, columns_of
from hbtable.model.values import shown
from hbtable.runtime.request_budget import HELD_AT_ONCE, hold
from hbtable.switches import switches

Attributes = object
_ROWS_AT_ONCE = 256


@final
class ReadCalls:
    """Thrift1's point reads. `answer_bytes`: the largest answer; `pause` lets other tasks run."""

    def __init__(self, tables: TableBackend, answer_bytes: int, pause: Callable[[], None]) -> None:
        self._tables = tables
        self._answer_bytes = answer_bytes
        self._everything = ReadSpec(max_bytes=answer_bytes)
        self._pause = pause

    @switches
    def get(self, table: bytes | None, row: bytes | None, column: bytes | None, _: Attributes) -> list[Cell]:
        return self._versions(table, row, column, MAX_TIMESTAMP, 1)

    @switches
    def getVer(
        self, table: bytes | None, row: bytes | None, column: bytes | None, versions: int | None, _: Attributes
    ) -> list[Cell]:
        return self._versions(table, row, column, MAX_TIMESTAMP, versions)

    @switches
    def getVerTs(
        self,
        table: bytes | None,
        row: bytes | None,
        column: bytes | None,
        timestamp: int | None,
        versions: int | None,
        _: Attributes,
    ) -> list[Cell]:
        return self._versions(table, row, column, upper_bound(timestamp), versions)

    @switches
    def getRow(self, table: bytes | None, row: bytes | None, _: Attributes) -> list[Row]:
        return self._tables.named(table).read_rows((check_row(row),), self._everything)

    @switches
    def getRowWithColumns(
        self, table: bytes | None, row: bytes | None, columns: Sequence[bytes] | None, _: Attributes
    ) -> list[Row]:
        spec = self._spec(columns) if columns else self._everything
        return self._tables.named(table).read_rows((check_row(row),), spec)

    @switches
    def getRowTs(self, table: bytes | None, row: bytes | None, timestamp: int | None, _: Attributes) -> list[Row]:
        spec = self._spec(None, upper_bound(timestamp))
        return self._tables.named(table).read_rows((check_row(row),), spec)

    @switches
    def getRowWithColumnsTs(
        self,
        table: bytes | None,
        row: bytes | None,
        columns: Sequence[bytes] | None,
        timestamp: int | None,
        _: Attributes,
    ) -> list[Row]:
        spec = self._spec(columns, upper_bound(timestamp))
        return self._tables.named(table).read_rows((check_row(row),), spec)

    @switches
    def getRows(self, table: bytes | None, rows: Sequence[bytes] | None, _: Attributes) -> list[Row]:
        return self._rows(table, rows, self._everything)

    @switches
    def getRowsWithColumns(
        self, table: bytes | None, rows: Sequence[bytes] | None, columns: Sequence[bytes] | None, _: Attributes
    ) -> list[Row]:
        return self._rows(table, rows, self._spec(columns))

    @switches
    def getRowsTs(
        self, table: bytes | None, rows: Sequence[bytes] | None, timestamp: int | None, _: Attributes
    ) -> list[Row]:
        return self._rows(table, rows, self._spec(None, upper_bound(timestamp)))

    @switches
    def getRowsWithColumnsTs(
        self,
        table: bytes | None,
        rows: Sequence[bytes] | None,
        columns: Sequence[bytes] | None,
        timestamp: int | None,
        _: Attributes,
    ) -> list[Row]:
        return self._rows(table, rows, self._spec(columns, upper_bound(timestamp)))

    @switches
    def _spec(
        self, columns: Sequence[bytes] | None, max_timestamp: int = MAX_TIMESTAMP, max_versions: int = 1
    ) -> ReadSpec:
        return ReadSpec(
            columns_of(columns, self._pause),
            max_timestamp=max_timestamp,
            max_versions=max_versions,
            max_bytes=self._answer_bytes,
        )

    @switches
    def _versions(
        self, table: bytes | None, row: bytes | None, column: bytes | None, max_timestamp: int, versions: int | None
    ) -> list[Cell]:
        named = self._tables.named(table)
        if not versions or versions < 0:
            raise JavaError(PLAIN, "versions must be positive", can_retry=True)
        spec = self._spec((given_column(column),), max_timestamp, versions)
        for _, cells in named.read_rows((check_row(row),), spec):
            return cells
        return []

    @switches
    def _rows(self, table: bytes | None, rows: Sequence[bytes] | None, spec: ReadSpec) -> list[Row]:
        if rows is None:
            raise BadArgument("the call has no list of rows")
        for row in rows[:_ROWS_AT_ONCE]:
            check_row(row)
        if not rows:
            self._tables.canonical(table)  # HBase answers [] even for a missing table, but not for a bad name
            return []
        named = self._tables.named(table)
        if len(rows) <= _ROWS_AT_ONCE:
            return named.read_rows(rows, spec)
        return self._in_parts(named, rows, spec)

    @switches
    def _in_parts(self, named: TableCalls, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        found: list[Row] = []
        left_bytes = spec.max_bytes
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            for row in some:
                check_row(row)
            try:
                part = named.read_rows(some, replace(spec, max_bytes=left_bytes))
            except CostExceeded:
                raise
            except LimitExceeded as error:
                raise LimitExceeded(
                    f"the {len(rows)} rows asked for hold more than the {spec.max_bytes} bytes of the largest answer "
                    f"(thrift.answer_bytes), as was seen behind row {shown(some[0])}: ask for fewer rows or columns "
                    "at a time"
                ) from error
            found += part
            part_bytes = sum(bytes_of(row, cells) for row, cells in part)
            left_bytes = max(left_bytes - part_bytes, 0)
            if part_bytes <= HELD_AT_ONCE:  # others were counted as they were read
                hold(part_bytes)
            self._pause()
        return found
