"""Connections to all servers of a cluster: each call goes to the server that has its row (hbtable.connect(route=True)).

A call of one row goes to its owner, one of several rows is divided among the owners, a page of a scan goes to where it
begins. Everything else, and what nobody is known for, goes to the server that the program connected to: every server
answers for all rows, so a wrong way is only a longer one.

A server that cannot be reached is gone around; when it is the first one, one of the others takes its place. Where a
connection breaks in the middle of a call, a read is done again by another way; a write may have been carried out, and
its error is the caller's.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, final

from hbtable.errors import AccessDenied, HbtableError
from hbtable.hbase.admin.structs import AdminScan
from hbtable.library.refusals import of_one_part
from hbtable.library.routes import Address, Routes
from hbtable.library.server_calls import READS, ServerCalls
from hbtable.shell.errors import BrokenOff, CannotConnect

_OF_A_ROW: Final = frozenset(("adminGet", "adminCheckAndMutate", "adminMutateIf", "atomicIncrement"))
"""The row follows the table."""
_OF_BATCHES: Final = frozenset(("adminMutateRows", "mutateRows", "mutateRowsTs"))
_OF_ROWS: Final = "getRowsWithColumnsTs"
_OWNERS: Final = "getTableRegions"
_BEHIND_ALL: Final = b"\xff" * 16
"""In the last region, unless rows begin so."""


class _Home(NamedTuple):
    """The server to which goes what goes nowhere else."""

    server: ServerCalls
    address: Address


@final
class RoutedCalls:
    """A library.server_calls.Calls. `connect` makes another server's, without connecting yet."""

    def __init__(
        self,
        home: ServerCalls,
        address: Address,
        connect: Callable[[Address], ServerCalls],
        lock: AbstractContextManager[object],
    ) -> None:
        """`address`: of `home`. `lock` guards what is remembered, and is held for no call."""
        self._home = _Home(home, address)
        self._connect = connect
        self._lock = lock
        self._routes = Routes(lock)
        self._others: dict[Address, ServerCalls] = {}

    def admin(self, method: str, *arguments: object) -> Any:
        return self._call(method, arguments, lambda server, given: server.admin(method, *given))

    def hbase(self, method: str, *arguments: object) -> Any:
        return self._call(method, arguments, lambda server, given: server.hbase(method, *given))

    def struct(self, name: str, **fields: object) -> Any:
        return self._at_home(lambda server: server.struct(name, **fields))

    def open(self) -> None:
        self._home.server.open()

    def close(self) -> None:
        with self._lock:
            servers = {self._home.address: self._home.server, **self._others}
            self._others.clear()
        for server in servers.values():
            server.close()

    # ---------------------------------------------------------------- ways

    def _call(self, method: str, arguments: Sequence[Any], call: Callable[[ServerCalls, Sequence[Any]], Any]) -> Any:
        if method in _OF_BATCHES:
            return self._divided(method, arguments, lambda batch: batch.row, call)
        if method == _OF_ROWS:
            return self._read(arguments, call)
        place = _row_of(method, arguments)
        if place is None:
            if method not in READS and arguments and isinstance(arguments[0], bytes):
                self._routes.forget(arguments[0])  # it may be split, merged or made anew
            return self._at_home(lambda server: call(server, arguments))
        table, row = place
        return self._to(self._owner(table, row), table, method, lambda server: call(server, arguments))

    def _owner(self, table: bytes, row: bytes) -> Address | None:
        """None: the server that the program connected to."""
        try:
            self._routes.look_if_due(table, lambda: self._regions(table))
        except HbtableError:
            return None  # the call itself meets the same, and says so
        owner = self._routes.owner(table, row)
        return None if owner == self._home.address else owner

    def _regions(self, table: bytes) -> Sequence[Any]:
        try:
            found: Sequence[Any] = self._at_home(lambda server: server.hbase(_OWNERS, table))
        except AccessDenied:
            return ()
        return found

    def _to(self, owner: Address | None, table: bytes, method: str, call: Callable[[ServerCalls], Any]) -> Any:
        if owner is not None:
            try:
                return call(self._other(owner))
            except HbtableError as error:
                if not isinstance(error.__cause__, CannotConnect):
                    raise
                self._routes.avoid(owner)
                self._routes.forget(table)
                if not (_was_not_begun(error) or _is_to_be_repeated(error, method)):
                    raise
        return self._at_home(call)

    def _other(self, address: Address) -> ServerCalls:
        with self._lock:
            if address not in self._others:
                self._others[address] = self._connect(address)
            return self._others[address]

    def _at_home(self, call: Callable[[ServerCalls], Any]) -> Any:
        home = self._home
        try:
            return call(home.server)
        except HbtableError as error:
            if not _was_not_begun(error):
                raise
            first = error
        self._routes.avoid(home.address)
        for address in self._routes.addresses():
            if address == home.address:
                continue
            server = self._other(address)
            try:
                server.open()
            except HbtableError:
                self._routes.avoid(address)
                continue
            with self._lock:
                if self._home is home:
                    self._home = _Home(server, address)
                    self._others.setdefault(home.address, home.server)  # it may own rows, and come back
            return call(server)
        raise first

    # ---------------------------------------------------------------- several rows

    def _divided(
        self,
        method: str,
        arguments: Sequence[Any],
        row_of: Callable[[Any], bytes],
        call: Callable[[ServerCalls, Sequence[Any]], Any],
    ) -> list[Any]:
        """The answers of the owners. One row's changes stay in their order. An error says how many of the others were
        written."""
        table, several, *rest = arguments
        owners: dict[bytes, Address | None] = {}  # asked once for each row: another thread may find one gone meanwhile
        parts: dict[Address | None, list[Any]] = {}
        for one in several:
            row = row_of(one)
            if row not in owners:
                owners[row] = self._owner(table, row)
            parts.setdefault(owners[row], []).append(one)
        found: list[Any] = []
        for number, (owner, part) in enumerate(parts.items()):

            def work(server: ServerCalls, given: Sequence[Any] = (table, part, *rest)) -> Any:
                return call(server, given)

            try:
                found.append(self._to(owner, table, method, work))
            except HbtableError as error:
                if method == _OF_ROWS or len(parts) == 1:
                    raise
                rows = [{row_of(one) for one in some} for some in parts.values()]
                raise of_one_part(error, rows, number, "go to {} servers")
        return found

    def _read(self, arguments: Sequence[Any], call: Callable[[ServerCalls, Sequence[Any]], Any]) -> list[Any]:
        """In the order asked; a row asked twice comes twice."""
        by_row: dict[bytes, list[Any]] = {}
        for part in self._divided(_OF_ROWS, arguments, lambda row: row, call):
            for one in part:
                by_row.setdefault(one.row, []).append(one)
        return [by_row[row].pop() for row in arguments[1] if by_row.get(row)]


def _row_of(method: str, arguments: Sequence[Any]) -> tuple[bytes, bytes] | None:
    """The table and the row that says where the call goes."""
    if method in _OF_A_ROW:
        return arguments[0], arguments[1]
    if method == "append":
        return arguments[0].table, arguments[0].row
    if method in ("adminScan", "adminScanArrow", "adminAggregate"):
        return arguments[0], _begin(arguments[1])
    return None


def _begin(scan: AdminScan) -> bytes:
    if scan.position is not None and scan.position.cells_done >= 0:  # not a sealed one
        return scan.position.row
    return (scan.stop_row or _BEHIND_ALL) if scan.reversed else scan.start_row


def _was_not_begun(error: HbtableError) -> bool:
    return isinstance(error.__cause__, CannotConnect) and not isinstance(error.__cause__, BrokenOff)


def _is_to_be_repeated(error: HbtableError, method: str) -> bool:
    """It changes nothing. What was waited for in vain is not waited for again."""
    return method in READS and isinstance(error.__cause__, BrokenOff) and not error.__cause__.timed_out
