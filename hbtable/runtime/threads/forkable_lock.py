"""Locks of threads that are free in a forked child: the thread that held one in the parent does not exist there, and
the child's first call would wait for ever."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import final
from weakref import WeakSet


@final
class ForkableLock:
    """`make` makes the lock: a program may have patched its threads' locks. What it guards must be fit for the child,
    whoever was at it."""

    def __init__(self, make: Callable[[], AbstractContextManager[object]]) -> None:
        self.make = make
        self.lock = self._held = make()
        _ALL.add(self)

    def __enter__(self) -> None:
        lock = self.lock
        lock.__enter__()
        self._held = lock

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held = self._held  # whoever forks in the middle, in a signal handler, say, has the parent's in the child
        held.__exit__(kind, error, traceback)


_ALL: WeakSet[ForkableLock] = WeakSet()


def _renew_all() -> None:
    for one in _ALL:
        one.lock = one.make()


os.register_at_fork(after_in_child=_renew_all)
