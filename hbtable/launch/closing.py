"""Closes a database of hbtable.open(): by close(), when nobody refers to it any more, or with the program.

close() may come from any thread, from a signal handler that interrupts another close(), and from the garbage collector
in the middle of anything. So the work is done once, in a thread of its own, and whoever can wait for it does.
"""

import os
import sys
from collections.abc import Callable
from typing import final

from hbtable.runtime.threads.native_threads import NativeEvent, NativeThread, allocate_lock


@final
class Closing:
    """Of one database, which this process opened."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._works: list[Callable[[], None]] = []
        self._first = allocate_lock()
        """Held for good by the thread that does the work."""
        self._done = NativeEvent()
        self._thread: NativeThread | None = None
        self._error: BaseException | None = None

    def is_possible(self) -> bool:
        """Not in a forked child, where the hub's thread does not exist and the folder stays the parent's. Not when the
        interpreter ends: no other thread runs any more, and whoever waited for one would wait for ever."""
        return os.getpid() == self._process and not sys.is_finalizing()

    def begin(self, work: Callable[[], None]) -> None:
        """Only where it is possible. Nothing, from the second time on, whatever `work` is.

        A second thread is no harm. A signal handler that interrupts the start of the first one needs it, or it would
        wait for a thread that cannot start before the handler returns.
        """
        if self._thread is None:
            self._works.append(work)
            thread = NativeThread(self._run, "hbtable close")
            thread.start()
            self._thread = thread

    def wait(self) -> None:
        """After begin(). Raises what closing failed with, to the first one."""
        self._done.wait()
        if self._thread is not None:
            self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        work = self._works.pop()
        if not self._first.acquire(False):
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001  it is raised again by wait()
            self._error = error
        finally:
            self._done.set()
