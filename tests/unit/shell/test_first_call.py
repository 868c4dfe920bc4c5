"""Whoever waits for something that is no Thrift server hears of it."""

import logging
import random
import socket
import threading

import pytest

from hbtable.shell import first_call
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import BrokenOff, ShellError


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_a_port_that_never_answers_is_told(
    seconds: float | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A web server, which waits for the end of a line."""
    monkeypatch.setattr(first_call, "_TOLD_AFTER_SECONDS", 0.01)
    told = threading.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    handler = Told()
    logging.getLogger("hbtable.shell").addHandler(handler)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            made, _ = listening.accept()
            with made:
                assert told.wait(60)

        server = threading.Thread(target=serve)
        server.start()
        connection = ShellConnection(f"127.0.0.1:{port}", call_seconds=seconds)
        with pytest.raises(BrokenOff):
            connection.hbase("getTableNames")
        server.join()
    logging.getLogger("hbtable.shell").removeHandler(handler)
    assert f"127.0.0.1:{port} has not answered for 0.01 s" in caplog.text


def test_who_gives_up_before_hears_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connection = ShellConnection(f"127.0.0.1:{listening.getsockname()[1]}", call_seconds=0.05)
        with pytest.raises(BrokenOff):
            connection.hbase("getTableNames")
    assert not caplog.text


ANSWERS = {
    "a web server": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "Redis": b"-ERR unknown command\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "an alert of TLS": b"\x15\x03\x03\x00\x02\x02\x28",
    "a NameNode": b"\x00\x00\x00\x7c\x08\xff\xff\xff\xff\x0f\x10\x02\x18\t" + b"\0" * 115,
    "MySQL": b"\x4a\x00\x00\x00\x0a8.0.36\x00" + b"\x08" * 66,
    "nothing": b"",
    "three bytes": b"abc",
    "another version of Thrift's": b"\x80\x02\x00\x02\x00\x00\x00\x00",
    "a long name": b"\x80\x01\x00\x02\x7f\xff\xff\xff",
    "a name that is no text": b"\x80\x01\x00\x02\x00\x00\x00\x02\xff\xff\x00\x00\x00\x00\x00",
    "an unknown type": b"\x80\x01\x00\x02\x00\x00\x00\rgetTableNames\x00\x00\x00\x00\x55\x00\x00",
    **{f"random bytes {seed}": random.Random(seed).randbytes(200) for seed in range(20)},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_thrift_server_is_told_in_a_sentence(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = f"127.0.0.1:{listening.getsockname()[1]}"

        def serve() -> None:
            made, _ = listening.accept()
            with made:
                made.recv(65536)
                made.sendall(ANSWERS[kind])

        for service, method in (("hbase", "getTableNames"), ("admin", "adminWhoAmI")):
            server = threading.Thread(target=serve)
            server.start()
            connection = ShellConnection(place, call_seconds=60.0)
            with pytest.raises(
                ShellError, match=rf"^({place} (answered|broke off during) {method}|{method}: .+ not one)"
            ):
                getattr(connection, service)(method)
            connection.close()
            server.join()
