"""kazoo's client, held to one session and to deadlines (docs/faults.md: ZooKeeper).

kazoo runs in threads of its own; everything here blocks and belongs into the runtime's threads, never into the hub.

Invariants: when the session is over, no socket is ever connected again, so that nothing can happen in the new session
which kazoo would quietly open. Nothing is sent while there is no connection; what was sent and not answered raises
Doubtful, whatever the reason.
"""

import logging
import math
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

from hbtable.errors import LockLost, Unavailable
from hbtable.lockservice.lease import Lease
from hbtable.lockservice.zookeeper.wire import Granted, Host, shown

log = logging.getLogger(__name__)

ANSWERS: Final = (NoNodeError, NodeExistsError, BadVersionError, NoChildrenForEphemeralsError)
"""Errors of kazoo by which the service says that it did nothing, and why."""

SAME_DIGEST: Final = "cluster.zookeeper_digest has to be the same file for all roles and commands of the cluster"
_OVER: Final = (SessionExpiredError, ConnectionClosedError)
_FIRST_RETRY_SECONDS: Final = 0.05
_LONGEST_RETRY_SECONDS: Final = 0.5


class Doubtful(Exception):
    """A request was sent, or may have been, and was not answered."""


class NodeRefused(Unavailable):
    """ZooKeeper does not let this process do what it asked for: a node's ACL names others alone."""


class _OneSessionHandler(SequentialThreadingHandler):
    """Makes kazoo's sockets: the one place in which it can be kept from opening a second session, and from waiting a
    whole session for one host of several."""

    def __init__(self, over: Callable[[], bool], connect_seconds: float, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self.connecting_since = math.inf
        """The time at which the latest attempt to connect began; infinite before the first."""
        self._over = over
        self._connect_seconds = connect_seconds
        self._socket: socket.socket | None = None

    def create_connection(self, *args: Any, **kwargs: Any) -> socket.socket:
        if self._over():
            raise ConnectionRefusedError("the session is over")
        self.connecting_since = self._clock()
        kwargs["timeout"] = min(kwargs.get("timeout") or self._connect_seconds, self._connect_seconds)
        self._socket = super().create_connection(*args, **kwargs)
        return self._socket

    def cut(self) -> None:
        """Any thread: kazoo sees the end of its connection and tries the next host."""
        try:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was gone already


@final
class ZooKeeperConnection:
    """Owns the client of one session. `changed` is called in kazoo's threads after each change of the state, and must
    return at once."""

    def __init__(
        self,
        hosts: list[Host],
        granted: Granted,
        lease: Lease,
        clock: Callable[[], float],
        credentials: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`credentials`: scheme and text of each identity, which is given on every connection before anything else."""
        self._lease = lease
        self._clock = clock
        self._shown = shown(hosts)
        self._session = granted.credentials.session
        self._live = threading.Event()
        self.changed: Callable[[], None] = lambda: None
        timeout_seconds = granted.timeout_millis / 1000
        self._handler = _OneSessionHandler(lease.over, timeout_seconds / (2 + len(hosts)), clock)
        self._client = KazooClient(
            hosts=self._shown,
            timeout=timeout_seconds,
            client_id=granted.credentials,
            handler=self._handler,
            auth_data=list(credentials),
            connection_retry=KazooRetry(
                max_tries=-1, delay=_FIRST_RETRY_SECONDS, max_delay=_LONGEST_RETRY_SECONDS, max_jitter=0.3
            ),
        )
        self._client.add_listener(self._listen)

    def start(self) -> None:
        """Begins to connect, in kazoo's threads."""
        self._client.start_async()

    def stop(self, by: float) -> None:
        """Ends the session, as far as the service can be reached, and kazoo's threads, by this time of the clock or
        somewhat later. Blocks."""
        ending = threading.Thread(target=self._stop_client, name="hbtable zookeeper stop", daemon=True)
        ending.start()
        ending.join(max(0.0, by - self._clock()))
        self._lease.end()
        if ending.is_alive():
            self._handler.cut()  # its server does not answer: the session ends there by its timeout

    def _stop_client(self) -> None:
        try:
            self._client.stop()
            self._client.close()
        except Exception as error:  # noqa: BLE001  whatever kazoo says at the end changes nothing any more
            log.debug("the ZooKeeper client did not stop in order: %s", error)

    @property
    def connected(self) -> bool:
        return self._live.is_set()

    def cut(self) -> None:
        """Gives the present connection up: its server answers nothing. kazoo would not notice while requests are sent,
        because it takes each for the ping that it owes."""
        self._handler.cut()

    def cut_if_stuck(self, seconds: float) -> None:
        """Gives an attempt to connect up that was not answered for so long: ZooKeeper may take a connection while it
        starts and never answer it, and kazoo would wait a whole session."""
        if not self._live.is_set() and self._clock() - self._handler.connecting_since > seconds:
            self._handler.cut()

    def call(self, by: float, send: Callable[[KazooClient], AsyncResult], node: str = "") -> Any:
        """The service's answer, or one of ANSWERS raised. Blocks until this time of the clock at the latest.
        Unavailable: nothing was sent. LockLost: the session is over. Doubtful. NodeRefused, which names `node`."""
        if not self._wait_for_connection(by):
            raise Unavailable(f"ZooKeeper at {self._shown} does not answer; it is tried again")
        self._check()
        try:
            answer = send(self._client).get(timeout=max(0.001, by - self._clock()))
        except ANSWERS:
            raise
        except NoAuthError as error:
            raise NodeRefused(
                f"ZooKeeper at {self._shown} lets only those use {node or 'its nodes'} who know the digest "
                f"it was made with: {SAME_DIGEST}; if it is, somebody else made that node, or the one above it"
            ) from error
        except _OVER as error:
            self._lease.end()
            raise self.lost() from error
        except Exception as error:  # Whatever it is: what was sent may have been done (paper, section 9)
            self._check()
            raise Doubtful(f"ZooKeeper at {self._shown}: {type(error).__name__} {error}".rstrip()) from error
        self._check()
        return answer

    def lost(self) -> LockLost:
        return LockLost(f"the lock service session {self._session:#018x} is over")

    def _wait_for_connection(self, by: float) -> bool:
        while not self._live.wait(min(0.1, max(0.0, by - self._clock()))):
            self._check()
            if self._clock() >= by:
                return False
        return True

    def _check(self) -> None:
        if self._lease.over():
            raise self.lost()

    def _listen(self, state: str) -> None:
        """In kazoo's connection thread: it must not wait for anything that thread does."""
        if state == KazooState.CONNECTED:
            known = self._client.client_id
            if known is None or known[0] != self._session:
                self._lease.end()
            else:
                self._live.set()
        else:
            self._live.clear()
            if state == KazooState.LOST:
                # Here, before kazoo connects again: from now on the handler gives it no socket.
                self._lease.end()
        self.changed()
