"""Whoever waits for something that is no Thrift server hears of it."""

import logging
import socket
import threading

import pytest

from hbtable.shell import first_call
from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import BrokenOff


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
