"""A lock for each key, there while somebody holds it or waits for it.

Keys come and go for years, and some come from callers: nothing is kept of one that nobody works on.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, final

from hbtable.runtime.interface import Lock, Runtime
from hbtable.switches import switches

K = TypeVar("K", bound=Hashable)


@final
class KeyedLocks(Generic[K]):
    """One lock for each key."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._locks: dict[K, Lock] = {}
        self._users: dict[K, int] = {}

    @contextmanager
    @switches
    def hold(self, key: K) -> Iterator[None]:
        """*Switches* while somebody else holds it; fair."""
        lock = self._locks.setdefault(key, self._runtime.lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            with lock:
                yield
        finally:
            self._users[key] -= 1
            # Not before the last that waits is done: a newcomer would hold a lock of its own beside it.
            if not self._users[key]:
                del self._users[key], self._locks[key]

    def is_held(self, key: K) -> bool:
        """Whether the lock of the key is held or waited for. Does not switch."""
        return key in self._locks

    def __len__(self) -> int:
        """Keys that are held."""
        return len(self._locks)
