"""happybase's connection and pool, with clients that go to the owners of rows."""

import threading
from typing import Any, final

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

    def _refresh_thrift_client(self) -> None:
        self._close_others()
        if hasattr(self, "transport"):
            self.transport.close()  # happybase leaves it to the garbage collector
        super()._refresh_thrift_client()
        self.client = RoutedClient(self.client, (self.host, self.port), self._routes, self._connect)

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


@final
class ConnectionPool(happybase.ConnectionPool):
    """Takes the place of happybase.ConnectionPool, with the same arguments. Each of its `size` connections may have one
    socket for each server of the cluster."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(size, **options)
        self._routes = Routes(threading.Lock())
        plain = [self._acquire_connection() for _ in range(size)]
        for one in plain:
            one.close()
            self._return_connection(Connection(routes=self._routes, **{**options, "autoconnect": False}))
