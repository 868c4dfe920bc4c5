"""The server of an export or import: an hbtable by its own service, or a real HBase by its Thrift1 or Thrift2, which is
read and written as `hbtable copy` does it (shell.copying.peers).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from time import sleep
from typing import Final, NamedTuple, Protocol, TypeVar, final

from hbtable.errors import NotSupported
from hbtable.hbase.admin.structs import (
    AdminArrowColumn,
    AdminArrowPage,
    AdminCell,
    AdminMutation,
    AdminPage,
    AdminPosition,
    AdminRead,
    AdminRow,
    AdminScan,
)
from hbtable.model.cell import Cell, Row
from hbtable.model.names import shown
from hbtable.model.read import ALL_VERSIONS
from hbtable.model.schema import TableSchema
from hbtable.shell.connection import ShellConnection
from hbtable.shell.context import TABLE_NOT_FOUND, table_error
from hbtable.shell.copying.columns import NOW, MortalValue, Wanted, split_column
from hbtable.shell.copying.comparing import whole_rows
from hbtable.shell.copying.hbtable_peer import HbtablePeer, read_columns
from hbtable.shell.copying.page_size import batches, size_of
from hbtable.shell.copying.peers import BEST, kind_of, parse_peer
from hbtable.shell.copying.regions import regions_from
from hbtable.shell.copying.thrift1_peer import Thrift1Peer
from hbtable.shell.copying.thrift2_peer import Thrift2Peer
from hbtable.shell.errors import ArgumentError, CannotConnect, ServerError
from hbtable.shell.transfer.pieces import bytes_of, in_pieces

State = dict[str, object]
T = TypeVar("T")
REGIONS: Final = "regions"
"""A key of an origin, where a table has no identity."""
LOOK_SECONDS: Final = 10.0
"""So often the table is looked at while a transfer runs. One whose regions are all others is taken for another one."""
_CELLS_OF_A_RECORD: Final = 100_000
"""A longer row, and one of very large cells, becomes several records of the same key: the server gives no row whole
that is larger than an answer may be."""
_CALL_SECONDS: Final = 600.0
"""HBase's Thrift server tries for minutes before it says what is wrong."""
_PAUSES: Final = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds between the tries of what a broken connection stops: HBase closes one that rests for a minute."""
_PAGE_BYTES: Final = 4 << 20
_READ_IN_PARTS: Final = (
    "HBase's Thrift1 gave each row of several versions by several calls, so of what was written meanwhile a part may "
    "be there"
)
_WRITTEN_IN_PARTS: Final = (
    "HBase's Thrift1 took cells of several times by several calls, so whoever read meanwhile may have seen a row in "
    "part"
)


class Reading(NamedTuple):
    """The cells that an export reads, and how they come."""

    table: bytes
    wanted: Wanted
    page_rows: int
    pieces: bool
    """Whether a row may come in several pieces."""


class TransferServer(Protocol):
    """One connection to it. Every call raises ShellError."""

    def origin(self, table: bytes) -> State:
        """The cluster, and the table as it is told from another one of its name."""

    def families(self, table: bytes) -> frozenset[bytes]:
        """The table's, as they are now; none where they are not shown to this user."""

    def ranges(self, table: bytes) -> list[tuple[bytes, bytes]]:
        """First row, and the row behind the last one, of each tablet; ascending."""

    def pages(
        self, reading: Reading, start: bytes, stop: bytes, position: AdminPosition | None
    ) -> Generator[AdminPage, None, None]:
        """Each with the position behind it; the last one with none. To be closed before the connection is."""

    def typed_pages(
        self, reading: Reading, types: Sequence[AdminArrowColumn], start: bytes, stop: bytes
    ) -> Generator[AdminArrowPage | AdminPage, None, None]:
        """The newest values of these columns: as record batches where the server makes them, else as rows. Closed as
        pages()."""

    def write(self, table: bytes, rows: Sequence[AdminMutation]) -> None:
        """Puts. Durable on return."""

    def told(self) -> str:
        """A sentence for people on each thing that the server could not do as it should; "" for none."""

    def close(self) -> None: ...


@final
class HbtableTransfer:
    """A TransferServer that is an hbtable."""

    def __init__(self, connection: ShellConnection) -> None:
        self._server = connection
        self._peer = HbtablePeer(connection)
        self.close = connection.close

    def origin(self, table: bytes) -> State:
        try:
            found = self._server.admin("adminTable", table)
        except ServerError as error:
            raise table_error(error, table) from None
        return {"cluster": self._server.hbase("getClusterId"), "table_id": found.table_id}

    def families(self, table: bytes) -> frozenset[bytes]:
        return frozenset(family.name for family in self._server.admin("adminTable", table).families or ())

    def ranges(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return regions_from(one.start_row for one in self._server.admin("adminTablets", table))

    def pages(
        self, reading: Reading, start: bytes, stop: bytes, position: AdminPosition | None
    ) -> Generator[AdminPage, None, None]:
        versions = 1 if reading.wanted.newest else ALL_VERSIONS
        columns = read_columns(reading.wanted.columns)
        read = AdminRead(columns, max_versions=versions, cache_blocks=False, lifetimes=reading.wanted.lifetimes)
        pieces = _CELLS_OF_A_RECORD if reading.pieces else 0
        while True:
            scan = AdminScan(
                read, start, stop, cells_per_row=pieces, max_rows=reading.page_rows, position=position
            )  # fmt: skip
            page: AdminPage = self._server.admin("adminScan", reading.table, scan)
            yield page
            position = page.position
            if position is None:
                return

    def typed_pages(
        self, reading: Reading, types: Sequence[AdminArrowColumn], start: bytes, stop: bytes
    ) -> Generator[AdminArrowPage | AdminPage, None, None]:
        read = AdminRead(read_columns(reading.wanted.columns), cache_blocks=False)
        position: AdminPosition | None = None
        while True:
            scan = AdminScan(read, start, stop, max_rows=reading.page_rows, position=position)
            try:
                page: AdminArrowPage = self._server.admin("adminScanArrow", reading.table, scan, types)
            except ServerError as error:
                if NotSupported.__name__ not in error.classes:
                    raise
                yield from self.pages(reading, start, stop, position)  # of a server without pyarrow, or an older one
                return
            yield page
            position = page.position
            if position is None:
                return

    def write(self, table: bytes, rows: Sequence[AdminMutation]) -> None:
        for some in _calls(rows):
            if any(type(one.value) is MortalValue for row in some for one in row.operations or ()):
                self._peer.write(table, [_cells(row) for row in some])
            else:
                self._server.admin("adminMutateRows", table, some)

    def told(self) -> str:
        return ""


@final
class HBaseTransfer:
    """A TransferServer that is a real HBase."""

    def __init__(self, peer: Thrift1Peer | Thrift2Peer) -> None:
        self._peer = peer
        self.close = peer.close
        self._schemas: dict[bytes, TableSchema] = {}
        self._told = ""

    def origin(self, table: bytes) -> State:
        """A table has no identity there, but its regions have names that no other table's ever had."""
        self._schema(table)
        cluster = _tried(self._peer.identity)
        return {"cluster": " ".join(sorted(cluster)), REGIONS: _tried(lambda: self._peer.region_names(table))}

    def families(self, table: bytes) -> frozenset[bytes]:
        return frozenset(self._schema(table).families)

    def ranges(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return _tried(lambda: self._peer.regions(table))

    def pages(
        self, reading: Reading, start: bytes, stop: bytes, position: AdminPosition | None
    ) -> Generator[AdminPage, None, None]:
        """A broken connection is made again, and the scan goes on behind what it gave."""
        schema = self._schema(reading.table)
        _known_families(schema, [split_column(column)[0] for column in reading.wanted.columns])
        if isinstance(self._peer, Thrift1Peer) and not reading.wanted.newest:
            several = any(one.max_versions > 1 for one in schema.families.values())
            self._told = _READ_IN_PARTS if several else ""
        tries = iter(_PAUSES)
        while True:
            begin = position.row if position else start
            try:
                for page in _pages(self._peer.pages(schema, begin, stop, 0, reading.wanted), reading, position):
                    position = page.position
                    tries = iter(_PAUSES)
                    yield page
                yield AdminPage([])
                return
            except CannotConnect as error:
                _pause(tries, error)

    def typed_pages(
        self, reading: Reading, types: Sequence[AdminArrowColumn], start: bytes, stop: bytes
    ) -> Generator[AdminArrowPage | AdminPage, None, None]:
        return self.pages(reading, start, stop, None)

    def write(self, table: bytes, rows: Sequence[AdminMutation]) -> None:
        """Cells with times of their own are written again when the connection broke. Others may be there by then, with
        another time, and are not."""
        schema = self._schema(table)
        for some in _calls(rows, rows_once=True):
            cells = [_cells(one) for one in some]
            _known_families(schema, [split_column(column)[0] for _, of_row in cells for column, _, _ in of_row])
            for call in batches(cells):
                times = {at for _, of_row in call for _, at, _ in of_row}
                if isinstance(self._peer, Thrift1Peer) and len(times) > 1:
                    self._told = _WRITTEN_IN_PARTS
                if NOW in times:
                    self._peer.write(table, call)
                else:
                    _tried(lambda call=call: self._peer.write(table, call))  # type: ignore[misc]

    def told(self) -> str:
        return self._told

    def _schema(self, table: bytes) -> TableSchema:
        if table not in self._schemas:
            found = _tried(lambda: self._peer.schema(table))
            if found is None:
                raise table_error(ServerError(TABLE_NOT_FOUND, ""), table)
            self._schemas[table] = found
        return self._schemas[table]


def connector(address: str) -> Callable[[], TransferServer]:
    """Connections to the server at `address`, which is asked what it speaks unless the address says it. CannotConnect,
    also of an address that cannot be read."""
    peer = parse_peer(address)
    kind = peer.kind
    if kind == BEST:
        asked = ShellConnection(peer.address, call_seconds=_CALL_SECONDS)
        try:
            kind = kind_of(asked)
        finally:
            asked.close()
    if kind == BEST:
        return lambda: HbtableTransfer(ShellConnection(peer.address))
    made = Thrift1Peer if kind == "thrift1" else Thrift2Peer
    return lambda: HBaseTransfer(made(ShellConnection(peer.address, call_seconds=_CALL_SECONDS)))


def _pages(found: Iterator[list[Row]], reading: Reading, position: AdminPosition | None) -> Iterator[AdminPage]:
    """Pages of what is behind `position`: pieces of rows, or whole ones."""
    if reading.pieces:
        for pieces in found:
            behind = [one for piece in pieces if (one := _behind(piece, position))[1]]
            if behind:
                row, cells = behind[-1]
                yield _page(behind, AdminPosition(row, column=cells[-1][0], timestamp=cells[-1][1]))
        return
    gathered: list[Row] = []
    size = 0
    for one in whole_rows(found):
        gathered.append(one)
        size += size_of(one)
        if len(gathered) >= reading.page_rows or size >= _PAGE_BYTES:
            yield _page(gathered, AdminPosition(one[0] + b"\0"))
            gathered, size = [], 0
    if gathered:
        yield _page(gathered, AdminPosition(gathered[-1][0] + b"\0"))


def _behind(piece: Row, position: AdminPosition | None) -> Row:
    """The cells that an earlier page does not have."""
    row, cells = piece
    if position is None or row != position.row or not position.column:
        return piece
    last = _place(position.column, position.timestamp)
    return row, [cell for cell in cells if _place(cell[0], cell[1]) > last]


def _place(column: bytes, timestamp: int) -> tuple[tuple[bytes, bytes], int]:
    return split_column(column), -timestamp


def _page(rows: Sequence[Row], position: AdminPosition) -> AdminPage:
    return AdminPage([AdminRow(row, [AdminCell(*cell) for cell in cells]) for row, cells in rows], position)


def _cells(mutation: AdminMutation) -> Row:
    """The row's cells; the last of several of a column and time counts."""
    found: dict[tuple[bytes, int], bytes] = {}
    for one in mutation.operations or ():
        found[b"%b:%b" % (one.family, one.qualifier), one.timestamp] = one.value
    cells: list[Cell] = [(column, at, value) for (column, at), value in found.items()]
    return mutation.row, cells


def _calls(rows: Sequence[AdminMutation], rows_once: bool = False) -> Iterator[list[AdminMutation]]:
    """Calls of a few megabytes, also of a row that has more. `rows_once`: a row that comes again is in a later call, so
    that its last record wins where the server keeps no order within a call."""
    some: list[AdminMutation] = []
    keys: set[bytes] = set()
    size = 0
    for piece in (row._replace(operations=part) for row in rows for part in in_pieces(row.operations or ())):
        if some and ((rows_once and piece.row in keys) or size >= _PAGE_BYTES):
            yield some
            some, keys, size = [], set(), 0
        some.append(piece)
        keys.add(piece.row)
        size += len(piece.row) + sum(map(bytes_of, piece.operations or ()))
    if some:
        yield some


def _known_families(schema: TableSchema, families: Sequence[bytes]) -> None:
    """Checked here: HBase's Thrift server tries for minutes before it says so."""
    unknown = sorted(set(families) - schema.families.keys())
    if unknown:
        there = ", ".join(map(shown, sorted(schema.families)))
        raise ArgumentError(
            f"table {shown(schema.name)} has no family {', '.join(map(shown, unknown))}; its families are {there}"
        )


def _tried(work: Callable[[], T]) -> T:
    """Work that may be done twice is done again when the connection broke."""
    tries = iter(_PAUSES)
    while True:
        try:
            return work()
        except CannotConnect as error:
            _pause(tries, error)


def _pause(tries: Iterator[float], error: CannotConnect) -> None:
    """Raises the error when there were tries enough."""
    seconds = next(tries, None)
    if seconds is None:
        raise error
    sleep(seconds)
