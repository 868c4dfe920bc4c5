"""Keeps a session's lease: a native thread asks the service; a busy hub cannot starve it
(docs/faults.md: ZooKeeper).

Each round is a sync and a look at every lock. The sync goes through ZooKeeper's leader, which alone decides when a
session ends: a follower that was cut off from it would answer plain reads for seconds more.

Invariant: the lease counts from before the first request of a round was sent, and only once all of it was answered.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import LockLost, Unavailable
from hbtable.lockservice.lease import Lease
from hbtable.lockservice.zookeeper.connection import Doubtful, ZooKeeperConnection

log = logging.getLogger(__name__)

_ROUNDS_PER_SESSION: Final = 6
_ATTEMPTS_PER_SESSION: Final = 3
_HANDSHAKE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.25


@final
class HeldLocks:
    """The locks that this session holds, as nodes of ZooKeeper. Any thread may
    call."""

    def __init__(self) -> None:
        self._nodes: dict[str, int] = {}
        self._changing = threading.Lock()

    def add(self, node: str, czxid: int) -> None:
        with self._changing:
            self._nodes[node] = czxid

    def discard(self, node: str) -> None:
        """Before it is unlocked: a lock that is about to go must not be missed by the keeper."""
        with self._changing:
            self._nodes.pop(node, None)

    def still(self, node: str, czxid: int) -> bool:
        return self._nodes.get(node) == czxid

    def all(self) -> list[tuple[str, int]]:
        with self._changing:
            return list(self._nodes.items())


@final
class LeaseKeeper:
    """Owns the thread. It ends when the session is over, and stops the connection then."""

    def __init__(
        self,
        connection: ZooKeeperConnection,
        lease: Lease,
        held: HeldLocks,
        root: str,
        timeout_seconds: float,
        clock: Callable[[], float],
        died: Callable[[str, Exception], None],
    ) -> None:
        """`died` hears of a bug (runtime.interface.Deaths). If it comes again and again, the lease ends."""
        self._died = died
        self._connection = connection
        self._lease = lease
        self._held = held
        self._root = root or "/"
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._live, name="hbtable lease", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """The connection's state changed: look at once. Any thread."""
        self._wake.set()

    def _live(self) -> None:
        while not self._lease.over():
            by = self._clock() + self._timeout_seconds / _ATTEMPTS_PER_SESSION
            try:
                self._round(by)
            except (Unavailable, Doubtful) as error:
                log.debug("the lease was not confirmed: %s", error)
                if self._clock() >= by:
                    self._connection.cut()
            except LockLost:
                break
            except Exception as error:
                log.critical("the lease was not confirmed because of a bug; it is tried again", exc_info=error)
                self._died("lease", error)
            if not self._lease.over():
                pause = self._timeout_seconds / _ROUNDS_PER_SESSION
                self._wake.wait(pause if self._connection.connected else min(pause, _LOOK_SECONDS))
                self._wake.clear()
        self._lease.end()
        self._connection.stop(self._clock() + self._timeout_seconds)

    def _round(self, by: float) -> None:
        if not self._connection.connected:
            self._connection.cut_if_stuck(min(_HANDSHAKE_SECONDS, self._timeout_seconds / 4))
            return
        sent = self._clock()
        self._connection.call(by, lambda client: client.sync_async(self._root))
        for node, czxid in self._held.all():
            stat = self._connection.call(by, lambda client, node=node: client.exists_async(node))  # type: ignore[misc]
            if (stat is None or stat.czxid != czxid) and self._held.still(node, czxid):
                log.error("the lock %s was taken away from this session", node)
                self._lease.end()
                return
        self._lease.renew(sent)
