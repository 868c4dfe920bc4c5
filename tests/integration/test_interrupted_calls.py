"""A call that is broken off in its midst, by a time limit say, leaves no answer to the next one."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from thriftpy2.transport import TTransportException

import hbtable
from hbtable.happybase import Connection, ConnectionPool


class SoftTimeLimit(Exception):
    """As Celery's: a signal handler raises it."""


class Timeout(BaseException):
    """As gevent's."""


class HeldAnswers:
    """A way to a server on which answers wait until `opened` is set, and `waits` is set once one does."""

    def __init__(self, port: int) -> None:
        self.opened, self.waits = threading.Event(), threading.Event()
        self.opened.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._server = port
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_answer and not self.opened.is_set():
                    self.waits.set()
                    self.opened.wait()
                sink.sendall(data)
        except OSError:
            return
        finally:
            for one in (source, sink):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()

    def close(self) -> None:
        self.opened.set()
        self._listening.close()


@pytest.fixture
def way() -> Iterator[HeldAnswers]:
    with hbtable.open(":memory:") as database:
        table = database.create_table("t", ["f"])
        for row in ("a", "b"):
            table.put(row, {"f:q": f"of {row}"})
        way = HeldAnswers(database.serve(port=0))
        yield way
        way.close()


def interrupted(way: HeldAnswers, by: type[BaseException], call: Callable[[], object]) -> None:
    """The call is, while its answer is under way. Its answer comes afterwards."""

    def handler(*_: object) -> None:
        raise by

    ended = threading.Event()

    def tell() -> None:
        way.waits.wait()
        while True:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            if ended.wait(10):
                return  # else it was raised in a finalizer, where Python passes over errors

    way.waits.clear()
    way.opened.clear()
    before = signal.signal(signal.SIGUSR1, handler)
    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        with pytest.raises(by):
            call()
    finally:
        ended.set()
        way.waits.set()
        telling.join()
        signal.signal(signal.SIGUSR1, before)
        way.opened.set()


CALLS: dict[str, Callable[[Any], object]] = {
    "row": lambda table: table.row(b"a"),
    "rows": lambda table: table.rows([b"a", b"b"]),
    "put": lambda table: table.put(b"c", {b"f:q": b"new"}),
    "delete": lambda table: table.delete(b"c"),
    "counter": lambda table: table.counter_inc(b"c", b"f:n"),
    "scan": lambda table: list(table.scan()),
}


@pytest.mark.parametrize("by", [KeyboardInterrupt, SystemExit, SoftTimeLimit, Timeout])
@pytest.mark.parametrize("call", CALLS)
def test_the_next_call_of_a_connection_hears_its_own_answer(
    way: HeldAnswers, call: str, by: type[BaseException]
) -> None:
    with hbtable.connect("127.0.0.1", way.port) as database:
        table = database.table("t")
        table.row("a")
        interrupted(way, by, lambda: CALLS[call](table))
        assert table.row("b") == {b"f:q": b"of b"}
        with pytest.raises(hbtable.NoSuchFamily):
            table.put("b", {"missing:q": "x"})


@pytest.mark.parametrize("by", [SoftTimeLimit, Timeout])
@pytest.mark.parametrize("call", ["row", "put", "scan"])
def test_the_next_call_of_a_pool_hears_its_own_answer(way: HeldAnswers, call: str, by: type[BaseException]) -> None:
    """It is broken off as it asks where the row is: the row's owner is asked past the way that holds answers."""
    pool = ConnectionPool(1, host="127.0.0.1", port=way.port)

    def with_one() -> None:
        with pool.connection() as connection:
            CALLS[call](connection.table("t"))

    interrupted(way, by, with_one)
    with pool.connection() as connection:
        assert connection.table("t").row(b"b") == {b"f:q": b"of b"}
        connection.close()


def test_a_connection_of_happybases_is_closed_by_it(way: HeldAnswers) -> None:
    connection = Connection(host="127.0.0.1", port=way.port)
    table = connection.table("t")
    interrupted(way, Timeout, lambda: table.row(b"a"))
    connection.open()
    assert connection.table("t").row(b"b") == {b"f:q": b"of b"}
    connection.close()


def timed_out(way: HeldAnswers, connection: Connection, call: Callable[[], object]) -> None:
    """The connection's first call is, and its answer comes afterwards. What follows has time enough."""
    way.opened.clear()
    with pytest.raises((TimeoutError, TTransportException)):
        call()
    connection.timeout = 60_000
    way.opened.set()


@pytest.mark.parametrize("transport", ["buffered", "framed"])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_after_one_that_timed_out_hears_its_own_answer(
    way: HeldAnswers, call: str, protocol: str, transport: str
) -> None:
    """The table's regions are not known: the server is asked for them on the way that holds answers."""
    connection = Connection(host="127.0.0.1", port=way.port, timeout=200, transport=transport, protocol=protocol)
    timed_out(way, connection, lambda: CALLS[call](connection.table("t")))
    assert connection.table("t").row(b"b") == {b"f:q": b"of b"}
    assert connection.is_table_enabled("t")
    connection.close()
    with pytest.raises(AssertionError):
        connection.tables()
    connection.open()
    assert connection.tables() == [b"t"]
    assert connection.table("t").row(b"a") == {b"f:q": b"of a"}
    connection.close()


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_timeout_that_a_pool_s_user_takes_care_of_leaves_no_answer(way: HeldAnswers, goes_on: bool) -> None:
    pool = ConnectionPool(1, host="127.0.0.1", port=way.port, timeout=200)
    with pool.connection() as connection:
        timed_out(way, connection, connection.tables)
        if goes_on:
            assert connection.is_table_enabled("t")
    with pool.connection() as connection:
        assert connection.is_table_enabled("t")
        connection.close()
