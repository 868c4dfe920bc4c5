"""Point reads of the interface: get*, getRow*, getRows*.

Upper time bounds are exclusive. What is not there is left out: an empty list, never an exception.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Sequence
from typing import final

from hbtable.client.table_calls import TableCalls
from hbtable.errors import LimitExceeded
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.conversion import check_row, given_column, upper_bound
from hbtable.hbase.errors import PLAIN, BadArgument, JavaError
from hbtable.model.cell import MAX_TIMESTAMP, Cell, Row
from hbtable.model.read import EVERYTHING, ReadSpec, columns_of
from hbtable.runtime.memory_budget import MemoryBudget, MemoryReservation
from hbtable.switches import switches

Attributes = object
_ROWS_AT_ONCE = 256


@final
class ReadCalls:
    """`answer_bytes`: the largest answer to a call for many rows; `pause` lets other tasks run."""

    def __init__(
        self, tables: TableBackend, answer_bytes: int, pause: Callable[[], None], budget: MemoryBudget
    ) -> None:
        self._tables = tables
        self._answer_bytes = answer_bytes
        self._pause = pause
        self._budget = budget

    def get(self, table: bytes | None, row: bytes | None, column: bytes | None, _: Attributes) -> list[Cell]:
        return self._versions(table, row, column, MAX_TIMESTAMP, 1)

    def getVer(
        self, table: bytes | None, row: bytes | None, column: bytes | None, versions: int | None, _: Attributes
    ) -> list[Cell]:
        return self._versions(table, row, column, MAX_TIMESTAMP, versions)

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
        return self._tables.named(table).read_rows((check_row(row),), EVERYTHING)

    def getRowWithColumns(
        self, table: bytes | None, row: bytes | None, columns: Sequence[bytes] | None, _: Attributes
    ) -> list[Row]:
        spec = ReadSpec(columns_of(columns)) if columns else EVERYTHING
        return self._tables.named(table).read_rows((check_row(row),), spec)

    def getRowTs(self, table: bytes | None, row: bytes | None, timestamp: int | None, _: Attributes) -> list[Row]:
        spec = ReadSpec(max_timestamp=upper_bound(timestamp))
        return self._tables.named(table).read_rows((check_row(row),), spec)

    def getRowWithColumnsTs(
        self,
        table: bytes | None,
        row: bytes | None,
        columns: Sequence[bytes] | None,
        timestamp: int | None,
        _: Attributes,
    ) -> list[Row]:
        spec = ReadSpec(columns_of(columns), max_timestamp=upper_bound(timestamp))
        return self._tables.named(table).read_rows((check_row(row),), spec)

    def getRows(self, table: bytes | None, rows: Sequence[bytes] | None, _: Attributes) -> list[Row]:
        return self._rows(table, rows, EVERYTHING)

    def getRowsWithColumns(
        self, table: bytes | None, rows: Sequence[bytes] | None, columns: Sequence[bytes] | None, _: Attributes
    ) -> list[Row]:
        return self._rows(table, rows, ReadSpec(columns_of(columns)))

    def getRowsTs(
        self, table: bytes | None, rows: Sequence[bytes] | None, timestamp: int | None, _: Attributes
    ) -> list[Row]:
        return self._rows(table, rows, ReadSpec(max_timestamp=upper_bound(timestamp)))

    def getRowsWithColumnsTs(
        self,
        table: bytes | None,
        rows: Sequence[bytes] | None,
        columns: Sequence[bytes] | None,
        timestamp: int | None,
        _: Attributes,
    ) -> list[Row]:
        return self._rows(table, rows, ReadSpec(columns_of(columns), max_timestamp=upper_bound(timestamp)))

    def _versions(
        self, table: bytes | None, row: bytes | None, column: bytes | None, max_timestamp: int, versions: int | None
    ) -> list[Cell]:
        named = self._tables.named(table)
        if not versions or versions < 0:
            raise JavaError(PLAIN, "versions must be positive", can_retry=True)
        spec = ReadSpec(columns_of((given_column(column),)), max_timestamp=max_timestamp, max_versions=versions)
        for _, cells in named.read_rows((check_row(row),), spec):
            return cells
        return []

    def _rows(self, table: bytes | None, rows: Sequence[bytes] | None, spec: ReadSpec) -> list[Row]:
        if rows is None:
            raise BadArgument("the call has no list of rows")
        for row in rows:
            check_row(row)
        if not rows:
            self._tables.canonical(table)  # HBase answers [] even for a missing table, but not for a bad name
            return []
        named = self._tables.named(table)
        if len(rows) <= _ROWS_AT_ONCE:
            return named.read_rows(rows, spec)
        collected = self._budget.begin(None)
        try:
            return self._in_parts(named, rows, spec, collected)
        finally:
            self._budget.end(collected)

    def _in_parts(
        self, named: TableCalls, rows: Sequence[bytes], spec: ReadSpec, collected: MemoryReservation
    ) -> list[Row]:
        found: list[Row] = []
        total = 0
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = named.read_rows(rows[first : first + _ROWS_AT_ONCE], spec)
            found += part
            part_bytes = sum(len(column) + len(value) for _, cells in part for column, _, value in cells)
            total += part_bytes
            self._budget.demand(collected, part_bytes)
            if total > self._answer_bytes:
                raise LimitExceeded(
                    f"the {len(rows)} rows asked for hold more than the {self._answer_bytes} bytes of the largest "
                    "answer; ask for fewer rows at a time"
                )
            self._pause()
        return found
