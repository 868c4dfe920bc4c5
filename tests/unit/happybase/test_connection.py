"""A connection that is closed, and opened again."""

import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from thriftpy2.transport import TBufferedTransport, TSocket

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


def test_a_transport_of_the_program_s_own_is_opened_and_not_replaced() -> None:
    """As one with TLS, or with a time limit of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection(host="127.0.0.1", port=server.getsockname()[1], autoconnect=False)
        mine = connection.transport = TBufferedTransport(TSocket("127.0.0.1", server.getsockname()[1]))
        connection.open()
        assert connection.transport is mine
        assert mine.is_open()
        connection.close()


def test_a_connection_that_is_opened_again_asks_the_subclass_for_its_transport() -> None:
    made = []

    class Own(Connection):
        def _refresh_thrift_client(self) -> None:
            super()._refresh_thrift_client()
            made.append(self.transport)

    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Own(host="127.0.0.1", port=server.getsockname()[1])
        connection.close()
        connection.open()
        assert connection.transport is made[-1]
        assert len(made) == 2
        connection.close()


def test_what_is_no_call_is_no_attribute_of_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection(host="127.0.0.1", port=server.getsockname()[1])
        assert hasattr(connection.client, "getRow")
        assert not hasattr(connection.client, "nonsense")
        assert connection.transport.is_open()
        connection.close()
