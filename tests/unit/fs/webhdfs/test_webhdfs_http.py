"""HTTP over connections of our own, against a server on loopback that answers what each test says."""

import io
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import requests

from hbtable.fs.hdfs import file_system as native_file_system
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.interface import CountsCopies
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.package import PackageSession
from hbtable.fs.webhdfs.requests import Http, NoAnswer, NotSent, WebHdfsRequest
from hbtable.runtime.gevent_runtime import GeventRuntime

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def address_of(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


class Server:
    """Answers each request of a connection with the next of `answers`; b"" closes it. Reads bodies whole."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = answers
        self.requests: list[bytes] = []
        self.connections = 0
        self._left = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = address_of(self._listener)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rb") as incoming:
                while request := self._request(incoming):
                    self.requests.append(request)
                    answer = self.answers.pop(0) if self.answers else b""
                    if not answer:
                        break
                    connection.sendall(answer)
                    if b"Connection: close" in answer:
                        break
                else:
                    self._left.set()

    def _request(self, incoming: io.BufferedReader) -> bytes:
        request = b""
        length = 0
        while line := incoming.readline():
            request += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            if line == b"\r\n":
                return request + incoming.read(length)
        return b""

    def wait_until_left(self) -> None:
        """Until a client has closed its connection."""
        assert self._left.wait(60)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server([])
    yield made
    made.close()


@pytest.fixture(params=["own", "package"])
def http(request: pytest.FixtureRequest) -> Iterator[Http]:
    carrier = HttpConnections(time.monotonic) if request.param == "own" else PackageSession(requests.Session())
    yield carrier
    carrier.close()


def test_a_connection_is_used_again_also_after_empty_answers(server: Server) -> None:
    http = HttpConnections(time.monotonic)
    server.answers = [EMPTY, HELLO, EMPTY, HELLO]
    request = WebHdfsRequest("PUT", server.host, "/a?op=CREATE", keep_open=True, seconds=60)
    assert [http(request).body for _ in range(4)] == [b"", b"hello", b"", b"hello"]
    assert server.connections == 1
    http.close()


def test_an_idle_connection_is_not_trusted_for_long(server: Server) -> None:
    clock = [0.0]
    http = HttpConnections(lambda: clock[0])
    server.answers = [EMPTY] * 2
    for _ in range(2):
        http(WebHdfsRequest("GET", server.host, "/a", keep_open=True, seconds=60))
        clock[0] += 100.0
    assert server.connections == 2
    http.close()


def test_a_connection_that_comes_back_after_the_close_is_not_kept(server: Server) -> None:
    """A call that was given up ends in its own thread, whenever it ends."""
    http = HttpConnections(time.monotonic)
    server.answers = [EMPTY]
    http.close()
    assert http(WebHdfsRequest("GET", server.host, "/a", keep_open=True, seconds=60)).status == 200
    server.wait_until_left()


@pytest.mark.parametrize("body", [b"x" * 100_000, io.BytesIO(b"x" * 100_000)])
def test_a_body_is_sent_whole(http: Http, server: Server, body: bytes | io.BytesIO) -> None:
    server.answers = [EMPTY.replace(b"200 OK", b"201 Created").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]
    assert http(WebHdfsRequest("PUT", server.host, "/a", body, 100_000, seconds=60)).status == 201
    assert server.requests[0].endswith(b"\r\n\r\n" + b"x" * 100_000)


def test_redirects_are_not_followed(http: Http, server: Server) -> None:
    server.answers = [b"HTTP/1.1 307 X\r\nLocation: http://node:1/b\r\nContent-Length: 0\r\n\r\n"]
    response = http(WebHdfsRequest("PUT", server.host, "/a", seconds=60))
    assert (response.status, response.location) == (307, "http://node:1/b")


def test_a_body_that_ends_early_is_not_complete(http: Http, server: Server) -> None:
    server.answers = [HELLO.replace(b"5", b"9").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]
    response = http(WebHdfsRequest("GET", server.host, "/a", seconds=60))
    assert (response.status, response.complete) == (200, False)


def test_no_connection_is_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        host = address_of(gone)
    with pytest.raises(NotSent):
        HttpConnections(time.monotonic)(WebHdfsRequest("GET", host, "/a", seconds=60))


def test_a_server_that_closes_without_a_word_gave_no_answer(http: Http, server: Server) -> None:
    with pytest.raises(NoAnswer):
        http(WebHdfsRequest("PUT", server.host, "/a", seconds=60))


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"])
def test_a_silent_server_is_given_up_in_time(http: Http, sent: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_answer_and_wait, args=(listener, sent), daemon=True)
        thread.start()
        try:
            complete = http(WebHdfsRequest("GET", address_of(listener), "/a", seconds=0.1)).complete
        except NoAnswer:
            complete = False
        assert not complete
        thread.join(60)


def _answer_and_wait(listener: socket.socket, sent: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(sent)
        while connection.recv(1000):
            pass


def test_a_refused_connection_has_sent_nothing(http: Http) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = address_of(listener)
    with pytest.raises(NotSent, match=f"{nobody} cannot be reached"):
        http(WebHdfsRequest("GET", nobody, "/a?op=X", seconds=60))


def test_over_hdfs_too_the_connections_that_count_copies_are_closed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the collector of garbage finds an open socket, in whatever runs then."""
    monkeypatch.setattr(native_file_system, "open_client", lambda *how: None)
    body = b'{"LocatedBlocks": {"lastLocatedBlock": {"locations": [{"lastUpdate": 1}]}}}'
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)]
    options = FileSystemOptions(hdfs=HdfsNativeOptions(web_addresses=server.host))
    runtime = GeventRuntime()
    try:
        fs = open_file_system("hdfs://namenode:8020/x", runtime, options)
        assert isinstance(fs, CountsCopies)
        assert fs.copies("logs/1.log") == (1, 2)
        close_file_system(fs)
        server.wait_until_left()
    finally:
        runtime.close()
