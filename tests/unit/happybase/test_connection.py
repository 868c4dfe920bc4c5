"""A connection that is closed, and opened again."""

import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from hbtable.happybase.connection_pool import Connection
from hbtable.library.routes import Routes


def test_what_is_opened_again_speaks_to_owners_over_new_connections() -> None:
    """It used the closed ones, and each call for a row of another server was an AssertionError of thriftpy2."""
    with ExitStack() as stack:
        home, owner = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        routes = Routes(threading.Lock())
        host, port = owner.getsockname()
        routes.look_if_due(b"t", lambda: [SimpleNamespace(startKey=b"", serverName=host.encode(), port=port)])
        connection = Connection(host="127.0.0.1", port=home.getsockname()[1], routes=routes)
        stack.callback(connection.close)

        def is_open(client: Any) -> bool:
            return bool(client._oprot.trans.is_open())

        before = connection.client._client(b"t", b"r")[1]
        assert connection.client._client(b"t", b"r")[1] is before
        assert is_open(before)
        connection.close()
        assert not is_open(before)
        connection.open()
        address, after = connection.client._client(b"t", b"r")
        assert address == (host, port)
        assert is_open(after)
