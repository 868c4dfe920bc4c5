"""One connection to a server, for any number of threads, with hbtable's errors."""

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, final

from hbtable.errors import WrongType
from hbtable.library.refusals import spelled_out, translated
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import BrokenOff, ShellError

READS: Final = frozenset(
    (
        *("adminGet", "adminScan", "adminScanArrow", "adminAggregate", "getRowsWithColumnsTs"),
        *("adminTable", "adminTablets", "getTableNames", "getTableRegions", "isTableEnabled"),
        "getColumnDescriptors",
        *("adminNamespace", "adminNamespaces", "adminFamilyUsage"),
    )
)
"""The calls of the library that change nothing, so that they may be repeated. Scans keep nothing at the server."""


class Calls(Protocol):
    """Calls to a server, or to several that answer alike. Errors are hbtable's."""

    def admin(self, method: str, *arguments: object) -> Any:
        """A call of hbtable's own service."""

    def hbase(self, method: str, *arguments: object) -> Any:
        """A call of HBase's."""

    def struct(self, name: str, **fields: object) -> Any:
        """One of HBase's."""

    def open(self) -> None:
        """Connects, unless it is."""

    def close(self) -> None:
        """A later call connects again."""


@final
class ServerCalls:
    """`lock` lets one call after the other through. It is handed in: a program may have patched its threads' locks."""

    def __init__(self, connection: ShellConnection, lock: AbstractContextManager[object]) -> None:
        self.connection = connection
        self._lock = lock

    def admin(self, method: str, *arguments: object) -> Any:
        """A call of hbtable's own service."""
        return self._one(method, lambda: self.connection.admin(method, *arguments))

    def hbase(self, method: str, *arguments: object) -> Any:
        """A call of HBase's."""
        return self._one(method, lambda: self.connection.hbase(method, *arguments))

    def struct(self, name: str, **fields: object) -> Any:
        """One of HBase's."""
        return self._one(name, lambda: self.connection.hbase_struct(name, **fields))

    def open(self) -> None:
        self._one("open", self.connection.open)

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def _one(self, method: str, call: Callable[[], Any]) -> Any:
        changes_nothing = method in READS
        with self._lock:
            try:
                return self._repeated(call) if changes_nothing else call()
            except ShellError as error:
                raise spelled_out(translated(error, changes_nothing)) from error
            except (TypeError, ValueError, AttributeError, struct.error) as error:
                self.connection.close()  # half of the request may be in its buffer
                raise WrongType(f"{method} cannot be told this: {error}") from error

    def _repeated(self, call: Callable[[], Any]) -> Any:
        """A read whose connection broke is asked once more, over a new one. Not one that was waited for in vain."""
        try:
            return call()
        except BrokenOff as error:
            if error.timed_out:
                raise
            return call()
