"""hbtable.testing's proxy: it keeps nothing of connections that ended, and goes on after an error of its machine."""

import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from hbtable.testing.lossy_proxy import LossyProxy
from tests.harness.waiting import SOON_SECONDS, eventually


@pytest.fixture
def proxy() -> Iterator[LossyProxy]:
    """In front of a server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(one: socket.socket) -> None:
            with one, suppress(OSError):
                while data := one.recv(100):
                    one.sendall(data)

        def accept() -> None:
            while True:
                try:
                    one, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(one,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        proxy = LossyProxy(listener.getsockname()[1])
        yield proxy
        proxy.close()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def answers(proxy: LossyProxy) -> bool:
    with socket.create_connection(("127.0.0.1", proxy.port), SOON_SECONDS) as client:
        client.sendall(b"asked")
        return client.recv(100) == b"asked"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_of_connections_that_ended(proxy: LossyProxy) -> None:
    before = descriptors()
    for _ in range(20):
        assert answers(proxy)
    proxy.lose("lost answer")
    assert not answers(proxy)
    eventually(lambda: descriptors() <= before, SOON_SECONDS, "the sockets to be closed")


def test_close_ends_all_connections(proxy: LossyProxy) -> None:
    before = descriptors()
    with socket.create_connection(("127.0.0.1", proxy.port), SOON_SECONDS) as client:
        client.sendall(b"asked")
        assert client.recv(100) == b"asked"
        proxy.close()
        assert client.recv(100) == b""
    eventually(lambda: descriptors() < before, SOON_SECONDS, "the sockets and the port to be closed")
    with pytest.raises(ConnectionRefusedError):
        answers(proxy)


class Exhausted:
    """A listener whose process has too many open files, three times."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.failures = 0

    def accept(self) -> Any:
        if self.failures < 3:
            self.failures += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._listener.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)


def test_it_goes_on_when_there_were_too_many_open_files(proxy: LossyProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    exhausted = Exhausted(proxy._listener)
    monkeypatch.setattr(proxy, "_listener", exhausted)
    assert answers(proxy)  # whose accept() began before
    assert answers(proxy)
    assert exhausted.failures == 3
