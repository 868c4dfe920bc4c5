"""Threads, locks and queues of the system, also in a program that has gevent's monkey patches.

patch_all() replaces them by greenlets and by locks that belong to one hub. A thread that is a greenlet would block the
hub which it is to relieve, and a hub in a thread of its own (portal.py) cannot be waited for by such a lock. So nothing
here is taken from `threading` or `queue` as they are found: gevent keeps the originals, whether the patches come before
this is imported, after it, or after the first use.

In a patched program a caller of the portal may be one greenlet of many. It waits in its own hub, or the others would
stand still with it, and one of them may hold what the call needs (a lock of `logging`).
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from gevent._hub_local import get_hub_if_exists
from gevent.hub import Hub, Waiter
from gevent.monkey import get_original, is_module_patched
from greenlet import getcurrent

from hbtable.switches import switches

if not TYPE_CHECKING:
    SimpleQueue = get_original("queue", "SimpleQueue")

allocate_lock: Final[Callable[[], Any]] = get_original("_thread", "allocate_lock")
allocate_rlock: Final[Callable[[], Any]] = get_original("_thread", "RLock")
get_ident: Final[Callable[[], int]] = get_original("_thread", "get_ident")
_start: Final[Callable[[Callable[[], object], tuple[()]], int]] = get_original("_thread", "start_new_thread")

__all__ = [
    "CallerMark",
    "Latch",
    "NativeEvent",
    "NativeThread",
    "SimpleQueue",
    "allocate_lock",
    "allocate_rlock",
    "get_ident",
    "latch",
]

_LAST_STEPS_SECONDS: Final = 5.0
"""Of a thread whose function has returned, on a machine that has other things to do."""


@final
class NativeThread:
    """A daemon thread. Its name is known to `threading` only in a program without patches: there a thread that is not
    started by `threading` cannot be named."""

    def __init__(self, target: Callable[[], object], name: str) -> None:
        self._target = target
        self._process = os.getpid()
        self._ended = NativeEvent()
        self._thread: threading.Thread | None = None
        if not is_module_patched("threading"):
            self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self.ident: int | None = None

    def start(self) -> None:
        """`ident` is known on return."""
        if self._thread is not None:
            self._thread.start()
            self.ident = self._thread.ident
        else:
            self.ident = _start(self._live, ())

    def join(self) -> None:
        """Any number of threads may wait, and a signal handler that interrupts one of them. In a patched program other
        greenlets go on meanwhile. Returns in a forked child, where the thread does not exist."""
        if os.getpid() != self._process:
            return
        self._ended.wait()
        if self._thread is not None and not is_module_patched("threading"):
            # Not for ever: up to Python 3.12 join() takes a lock and releases it a step later. A signal handler that
            # runs in between, and joins, would wait for the step after its own return.
            self._thread.join(_LAST_STEPS_SECONDS)

    def _live(self) -> None:
        try:
            self._target()
        finally:
            del self._target  # frames of a thread that ended may live on, in a traceback
            if self._thread is not None and is_module_patched("threading"):
                _know_by_patched_ident(self._thread)
            self._ended.set()


def _know_by_patched_ident(thread: threading.Thread) -> None:
    """The patches came after this thread had begun: its end looks for it by what they take for its ident, and would
    print a traceback on not finding it."""
    known: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
    known.pop(get_ident(), None)
    known[threading.get_ident()] = thread


@final
class NativeEvent:
    """Comes about once. Any number of threads may wait, and a signal handler that interrupts one of them: each has a
    latch of its own, so nobody needs what an interrupted one holds."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: deque[Latch] = deque()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """In any thread."""
        self._is_set = True
        self._release()

    def wait(self) -> None:
        """In a patched program other greenlets go on meanwhile."""
        if self.is_set():
            return
        waited_for = latch()
        self._waiting.append(waited_for)
        if self.is_set():  # set() may have looked before
            self._release()
        waited_for.acquire()

    def _release(self) -> None:
        while True:
            try:
                waited_for = self._waiting.popleft()
            except IndexError:
                return
            waited_for.release()


@final
class CallerMark:
    """Tells later on whether whoever made it can go on meanwhile: not if the one that asks is a signal handler that
    interrupted him."""

    __slots__ = ("_greenlet", "_ident")

    def __init__(self) -> None:
        self._ident, self._greenlet = get_ident(), getcurrent()

    def waits_for_the_caller(self) -> bool:
        if self._ident != get_ident():
            return False
        return _hub_of_the_caller() is None or self._greenlet is getcurrent()


class Latch(Protocol):
    """One waits, another thread releases, once."""

    def acquire(self) -> object: ...
    def release(self) -> object: ...


def latch() -> Latch:
    """For the caller to wait for. Without patches a bare lock, which is the quickest thing a thread can wait for."""
    hub = _hub_of_the_caller()
    if hub is not None:
        return _HubLatch(hub)
    made: Latch = allocate_lock()
    made.acquire()
    return made


@final
class _HubLatch:
    """A latch that one greenlet makes and waits for."""

    __slots__ = ("_waiter", "_wake")

    def __init__(self, hub: Hub) -> None:
        self._waiter = Waiter(hub)
        self._wake = hub.loop.async_()
        self._wake.start(self._waiter.switch, None)

    @switches
    def acquire(self) -> None:
        """*Switches.*"""
        try:
            self._waiter.get()
        finally:
            self._wake.stop()
            self._wake.close()

    def release(self) -> None:
        """In any thread."""
        try:
            self._wake.send()
        except ValueError:
            pass  # closed: the greenlet was killed, and waits no longer


def _hub_of_the_caller() -> Hub | None:
    """None in an unpatched program, in a thread without a hub, and in the hub itself, which cannot wait."""
    if not is_module_patched("threading"):
        return None
    hub = get_hub_if_exists()
    return None if hub is None or getcurrent() is hub else hub
