"""TLS from the client's side with a server that leaves: nothing stays open."""

import gc
import select
import socket
import struct
import warnings

import pytest

from hbtable.shell.address import ServerAddress
from hbtable.shell.encryption import encrypted
from hbtable.shell.errors import CannotConnect

RESET = struct.pack("ii", 1, 0)
"""Of SO_LINGER: close() breaks the connection."""


@pytest.mark.parametrize("linger", [None, RESET], ids=["ended", "broken"])
def test_a_socket_is_closed_whose_server_left_before_the_handshake(linger: bytes | None) -> None:
    """CPython has the socket taken over by then, and raises without closing it: who is a server that ends meets it."""
    with socket.create_server(("127.0.0.1", 0)) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        made = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        if linger is not None:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        accepted.close()
        assert select.select([made], [], [], 30)[0]
        with pytest.raises(CannotConnect, match=r"no TLS with 127\.0\.0\.1"):
            encrypted(made, ServerAddress("127.0.0.1", server.getsockname()[1], tls=True))
        gc.collect()
