"""Reads and writes of our own admin service that HBase's Thrift 1 cannot say: time ranges, versions, raw scans, filters
of single rows, deletes of one version, times to live. Scans keep nothing here: each page says where to go on.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TypeVar, final

from hbtable.client.whole_rows import Families, NamedFamilies, with_all_families
from hbtable.errors import Unavailable
from hbtable.hbase.admin.positions import AdminPositions
from hbtable.hbase.admin.structs import (
    AdminCell,
    AdminColumn,
    AdminMutation,
    AdminOperation,
    AdminPage,
    AdminRead,
    AdminRow,
    AdminScan,
)
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.conversion import check_row
from hbtable.hbase.errors import BadArgument
from hbtable.model.cell import SERVER_TIME, Row
from hbtable.model.mutation import DELETE_FAMILY, PUT, Operation, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import LIVES, LIVES_FOREVER, Columns, ReadSpec, ScanPosition, ScanRequest
from hbtable.runtime.slices import FREED_AT_ONCE, OwnList, let_go_rows, with_pauses
from hbtable.switches import switches

T = TypeVar("T")
Pause = Callable[[], object]
_KIND_AND_FAMILY = itemgetter(0, 1)
_WHOLE_ROW = (DELETE_FAMILY, b"")
_MOST_ROWS = 10_000
_PAGE_BYTES = 4 << 20
_ROWS_BETWEEN_PAUSES = 64
_CELLS_BETWEEN_PAUSES = 256
_LIFE_BYTES = len(LIVES_FOREVER)


@final
class AdminCellCalls:
    """The admin service's calls on cells. `answer_bytes`: the largest answer; a page ends when it has so much.
    `cell_bytes` is checked below."""

    def __init__(
        self,
        tables: TableBackend,
        families: Callable[[bytes], Sequence[bytes]],
        positions: AdminPositions,
        answer_bytes: int,
        pause: Pause,
    ) -> None:
        """`families`: of a table by its canonical name, for whoever may delete whole rows of it. `pause` lets other
        tasks run between many things."""
        self._tables = tables
        self._families = families
        self._positions = positions
        self._pause = pause
        self._answer_bytes = answer_bytes

    @switches
    def adminGet(self, table: bytes | None, row: bytes | None, read: AdminRead | None) -> list[AdminRow]:
        read = read or AdminRead()
        if read.raw or read.lifetimes:
            raise BadArgument("only scans are raw, or tell times to live")
        spec = _spec(read, self._answer_bytes, self._pause)
        rows = self._tables.named(table).read_rows((check_row(row),), spec)
        return [_row(found, AdminCell, self._pause) for found in rows]

    @switches
    def adminScan(self, table: bytes | None, scan: AdminScan | None) -> AdminPage:
        scan = scan or AdminScan()
        position = self._positions.before(table, scan)
        page = self._positions.page(table, scan_request(scan, position, self._answer_bytes, self._pause))
        rows = with_pauses(page.rows, self._pause, _ROWS_BETWEEN_PAUSES)
        read = scan.read or AdminRead()
        make = _living if read.lifetimes else _stored if read.raw else AdminCell
        shown = OwnList(_row(found, make, self._pause) for found in rows)
        behind = self._positions.after(table, scan, page)
        let_go_rows(page.rows, self._pause)
        return AdminPage(shown, behind, page.rows_scanned, page.tablets, read.lifetimes)

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
        key, named, ttl = check_row(row), self._tables.named(table), _ttl(ttl_millis)

        @switches
        def change(families: Families) -> None:
            named.mutate((RowMutation(key, _operations(operations, families, self._pause), False, ttl),))

        self._with_families(table, change)

    @switches
    def adminMutateRows(self, table: bytes | None, mutations: Sequence[AdminMutation] | None) -> None:
        rows = with_pauses(mutations or (), self._pause, _ROWS_BETWEEN_PAUSES)
        families = NamedFamilies(partial(self._families, self._tables.canonical(table))).names
        made = [
            RowMutation(check_row(row), _operations(operations or (), families, self._pause), False, _ttl(ttl_millis))
            for row, operations, ttl_millis in rows
        ]
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
        key, named = check_row(row), self._tables.named(table)

        @switches
        def change(families: Families) -> bool:
            mutation = RowMutation(key, _operations(operations, families, self._pause))
            return named.check_and_mutate(key, family or b"", qualifier or b"", expected, mutation)

        return self._with_families(table, change)

    @switches
    def adminMutateIf(
        self,
        table: bytes | None,
        row: bytes | None,
        read: AdminRead | None,
        operator: str | None,
        value: bytes | None,
        operations: Sequence[AdminOperation] | None,
    ) -> bool:
        if not operations:
            raise BadArgument("the call has no operations")
        key, named = check_row(row), self._tables.named(table)
        spec = _spec(read or AdminRead(), self._answer_bytes, self._pause)

        @switches
        def change(families: Families) -> bool:
            mutation = RowMutation(key, _operations(operations, families, self._pause))
            return named.mutate_if(key, spec, operator or "", value, mutation)

        return self._with_families(table, change)

    @switches
    def adminDeleteRange(
        self, table: bytes | None, start_row: bytes | None, stop_row: bytes | None, timestamp: int | None
    ) -> None:
        at = SERVER_TIME if timestamp is None else timestamp
        self._tables.named(table).delete_range(RowRange(start_row or b"", stop_row or b""), at)

    @switches
    def _with_families(self, table: bytes | None, change: Callable[[Families], T]) -> T:
        return with_all_families(partial(self._families, self._tables.canonical(table)), change)


@switches
def _operations(given: Sequence[AdminOperation], families: Families, pause: Pause) -> list[Operation]:
    """A delete of the family without a name is one of the whole row: of each of `families`. Clients name them
    where they may know them."""
    if _WHOLE_ROW not in map(_KIND_AND_FAMILY, given):
        return list(given)
    made: list[Operation] = []
    for kind, family, qualifier, timestamp, value in with_pauses(given, pause, _CELLS_BETWEEN_PAUSES):
        if kind == DELETE_FAMILY and not family:
            made += [(kind, name, b"", timestamp, b"") for name in families()]
        else:
            made.append((kind, family, qualifier, timestamp, value))
    return made


@switches
def scan_request(scan: AdminScan, position: ScanPosition | None, answer_bytes: int, pause: Pause) -> ScanRequest:
    """The page that `scan` asks for, from `position` on. InvalidRequest."""
    return ScanRequest(
        RowRange(scan.start_row, scan.stop_row),
        _spec(scan.read or AdminRead(), answer_bytes, pause),
        scan.reversed,
        max(scan.cells_per_row, 0),
        min(max(scan.max_rows, 1), _MOST_ROWS),
        min(_PAGE_BYTES, answer_bytes),
        position,
    )


def _ttl(millis: int | None) -> int:
    if millis is None:
        return 0
    if millis < 0:
        raise BadArgument(f"a time to live of {millis} milliseconds: 0 is none, and else it is above 0")
    return millis


@switches
def _spec(read: AdminRead, answer_bytes: int, pause: Pause) -> ReadSpec:
    columns = None if read.columns is None else _columns(read.columns, pause)
    if read.max_versions < 1:
        raise BadArgument("maxVersions must be positive")
    if read.lifetimes and (read.raw or read.filter is not None):
        raise BadArgument("a scan that tells times to live is not raw, and has no filter")
    return ReadSpec(
        columns,
        read.min_timestamp,
        read.max_timestamp,
        read.max_versions,
        read.filter,
        read.cache_blocks,
        read.raw or read.lifetimes,
        answer_bytes,
        read.lifetimes,
    )


@switches
def _columns(asked: Sequence[AdminColumn], pause: Pause) -> Columns:
    """The union: a family asked for as a whole contains its columns."""
    found: dict[bytes, set[bytes] | None] = {}
    for family, qualifier in with_pauses(asked, pause, _CELLS_BETWEEN_PAUSES):
        known = found.setdefault(family, set())
        if qualifier is None:
            found[family] = None
        elif known is not None:
            known.add(qualifier)
    return {family: None if wanted is None else frozenset(wanted) for family, wanted in found.items()}


@switches
def _row(found: Row, make: Callable[[bytes, int, bytes], AdminCell], pause: Pause) -> AdminRow:
    row, cells = found
    made = [make(*cell) for cell in with_pauses(cells, pause, _CELLS_BETWEEN_PAUSES)]
    return AdminRow(row, made if len(made) <= FREED_AT_ONCE else OwnList(made))


def _stored(column: bytes, timestamp: int, value: bytes) -> AdminCell:
    """merge.raw's form."""
    return AdminCell(column, timestamp, value[1:], value[0])


def _living(column: bytes, timestamp: int, value: bytes) -> AdminCell:
    """merge.lifetimes' form. Hot: nearly all cells live for ever."""
    if value.startswith(LIVES_FOREVER):
        # Half the time of AdminCell(...), whose __new__ is of Python.
        return tuple.__new__(AdminCell, (column, timestamp, value[_LIFE_BYTES:], PUT, None))
    if value[0] != LIVES:
        raise Unavailable(
            "a server of this cluster is of an older release, which does not tell cells' own times to live: ask again "
            "when all servers are upgraded"
        )
    return AdminCell(column, timestamp, value[_LIFE_BYTES:], PUT, int.from_bytes(value[1:_LIFE_BYTES], "big"))
