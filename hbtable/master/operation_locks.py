"""Operations on a table, one at a time: a lock by the table's name, there while somebody holds it or waits for it.

Names come from callers, and tables come and go for years: nothing is kept of one that nobody works on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from hbtable.runtime.interface import Lock, Runtime


@final
class OperationLocks:
    """By table name."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._locks: dict[bytes, Lock] = {}
        self._users: dict[bytes, int] = {}

    @contextmanager
    def hold(self, name: bytes) -> Iterator[None]:
        """*Switches* while somebody else holds it; fair."""
        lock = self._locks.setdefault(name, self._runtime.lock())
        self._users[name] = self._users.get(name, 0) + 1
        try:
            with lock:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._locks[name]

    def is_held(self, name: bytes) -> bool:
        """Or waited for. Does not switch."""
        return name in self._locks

    def __len__(self) -> int:
        """Tables that are being worked on."""
        return len(self._locks)
