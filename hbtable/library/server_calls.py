"""One connection to a server, for any number of threads, with hbtable's errors."""

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, final

from hbtable.errors import WrongType
from hbtable.library.refusals import translated
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ShellError


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
        with self._lock:
            try:
                return call()
            except ShellError as error:
                raise translated(error) from error
            except (TypeError, ValueError, AttributeError, struct.error) as error:
                self.connection.close()  # half of the request may be in its buffer
                raise WrongType(f"{method} cannot be told this: {error}") from error
