"""A Thrift1 client that sends each call to the server that has its row.

A call of one row goes to its owner; one of several rows is divided among the owners, a batch of writes in its order; a
scanner lives where its first row is. Everything else, and what nobody is known for, goes to the server that the program
connected to: every server answers for all rows, so a wrong way is only a longer one.

A server that cannot be reached is gone around. Where a connection breaks in the middle of a call, a read is done again
by another way; a write may have been carried out, and its error is the caller's, as of any connection that breaks.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from hbtable.hbase.cell_methods import (
    BATCHES,
    OPEN_SCANS,
    READS_OF_A_ROW,
    READS_OF_ROWS,
    SCANS_OPENED,
    WRITES_BY_STRUCT,
    WRITES_OF_A_ROW,
)
from hbtable.library.routes import Address, Routes

_CHANGES_OF_TABLES: Final = frozenset(["createTable", "deleteTable", "enableTable", "disableTable"])
_OWNERS: Final = "getTableRegions"
_BROKEN: Final = (TTransportException, OSError, EOFError)

Client = Any
"""thriftpy2's client of HBase's Thrift1 service."""


@final
class RoutedClient:
    """`seed`: of the server that the program connected to. `connect`: a client of another server, or one of _BROKEN.
    `interrupted`: closes all connections. An answer is under way on one of them, and would be taken for the next
    call's."""

    def __init__(
        self,
        seed: Client,
        home: Address,
        routes: Routes,
        connect: Callable[[Address], Client],
        interrupted: Callable[[], object],
    ) -> None:
        self._seed = seed
        self._home = home
        self._routes = routes
        self._connect = connect
        self._interrupted = interrupted
        self._others: dict[Address, Client] = {}
        self._scanners: dict[int, Client] = {}

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """The call of this name. Asked once for each name."""
        way = self._way(method)

        def call(*arguments: Any) -> Any:
            try:
                return way(*arguments)
            except (TException, *_BROKEN):
                raise  # the answer was read, or happybase takes care of the connection
            except BaseException:  # a timeout of gevent's, a signal handler's: a time limit of Celery's, Ctrl-C
                self._interrupted()
                raise

        if not method.startswith("__"):
            self.__dict__[method] = call
        return call

    def _way(self, method: str) -> Callable[..., Any]:
        if method in READS_OF_A_ROW or method in WRITES_OF_A_ROW:
            return lambda table, row, *rest: self._on_row(method, table, row, (table, row, *rest))
        if method in WRITES_BY_STRUCT:
            return lambda asked: self._on_row(method, asked.table, asked.row, (asked,))
        if method in READS_OF_ROWS:
            return lambda table, rows, *rest: self._read(method, table, rows, rest)
        if method in BATCHES:
            return lambda table, batches, *rest: self._write(method, table, batches, rest)
        if method in SCANS_OPENED:
            return lambda table, asked, *rest: self._open_scanner(method, table, (table, asked, *rest))
        if method in OPEN_SCANS:
            return lambda scanner, *rest: self._on_scanner(method, scanner, rest)
        if method in _CHANGES_OF_TABLES:
            return lambda table, *rest: self._change(method, table, rest)
        call: Callable[..., Any] = getattr(self._seed, method)
        return call

    def forget_connections(self) -> None:
        """To be called when the connections to other servers were closed: each is made anew when it is needed. Scanners
        there are gone."""
        self._others.clear()
        self._scanners.clear()

    # ---------------------------------------------------------------- the ways

    def _client(self, table: bytes, row: bytes) -> tuple[Address, Client]:
        """Of the owner of the row, if it can be reached."""
        routes = self._routes
        routes.look_if_due(table, lambda: getattr(self._seed, _OWNERS)(table))
        owner = routes.owner(table, row)
        if owner is None or owner == self._home:
            return self._home, self._seed
        client = self._others.get(owner)
        if client is None:
            try:
                client = self._others[owner] = self._connect(owner)
            except _BROKEN:
                routes.avoid(owner)
                routes.forget(table)
                return self._home, self._seed
        return owner, client

    def _on_row(self, method: str, table: bytes, row: bytes, arguments: Sequence[Any]) -> Any:
        owner, client = self._client(table, row)
        try:
            return getattr(client, method)(*arguments)
        except _BROKEN:
            self._lost(table, owner, client)
            if method not in READS_OF_A_ROW or client is self._seed:
                raise
        return getattr(self._seed, method)(*arguments)

    def _lost(self, table: bytes, owner: Address, client: Client) -> None:
        self._routes.forget(table)
        if client is not self._seed:
            self._routes.avoid(owner)
            self._others.pop(owner, None)

    def _read(self, method: str, table: bytes, rows: Sequence[bytes], rest: Sequence[Any]) -> list[Any]:
        """In the order asked; a row asked twice comes twice."""
        parts = self._divided(table, rows, lambda row: row)
        found: list[Any] = []
        for (owner, client), part in parts:
            try:
                found += getattr(client, method)(table, part, *rest)
            except _BROKEN:
                self._lost(table, owner, client)
                if client is self._seed:
                    raise
                found += getattr(self._seed, method)(table, part, *rest)
        if len(parts) == 1:
            return found
        by_row: dict[bytes, list[Any]] = {}
        for one in found:
            by_row.setdefault(one.row, []).append(one)
        return [by_row[row].pop() for row in rows if by_row.get(row)]

    def _write(self, method: str, table: bytes, batches: Sequence[Any], rest: Sequence[Any]) -> None:
        """One row's batches stay in their order. After an error other rows may have been written, as always."""
        for (owner, client), part in self._divided(table, batches, lambda batch: batch.row):
            try:
                getattr(client, method)(table, part, *rest)
            except _BROKEN:
                self._lost(table, owner, client)
                raise

    def _divided(
        self, table: bytes, several: Sequence[Any], row_of: Callable[[Any], bytes]
    ) -> list[tuple[tuple[Address, Client], list[Any]]]:
        parts: dict[Address, tuple[tuple[Address, Client], list[Any]]] = {}
        ways: dict[bytes, tuple[Address, Client]] = {}  # asked once for each row: another thread may find one gone
        for one in several:
            row = row_of(one)
            found = ways[row] = ways.get(row) or self._client(table, row)
            parts.setdefault(found[0], (found, []))[1].append(one)
        return list(parts.values()) or [((self._home, self._seed), [])]

    # ---------------------------------------------------------------- scanners and tables

    def _open_scanner(self, method: str, table: bytes, arguments: Sequence[Any]) -> Any:
        asked = arguments[1]
        row = asked.startRow if method == "scannerOpenWithScan" else asked
        owner, client = self._client(table, row or b"")
        try:
            scanner = getattr(client, method)(*arguments)
        except _BROKEN:
            self._lost(table, owner, client)
            if client is self._seed:
                raise
            client = self._seed
            scanner = getattr(client, method)(*arguments)
        if client is not self._seed:
            self._scanners[scanner] = client
        return scanner

    def _on_scanner(self, method: str, scanner: int, rest: Sequence[Any]) -> Any:
        client = self._scanners.get(scanner, self._seed)
        if method == "scannerClose":
            self._scanners.pop(scanner, None)
        return getattr(client, method)(scanner, *rest)

    def _change(self, method: str, table: bytes, rest: Sequence[Any]) -> Any:
        try:
            return getattr(self._seed, method)(table, *rest)
        finally:
            self._routes.forget(table)
