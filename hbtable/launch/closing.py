"""Closes databases of hbtable.open(): by close(), when nobody refers to them any more, or with the program.

close() may come from any thread, from a signal handler that interrupts another close(), and from the garbage collector
in the middle of anything. So the work is done once, in a thread of its own, and whoever can wait for it does.

At the interpreter's end no other thread runs any more, the hub's neither, and whoever waited for it would wait for
ever. So what is left open is closed before (atexit).
"""

import atexit
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Final, final

from hbtable.runtime.native_threads import NativeThread, allocate_rlock

_OPEN: Final["weakref.WeakSet[Closing]"] = weakref.WeakSet()
_UNDER_WAY: Final["set[Closing]"] = set()


@final
class Closing:
    """Closes the database at `path`; `work` does it."""

    def __init__(self, path: str, work: Callable[[], None]) -> None:
        self.path = path
        self._work = weakref.WeakMethod(work)
        self._process = os.getpid()
        self._gate = allocate_rlock()
        self._thread: NativeThread | None = None
        self._error: BaseException | None = None
        _OPEN.add(self)

    def begin(self) -> bool:
        """Whether there is anything to wait for: not in a forked child, where the hub's thread does not exist and the
        folder stays the parent's, and not when the interpreter ends."""
        if os.getpid() != self._process or sys.is_finalizing():
            return False
        with self._gate:
            if self._thread is None:
                _UNDER_WAY.add(self)
                work = [self._work()]  # refers to the database, until it is closed
                self._thread = NativeThread(lambda: self._run(work.pop()), "hbtable close")
                self._thread.start()
        return True

    def wait(self) -> None:
        """After begin(). Raises what closing failed with, to the first one."""
        assert self._thread is not None
        self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, work: Callable[[], None] | None) -> None:
        try:
            if work is not None:
                work()
        except BaseException as error:  # noqa: BLE001  it is raised again by wait()
            self._error = error
        finally:
            _OPEN.discard(self)
            _UNDER_WAY.discard(self)


def give_back(path: str) -> bool:
    """Waits until databases at `path` that nobody refers to are closed. Whether there was one."""
    gc.collect()
    found = [closing for closing in list(_UNDER_WAY) if closing.path == path and closing.begin()]
    for closing in found:
        closing.wait()
    return bool(found)


@atexit.register
def _close_all() -> None:
    for closing in {*_OPEN, *_UNDER_WAY}:
        if closing.begin():
            closing.wait()
