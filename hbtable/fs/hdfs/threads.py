"""A thread for each file being written through hdfs-native, because a hanging sync never comes back.

A thread whose call was given up is not used again until that call has ended, if it ever does; nobody waits for it.
Idle threads are used again, so there are as many as there were files open, or stuck, at once. There is a bound to those
that are stuck: a DataNode that froze gives them back when it is thawed, one that is gone for good never does.
"""

from collections.abc import Callable
from typing import Final, TypeVar, final

from hbtable.errors import Unavailable
from hbtable.fs.blocking_calls import MOST_HANGING, BlockingCalls
from hbtable.fs.hdfs.client import guarded
from hbtable.switches import switches

T = TypeVar("T")

_KEPT_FOR_LOGS: Final = 64
"""Other files must not use up what logs need."""


@final
class WriterThread:
    """One thread's name, and whether it is in a call."""

    __slots__ = ("busy", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.busy = False


@final
class WriterThreads:
    """Gives each writer a kind of blocking work (runtime.interface.Runtime.offload) that nobody else uses."""

    def __init__(self, calls: BlockingCalls) -> None:
        self._calls = calls
        self._threads: list[WriterThread] = []
        self._taken: set[str] = set()

    def take(self, for_log: bool = False) -> WriterThread:
        """Unavailable when too many hang."""
        stuck = 0
        for thread in self._threads:
            if thread.kind not in self._taken:
                if not thread.busy:
                    break
                stuck += 1
        else:
            if stuck >= MOST_HANGING + (_KEPT_FOR_LOGS if for_log else 0):
                raise Unavailable(
                    f"{stuck} writes to HDFS hang, no other is begun; if it stays so, restart this process"
                )
            thread = WriterThread(f"hdfs-writer-{len(self._threads)}")
            self._threads.append(thread)
        self._taken.add(thread.kind)
        return thread

    def give_back(self, thread: WriterThread) -> None:
        """The thread may serve another writer. If its call hangs, it is left alone."""
        self._taken.discard(thread.kind)

    @switches
    def call(self, thread: WriterThread, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """As Calls.call. At most one at a time for each thread."""

        begun = False

        def work() -> T:
            nonlocal begun
            begun = True
            try:
                return guarded(function, *arguments)
            finally:
                thread.busy = False

        thread.busy = True
        try:
            return self._calls.call(thread.kind, deadline_seconds, work)
        finally:
            if not begun:
                thread.busy = False
