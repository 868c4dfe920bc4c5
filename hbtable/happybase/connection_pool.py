"""happybase's connection and pool, with clients that go to the owners of rows.

Both may be used in a forked child, also where the parent has threads in the middle of a call. Their sockets are the
parent's there: the child lets go of them without a word to the server, and makes its own as they are needed.
"""

import os
import queue
import threading
from typing import Any, final
from weakref import WeakSet

import happybase

from hbtable.happybase.routed_client import Client, RoutedClient
from hbtable.library.routes import Address, Routes


class Connection(happybase.Connection):
    """A happybase.Connection to one server, and to others as their rows are asked for. As happybase's it is for one
    thread at a time. `routes`: shared by several. Where its own connection breaks in the middle of a call, it makes
    another one for the next call."""

    def __init__(self, *, routes: Routes | None = None, **options: Any) -> None:
        """`options` are happybase.Connection's."""
        self._routes = routes or Routes(threading.Lock())
        self._options = options
        self._others: dict[Address, happybase.Connection] = {}
        self._seed = _Seed(self)
        self._was_used = False
        self._routed: RoutedClient | None = None
        super().__init__(**options)
        _CONNECTIONS.add(self)

    def _refresh_thrift_client(self) -> None:
        self._close_others()
        if hasattr(self, "transport"):
            self.transport.close()  # happybase leaves it to the garbage collector
        self._begin_transport()

    def _begin_transport(self) -> None:
        super()._refresh_thrift_client()
        self._seed.plain = self.client
        if self._routed is None:
            home = (self.host, self.port)
            self._routed = RoutedClient(self._seed, home, self._routes, self._connect, self._seed_broke, self.close)
        self.client = self._routed

    def open(self) -> None:
        if not self.transport.is_open():
            if self._was_used:
                self._begin_again()
            self._was_used = True
            super().open()

    def _begin_again(self) -> None:
        """A transport that was used may have a part of a call or of an answer. A program that makes its own, with TLS
        or a login, does so where happybase does."""
        if type(self)._refresh_thrift_client is Connection._refresh_thrift_client:
            self._begin_transport()  # connections to other servers, and scans there, go on
        else:
            self._refresh_thrift_client()

    def _seed_broke(self) -> None:
        self.transport.close()
        self._seed.opens = True

    def _connect(self, owner: Address) -> Client:
        before = self._others.pop(owner, None)
        if before is not None:
            before.close()
        host, port = owner
        other = happybase.Connection(**{**self._options, "host": host, "port": port, "autoconnect": False})
        other.open()
        self._others[owner] = other
        return other.client

    def close(self) -> None:
        self._close_others()
        self._seed.opens = False
        super().close()

    def _close_others(self) -> None:
        while self._others:
            self._others.popitem()[1].close()
        if self._routed is not None:
            self._routed.forget_connections()

    def begin_anew(self, routes: Routes) -> None:
        """For a forked child. To close a transport would shut the parent's connection down; here it is dropped."""
        for connection in self._others.values():
            connection._refresh_thrift_client()
        self._others.clear()
        self._routes = routes
        self._routed = None
        self._begin_transport()
        self._seed.opens = True


class _Seed:
    """The client of a connection's own server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.plain: Client = None
        """The one of the transport that the connection has now."""
        self.opens = False
        """Opens the connection when it is used: whoever has it takes it for open."""

    def __getattr__(self, method: str) -> Any:
        if self.opens:
            self._connection.open()
        return getattr(self.plain, method)


@final
class ConnectionPool(happybase.ConnectionPool):
    """Takes the place of happybase.ConnectionPool, with the same arguments. Each of its `size` connections may have one
    socket for each server of the cluster."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(size, **options)
        routes = Routes(threading.Lock())
        self._connections: list[Connection] = []
        plain = [self._acquire_connection() for _ in range(size)]
        for one in plain:
            one.close()
            self._connections.append(Connection(routes=routes, **{**options, "autoconnect": False}))
            self._return_connection(self._connections[-1])
        _POOLS.add(self)

    def _begin_anew(self) -> None:
        """In a forked child: what threads of the parent had is there again. What this thread has it gives back."""
        current = getattr(vars(self)["_thread_connections"], "current", None)
        self._lock = threading.Lock()
        self._queue: queue.LifoQueue[Connection] = queue.LifoQueue(maxsize=len(self._connections))
        routes = Routes(threading.Lock())
        for connection in self._connections:
            connection.begin_anew(routes)
            if connection is not current:
                self._queue.put(connection)


_CONNECTIONS: WeakSet[Connection] = WeakSet()
_POOLS: WeakSet[ConnectionPool] = WeakSet()


def _begin_anew() -> None:
    for connection in _CONNECTIONS:
        connection.begin_anew(Routes(threading.Lock()))  # a thread that the child does not have may be at the parent's
    for pool in _POOLS:
        pool._begin_anew()


os.register_at_fork(after_in_child=_begin_anew)
