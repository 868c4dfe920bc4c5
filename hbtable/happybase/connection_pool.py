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
    thread at a time. `routes`: shared by several."""

    def __init__(self, *, routes: Routes | None = None, **options: Any) -> None:
        """`options` are happybase.Connection's."""
        self._routes = routes or Routes(threading.Lock())
        self._options = options
        self._others: dict[Address, happybase.Connection] = {}
        super().__init__(**options)
        _CONNECTIONS.add(self)

    def _refresh_thrift_client(self) -> None:
        self._close_others()
        if hasattr(self, "transport"):
            self.transport.close()  # happybase leaves it to the garbage collector
        super()._refresh_thrift_client()
        self._route(self.client)

    def _route(self, seed: Client) -> None:
        self.client = RoutedClient(seed, (self.host, self.port), self._routes, self._connect, self.close)

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
        super().close()

    def _close_others(self) -> None:
        others = getattr(self, "_others", {})  # happybase closes what could not be made
        while others:
            others.popitem()[1].close()
        client = getattr(self, "client", None)
        if isinstance(client, RoutedClient):
            client.forget_connections()

    def _begin_anew(self) -> None:
        """In a forked child. To close a transport would shut the parent's connection down; here it is dropped."""
        for connection in (self, *self._others.values()):
            happybase.Connection._refresh_thrift_client(connection)
        self._others.clear()
        self._routes = Routes(threading.Lock())  # a thread that the child does not have may be at the parent's
        self._route(_OpenedWhenUsed(self))


class _OpenedWhenUsed:
    """The client of a connection that whoever has it in a forked child takes for open."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client: Client = connection.client

    def __getattr__(self, method: str) -> Any:
        self._connection.open()
        return getattr(self._client, method)


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
            connection._routes = routes
            connection._route(connection.client._seed)
            if connection is not current:
                self._queue.put(connection)


_CONNECTIONS: WeakSet[Connection] = WeakSet()
_POOLS: WeakSet[ConnectionPool] = WeakSet()


def _begin_anew() -> None:
    for connection in _CONNECTIONS:
        connection._begin_anew()
    for pool in _POOLS:
        pool._begin_anew()


os.register_at_fork(after_in_child=_begin_anew)
