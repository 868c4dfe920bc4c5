"""Reads and writes of our own admin service that HBase's Thrift 1 cannot say: time ranges, versions, raw scans, filters
of single rows, deletes of one version, times to live. Scans keep nothing here: each page says where to go on.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Sequence
from typing import final

from hbtable.hbase.admin.structs import (
    AdminCell,
    AdminColumn,
    AdminMutation,
    AdminOperation,
    AdminPage,
    AdminPosition,
    AdminRead,
    AdminRow,
    AdminScan,
)
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.conversion import check_row
from hbtable.hbase.errors import BadArgument
from hbtable.model.cell import Row
from hbtable.model.mutation import PUT, Operation, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPosition, ScanRequest
from hbtable.switches import switches

_MOST_ROWS = 10_000


@final
class AdminCellCalls:
    """The admin service's calls on cells. `answer_bytes`: the largest answer; a page ends when it has so much.
    `cell_bytes` is checked below."""

    def __init__(self, tables: TableBackend, answer_bytes: int) -> None:
        self._tables = tables
        self._answer_bytes = answer_bytes
        self._page_bytes = min(4 << 20, answer_bytes)

    @switches
    def adminGet(self, table: bytes | None, row: bytes | None, read: AdminRead | None) -> list[AdminRow]:
        read = read or AdminRead()
        if read.raw:
            raise BadArgument("only scans are raw")
        rows = self._tables.named(table).read_rows((check_row(row),), _spec(read, self._answer_bytes))
        return [_row(found, False) for found in rows]

    @switches
    def adminScan(self, table: bytes | None, scan: AdminScan | None) -> AdminPage:
        scan = scan or AdminScan()
        read = scan.read or AdminRead()
        position = None if scan.position is None else ScanPosition(*scan.position)
        request = ScanRequest(
            RowRange(scan.start_row, scan.stop_row),
            _spec(read, self._answer_bytes),
            scan.reversed,
            max(scan.cells_per_row, 0),
            min(max(scan.max_rows, 1), _MOST_ROWS),
            self._page_bytes,
            position,
        )
        page = self._tables.named(table).scan_page(request)
        after = None if page.next is None else AdminPosition(*page.next)
        return AdminPage([_row(found, read.raw) for found in page.rows], after, page.rows_scanned, page.tablets)

    @switches
    def adminMutate(
        self,
        table: bytes | None,
        row: bytes | None,
        operations: Sequence[AdminOperation] | None,
        ttl_millis: int | None,
    ) -> None:
        if not operations:
            raise BadArgument("the call has no operations")
        if ttl_millis is not None and ttl_millis < 0:
            raise BadArgument(f"a time to live of {ttl_millis} milliseconds")
        mutation = RowMutation(check_row(row), list[Operation](operations), False, ttl_millis or 0)
        self._tables.named(table).mutate((mutation,))

    @switches
    def adminMutateRows(self, table: bytes | None, mutations: Sequence[AdminMutation] | None) -> None:
        made = [RowMutation(check_row(row), list[Operation](operations or ())) for row, operations in mutations or ()]
        self._tables.named(table).mutate(made)

    @switches
    def adminCheckAndMutate(
        self,
        table: bytes | None,
        row: bytes | None,
        family: bytes | None,
        qualifier: bytes | None,
        expected: bytes | None,
        operations: Sequence[AdminOperation] | None,
    ) -> bool:
        if not operations:
            raise BadArgument("the call has no operations")
        mutation = RowMutation(check_row(row), list[Operation](operations))
        named = self._tables.named(table)
        return named.check_and_mutate(mutation.row, family or b"", qualifier or b"", expected, mutation)


def _spec(read: AdminRead, answer_bytes: int) -> ReadSpec:
    columns = None if read.columns is None else _columns(read.columns)
    if read.max_versions < 1:
        raise BadArgument("maxVersions must be positive")
    return ReadSpec(
        columns,
        read.min_timestamp,
        read.max_timestamp,
        read.max_versions,
        read.filter,
        read.cache_blocks,
        read.raw,
        answer_bytes,
    )


def _columns(asked: Sequence[AdminColumn]) -> dict[bytes, frozenset[bytes] | None]:
    """The union: a family asked for as a whole contains its columns."""
    found: dict[bytes, frozenset[bytes] | None] = {}
    for family, qualifier in asked:
        known = found.get(family, frozenset())
        found[family] = None if qualifier is None or known is None else known | {qualifier}
    return found


def _row(found: Row, raw: bool) -> AdminRow:
    row, cells = found
    if not raw:
        return AdminRow(row, [AdminCell(*cell, PUT) for cell in cells])
    return AdminRow(row, [AdminCell(column, timestamp, value[1:], value[0]) for column, timestamp, value in cells])
