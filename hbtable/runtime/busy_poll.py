"""Looks again and again for the next request, for a moment, before the hub sleeps.

A process that sleeps until a client's next request is woken by the kernel, which takes as long as the request itself:
40 us and more on a virtual machine. A client that asks one thing after the other pays that at each call. Looking costs
the processor about what sleeping and waking do. The kernel does the same for sockets (net.core.busy_poll) and for
processors of virtual machines (halt_poll_ns), and for the same reason only where looking lately paid.

An idle watcher is what keeps libev from sleeping. So everything else that it watches, timers and what threads send
included, is seen while it looks.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

from gevent.hub import get_hub

_MOST_CREDIT: Final = 8
_PRICE_OF_VAIN: Final = 4
_PASSES: Final = 64
"""Turns of the hub until the next attempt, after one in vain: looking delays a sleep by a 64th of the limit then."""

_LONGEST_LOOK_SECONDS: Final = 0.00002
"""One takes a few us; in what is longer others had the processor."""


@final
class _VainLooks:
    """Looks of this process at which nothing had happened, and their time."""

    __slots__ = ("_last", "seconds")

    def __init__(self) -> None:
        self.seconds = self._last = 0.0

    def count(self) -> None:
        """An idle watcher's call: nothing else was to be called."""
        now = time.perf_counter()
        self.seconds += min(now - self._last, _LONGEST_LOOK_SECONDS)
        self._last = now


_vain_looks: Final = _VainLooks()


def worked_seconds() -> float:
    """The processor's time of this process, but for what it looked in vain: nobody needed that."""
    return time.process_time() - _vain_looks.seconds


def spare_processors() -> bool:
    """Whether another process can run while this one looks."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    return (len(affinity(0)) if affinity else os.cpu_count() or 1) > 1


@contextmanager
def awake() -> Iterator[None]:
    """The hub does not sleep meanwhile, so that timers end within microseconds: epoll sleeps for whole milliseconds. It
    sleeps where there is one processor alone: whoever is waited for needs it."""
    if not spare_processors():
        yield
        return
    loop: Any = get_hub().loop
    watcher = loop.idle(ref=False, priority=loop.MINPRI)
    watcher.start(_vain_looks.count)
    try:
        yield
    finally:
        watcher.stop()
        watcher.close()


@final
class BusyPoll:
    """Delays the sleeps of one hub, that of the thread which calls start(), by at most `seconds` each.

    A look in vain costs the credit of four that were not. So a server whose clients are slow, or that waits for its
    disk between their requests, sleeps at once, and tries again after 64 turns."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        """`seconds`: 0: sleeps are not delayed."""
        self._seconds = seconds
        self._clock = clock
        self._credit = 0
        self._passes = 0
        """So many turns yet do not begin to look."""
        self._looks = False
        self._vain = False
        """Nothing had happened when the hub looked last."""
        self._until = 0.0
        self._turn_ends: Any = None
        self._awake: Any = None

    def start(self) -> None:
        """Does nothing where there is one processor alone: whoever is waited for needs it."""
        if not self._seconds or not spare_processors():
            return
        loop: Any = get_hub().loop  # whose stubs have no idle()
        # Without a reference: a hub whose tasks all wait for each other ends all the same.
        self._turn_ends = loop.prepare(ref=False, priority=loop.MINPRI)
        self._awake = loop.idle(ref=False, priority=loop.MINPRI)
        self._turn_ends.start(self._before_looking)

    def stop(self) -> None:
        """Idempotent."""
        watchers, self._turn_ends, self._awake = (self._turn_ends, self._awake), None, None
        for watcher in watchers:
            if watcher is not None:
                watcher.stop()
                watcher.close()

    def _before_looking(self) -> None:
        if self._passes:
            self._passes -= 1
        elif not self._looks:
            self._looks, self._vain = True, False
            self._until = self._clock() + self._seconds
            self._awake.start(self._nothing)
        elif not self._vain:
            if self._credit < _MOST_CREDIT:
                self._credit += 1
            self._until = self._clock() + self._seconds
        else:
            self._vain = False
            if self._clock() > self._until:
                self._looks = False
                self._awake.stop()
                self._credit -= _PRICE_OF_VAIN
                if self._credit < 0:
                    self._credit = 0
                    self._passes = _PASSES

    def _nothing(self) -> None:
        """The hub calls this where it has nothing else to call."""
        self._vain = True
        _vain_looks.count()
