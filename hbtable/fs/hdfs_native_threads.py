"""A thread for each file being written through hdfs-native, because a hanging sync never comes back.

A thread whose call was given up is not used again until that call has ended, if it ever does; nobody waits for it.
Idle threads are used again, so there are as many as there were files open, or stuck, at once.
"""

from collections.abc import Callable
from typing import TypeVar, final

from hbtable.fs.calls import Calls
from hbtable.fs.hdfs_native_client import guarded

T = TypeVar("T")


@final
class WriterThread:
    """One thread's name, and whether its last call has ended."""

    __slots__ = ("kind", "under_way")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.under_way = 0


@final
class WriterThreads:
    """Gives each writer a kind of blocking work (runtime.interface.Runtime.offload) that nobody else uses."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._threads: list[WriterThread] = []
        self._taken: set[str] = set()

    def take(self) -> WriterThread:
        for thread in self._threads:
            if thread.kind not in self._taken and not thread.under_way:
                break
        else:
            thread = WriterThread(f"hdfs-writer-{len(self._threads)}")
            self._threads.append(thread)
        self._taken.add(thread.kind)
        return thread

    def give_back(self, thread: WriterThread) -> None:
        """Also when its call hangs: it is left alone then."""
        self._taken.discard(thread.kind)

    def call(self, thread: WriterThread, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """As Calls.call. At most one at a time for each thread."""

        def work() -> T:
            try:
                return guarded(function, *arguments)
            finally:
                thread.under_way -= 1  # the only thread that may: no other call of it is under way

        thread.under_way += 1
        return self._calls.call(thread.kind, deadline_seconds, work)
