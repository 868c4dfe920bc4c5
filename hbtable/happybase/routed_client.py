"""A Thrift1 client that sends each call to the server that has its row.

A call of one row goes to its owner; one of several rows is divided among the owners, a batch of writes in its order; a
scanner lives where its first row is. Everything else, and what nobody is known for, goes to the server that the program
connected to: every server answers for all rows, so a wrong way is only a longer one.

A server that cannot be reached is gone around. Where a connection breaks in the middle of a call, a read is done again
by another way; a write may have been carried out, and its error is the caller's, as of any connection that breaks. A
connection on which a call ended without its whole answer, by a timeout say, is closed: what is left of the answer would
be taken for the next call's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

from happybase.connection import Hbase  # type: ignore[import-untyped]
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TClient, TDecodeException, TException
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
_BROKEN: Final = (TTransportException, TProtocolException, TDecodeException, OSError, EOFError)

Client = Any
"""thriftpy2's client of HBase's Thrift1 service."""


class _Scanner(NamedTuple):
    """One that is open at another server than the seed's."""

    table: bytes
    owner: Address
    client: Client


@final
class RoutedClient:
    """`seed`: of the server that the program connected to. `connect`: a client of another server, or one of _BROKEN.
    `seed_broke`: closes the seed's connection; the seed makes another one when it is used. `interrupted`: closes all
    connections."""

    def __init__(
        self,
        seed: Client,
        home: Address,
        routes: Routes,
        connect: Callable[[Address], Client],
        seed_broke: Callable[[], object],
        interrupted: Callable[[], object],
    ) -> None:
        self._seed = seed
        self._home = home
        self._routes = routes
        self._connect = connect
        self._seed_broke = seed_broke
        self._interrupted = interrupted
        self._others: dict[Address, Client] = {}
        self._scanners: dict[int, _Scanner] = {}
        self._lost_scanners: set[int] = set()
        """Those not closed yet whose connection was."""

    def __getattr__(self, method: str) -> Callable[..., Any]:
        """The call of this name. Asked once for each name. AttributeError: happybase knows no such call."""
        if method not in Hbase.thrift_services and not hasattr(TClient, method):
            raise AttributeError(f"HBase has no call {method}")
        way = self._way(method)

        def call(*arguments: Any) -> Any:
            try:
                return way(*arguments)
            except BaseException as error:
                if not isinstance(error, _BROKEN) and not _is_answer(error):
                    self._interrupted()  # a timeout of gevent's, a signal handler's: a time limit of Celery's, Ctrl-C
                raise

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
        return lambda *arguments: self._ask(self._seed, method, *arguments)

    def forget_connections(self) -> None:
        """To be called when the connections to other servers were closed: each is made anew when it is needed. Scanners
        there are gone."""
        self._others.clear()
        self._lost_scanners.update(self._scanners)
        self._scanners.clear()

    # ---------------------------------------------------------------- the ways

    def _ask(self, client: Client, method: str, *arguments: Any) -> Any:
        """The answer. A connection that breaks is closed."""
        try:
            return getattr(client, method)(*arguments)
        except _BROKEN:
            if client is self._seed:
                self._seed_broke()
            else:
                client.close()
            raise

    def _client(self, table: bytes, row: bytes) -> tuple[Address, Client]:
        """Of the owner of the row, if it can be reached."""
        routes = self._routes
        routes.look_if_due(table, lambda: self._ask(self._seed, _OWNERS, table))
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
            return self._ask(client, method, *arguments)
        except _BROKEN:
            self._lost(table, owner, client)
            if method not in READS_OF_A_ROW or owner == self._home:
                raise
        return self._ask(self._seed, method, *arguments)

    def _lost(self, table: bytes, owner: Address, client: Client) -> None:
        self._routes.forget(table)
        if owner != self._home:
            self._routes.avoid(owner)
            self._others.pop(owner, None)
            lost = [scanner for scanner, opened in self._scanners.items() if opened.client is client]
            self._lost_scanners.update(lost)
            for scanner in lost:
                del self._scanners[scanner]

    def _read(self, method: str, table: bytes, rows: Sequence[bytes], rest: Sequence[Any]) -> list[Any]:
        """In the order asked; a row asked twice comes twice."""
        parts = self._divided(table, rows, lambda row: row)
        found: list[Any] = []
        for (owner, client), part in parts:
            try:
                found += self._ask(client, method, table, part, *rest)
            except _BROKEN:
                self._lost(table, owner, client)
                if owner == self._home:
                    raise
                found += self._ask(self._seed, method, table, part, *rest)
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
                self._ask(client, method, table, part, *rest)
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
            scanner = self._ask(client, method, *arguments)
        except _BROKEN:
            self._lost(table, owner, client)
            if owner == self._home:
                raise
            return self._ask(self._seed, method, *arguments)
        if owner != self._home:
            self._scanners[scanner] = _Scanner(table, owner, client)
        return scanner

    def _on_scanner(self, method: str, scanner: int, rest: Sequence[Any]) -> Any:
        """The seed does not know the number of a lost one, and says so. Its server lets go of it when it was unused for
        long enough."""
        if method == "scannerClose" and scanner in self._lost_scanners:
            self._lost_scanners.discard(scanner)
            return None
        opened = self._scanners.get(scanner)
        if opened is None:
            return self._ask(self._seed, method, scanner, *rest)
        if method == "scannerClose":
            del self._scanners[scanner]
        try:
            return self._ask(opened.client, method, scanner, *rest)
        except _BROKEN:
            self._lost(opened.table, opened.owner, opened.client)
            raise

    def _change(self, method: str, table: bytes, rest: Sequence[Any]) -> Any:
        try:
            return self._ask(self._seed, method, table, *rest)
        finally:
            self._routes.forget(table)


def _is_answer(error: BaseException) -> bool:
    """Among those that are not _BROKEN. thriftpy2 raises a plain TException at bytes that are no message."""
    return isinstance(error, TException) and type(error) is not TException
