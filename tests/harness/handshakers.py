"""Clients that begin to come in and never do: half hellos of TLS, whole ones that are never gone on with, halves of
SASL and of HTTP. As attackers.py:

    python -m tests.harness.handshakers half_handshakes PORT COUNT

opens COUNT connections as fast as they are taken, opens each again that is closed, and goes on until its input closes.
"""

import json
import os
import selectors
import socket
import ssl
import struct
import sys
import time
from contextlib import suppress

from tests.harness.attackers import OTHER_ADDRESS, Did, connect, raise_descriptors, say_ready, stopped

_CONNECTIONS_A_TURN = 50


def _hello() -> bytes:
    """A whole one, as the standard library's client sends it."""
    context = ssl.create_default_context()
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def beginnings() -> list[bytes]:
    """Of handshakes, one of each kind."""
    hello, plain = _hello(), struct.pack(">BI", 1, 5) + b"PLAIN"
    return [
        hello,
        hello[: len(hello) // 2],
        plain,
        plain + struct.pack(">BI", 2, 200) + b"\0ann",
        b"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic " + b"a" * 30,
    ]


def half_handshakes(port: int, count: int) -> Did:
    """Nothing more is sent on a connection after its beginning."""
    kinds, opened, failed, most = beginnings(), 0, 0, 0
    looked_at = selectors.DefaultSelector()
    began, all_open = time.monotonic(), 0.0
    say_ready(connections=count)
    while not stopped():
        open_now = len(looked_at.get_map())
        most = max(most, open_now)
        for _ in range(min(count - open_now, _CONNECTIONS_A_TURN)):
            try:
                client = connect(port, source=OTHER_ADDRESS)
                client.sendall(kinds[opened % len(kinds)])
                client.setblocking(False)
                looked_at.register(client, selectors.EVENT_READ)
                opened += 1
            except OSError:
                failed += 1
        if not all_open and len(looked_at.get_map()) >= count:
            all_open = time.monotonic() - began
        for key, _ in looked_at.select(0.0 if open_now < count else 0.1):
            client = key.fileobj  # type: ignore[assignment]
            if _has_ended(client):
                looked_at.unregister(client)
                client.close()
    return {"opened": opened, "failed": failed, "most_at_once": most, "all_open_seconds": round(all_open, 1)}


def _has_ended(client: socket.socket) -> bool:
    """What the server says is read and not answered."""
    try:
        return not client.recv(65536)
    except BlockingIOError:
        return False
    except OSError:
        return True


if __name__ == "__main__":
    raise_descriptors()
    os.nice(5)  # two servers and the clients that are measured share the processors with it
    sys.stdout.write(json.dumps(half_handshakes(int(sys.argv[2]), int(sys.argv[3]))) + "\n")
