"""Watches of whole folders over ZooKeeper's, which cover one node and one change, and which kazoo drops with the
connection (kazoo #151).

Invariant: `changed` is called after the folder was armed again: what changed before shows when it is re-read, what
changes later causes another call. After a connection was lost everything is armed again and called.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import LockLost, Unavailable
from hbtable.lockservice.lease import Lease
from hbtable.lockservice.zookeeper.connection import ANSWERS, Doubtful, ZooKeeperConnection
from hbtable.switches import switches

log = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 0.1
_AFTER_BUG_SECONDS: Final = 5.0


@final
class _Watched:
    """One watched folder. kazoo's threads call `fire`."""

    def __init__(self, node: str, notify: Callable[[], None], wake: Callable[[], None]) -> None:
        self.node = node
        self.notify = notify
        self.fired = False
        self._wake = wake

    def fire(self, _event: object) -> None:
        self.fired = True
        self._wake()


@final
class Watches:
    """Owns a thread, from the first watch to the end of the session."""

    def __init__(
        self,
        connection: ZooKeeperConnection,
        lease: Lease,
        clock: Callable[[], float],
        call_seconds: float,
        died: Callable[[str, Exception], None],
    ) -> None:
        """`died` hears of a bug (runtime.interface.Deaths): without this thread nobody hears of a change any more."""
        self._died = died
        self._connection = connection
        self._lease = lease
        self._clock = clock
        self._call_seconds = call_seconds
        self._watched: list[_Watched] = []
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @switches
    def add(self, node: str, notify: Callable[[], None], by: float) -> None:
        """Every change below the folder's node after the return makes a thread call `notify`. Blocks. Unavailable,
        Doubtful, LockLost."""
        watched = _Watched(node, notify, self._wake.set)
        self._arm(watched, by)
        with self._starting:
            self._watched.append(watched)
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name="hbtable watches", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """The connection's state changed. Any thread."""
        self._wake.set()

    @switches
    def _live(self) -> None:
        while not self._lease.over():
            self._wake.wait()
            self._wake.clear()
            for watched in list(self._watched):
                if watched.fired and not self._lease.over():
                    self._renew(watched)

    @switches
    def _renew(self, watched: _Watched) -> None:
        try:
            self._arm(watched, self._clock() + self._call_seconds)
        except LockLost:
            return
        except (Unavailable, Doubtful) as error:
            log.debug("%s could not be watched again yet: %s", watched.node, error)
            self._renew_later(watched, _AGAIN_SECONDS)
            return
        except Exception as error:
            log.critical("the watch of %s died, and is begun again", watched.node, exc_info=error)
            self._died("watches", error)
            self._renew_later(watched, _AFTER_BUG_SECONDS)
            return
        watched.notify()

    def _renew_later(self, watched: _Watched, seconds: float) -> None:
        watched.fired = True
        timer = threading.Timer(seconds, self._wake.set)
        timer.daemon = True
        timer.start()

    @switches
    def _arm(self, watched: _Watched, by: float) -> None:
        watched.fired = False  # first: what fires while we walk makes us walk again
        self._walk(watched, watched.node, by)

    @switches
    def _walk(self, watched: _Watched, node: str, by: float) -> None:
        """Data and children of this node and of all below, each watched by the one request that reads it."""
        call, fire = self._connection.call, watched.fire
        if call(by, lambda client: client.exists_async(node, watch=fire)) is None:
            return  # the watch is set all the same: it fires when the node is made
        try:
            children = call(by, lambda client: client.get_children_async(node, watch=fire))
        except ANSWERS:
            return  # it went away in between; the first watch has fired
        for child in children:
            self._walk(watched, f"{node.rstrip('/')}/{child}", by)
