"""Watches the sockets of one client on which tasks wait, so that a round of the event loop has a bounded number of its
callbacks.

The loop calls back for each socket on which something has arrived before it does anything else. One client with a byte
at the same moment on each of 3,000 connections made everybody wait for 3,000 callbacks. So the loop watches a few
sockets of a client itself. All others are watched by the system, in an epoll of the client's own: to the loop that is
one file, which is asked for a few arrivals in a round. Where the system has no epoll, or no file descriptor left for
one, the loop watches all.
"""

import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from gevent.hub import get_hub
from gevent.monkey import get_original

if TYPE_CHECKING:
    from select import epoll

MOST_AT_ONCE: Final = 16
"""Sockets of a client that the loop itself watches, and arrivals on others in a round. The hub reads about as many of
them between two looks at its sockets (fair_scheduler.py): to hear of more at once makes others wait, and nothing
sooner."""


@final
class WatchedSockets:
    """The sockets of one client, in one hub. `alone`: the number of those that the loop itself watches."""

    __slots__ = ("__weakref__", "_epoll", "_hub", "_together", "_watcher", "alone")

    def __init__(self) -> None:
        self.alone = 0
        self._hub = get_hub()
        self._together: dict[int, Callable[[], object]] = {}
        """The functions to be called, by the descriptors that the epoll watches."""
        self._epoll: epoll | None = None

    def watch(self, descriptor: int, come: Callable[[], object]) -> bool:
        """Whether `come` will be called in the hub, once, when something has arrived there, or the peer has ended.
        Otherwise the loop has to watch this one."""
        if self.alone < MOST_AT_ONCE:
            return False
        try:
            if self._epoll is None:
                made = _new_epoll()
                self._watcher = self._hub.loop.io(made.fileno(), 1)
                self._epoll = made
            _watch_once(self._epoll, descriptor)
        except (AttributeError, OSError):
            return False  # this system has no epoll, or no descriptors are left, or it watches too many
        self._together[descriptor] = come
        if not self._watcher.active:
            self._watcher.start(self._some_came)
        return True

    def forget(self, descriptor: int, come: Callable[[], object]) -> None:
        """It is not called. The number may have come to mean another socket."""
        if self._together.get(descriptor) == come:
            del self._together[descriptor]
            self._rest()

    def _some_came(self) -> None:
        assert self._epoll is not None
        for descriptor, _ in self._epoll.poll(0, MOST_AT_ONCE):
            come = self._together.pop(descriptor, None)
            if come is not None:
                try:
                    come()
                except BaseException:  # noqa: BLE001  as the loop does with what it calls itself
                    self._hub.handle_error(self, *sys.exc_info())
        self._rest()

    def _rest(self) -> None:
        """The loop may end when all that is left waits for each other."""
        if not self._together:
            self._watcher.stop()


def _new_epoll() -> "epoll":
    """Also in a program under gevent's patches, which take it away. AttributeError where the system has none."""
    made: epoll = get_original("select", "epoll")()
    return made


def _watch_once(watching: "epoll", descriptor: int) -> None:
    events = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT
    try:
        watching.modify(descriptor, events)
    except FileNotFoundError:
        watching.register(descriptor, events)
