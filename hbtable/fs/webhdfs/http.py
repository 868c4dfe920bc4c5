"""HTTP to NameNodes and DataNodes over connections of our own: 1.0 ms a request where a `requests` session takes 4.7
(and six times its processor time), which a log that sends three of them per commit would feel.

Called from several threads at once; a connection is used by one at a time. A NameNode's is kept for the next request,
unless it was idle so long that the server may be closing it: a request written then gets no answer, and nobody could
tell whether it was carried out.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Final, final

from hbtable.fs.webhdfs.encryption import untrusted
from hbtable.fs.webhdfs.requests import NoAnswer, NotSent, WebHdfsRequest, WebHdfsResponse

_CONNECT_SECONDS: Final = 2.0
_LONGEST_IDLE_SECONDS: Final = 4.0
"""Hadoop's own limit is 10 s, in newer versions 60."""
_KEPT_PER_HOST: Final = 16
_PIECE_BYTES: Final = 1 << 18


@final
class HttpConnections:
    """Callable as webhdfs_requests.Http. Owns the idle connections. `clock` must do in any thread. `tls`: for every
    connection, whatever a redirect says; None: they are plain."""

    def __init__(self, clock: Callable[[], float], tls: ssl.SSLContext | None = None) -> None:
        self._clock = clock
        self._tls = tls
        self._lock = threading.Lock()
        self._idle: dict[str, list[tuple[http.client.HTTPConnection, float]]] = {}
        self._closed = False

    def __call__(self, request: WebHdfsRequest) -> WebHdfsResponse:
        ends = self._clock() + request.seconds
        connection = self._taken(request.host) if request.keep_open else None
        if connection is None:
            connection = _connected(request.host, min(_CONNECT_SECONDS, request.seconds), self._tls)
        keep = False
        try:
            response, keep = _exchanged(connection, request, lambda: ends - self._clock())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswer(f"{request.host}: {type(error).__name__} {error}") from error
        finally:
            if keep and request.keep_open:
                self._keep(request.host, connection)
            else:
                connection.close()
        return response

    def close(self) -> None:
        """Requests that are under way in other threads go on; their connections are not kept."""
        with self._lock:
            self._closed = True
            everyone, self._idle = self._idle, {}
        for connections in everyone.values():
            for connection, _ in connections:
                connection.close()

    def _taken(self, host: str) -> http.client.HTTPConnection | None:
        oldest = self._clock() - _LONGEST_IDLE_SECONDS
        with self._lock:
            connections = self._idle.get(host, [])
            while connections:
                connection, since = connections.pop()
                if since > oldest:
                    return connection
                connection.close()
        return None

    def _keep(self, host: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            connections = self._idle.setdefault(host, [])
            if len(connections) < _KEPT_PER_HOST and not self._closed:
                connections.append((connection, self._clock()))
                return
        connection.close()


def _connected(host: str, seconds: float, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if tls is None:
        connection = http.client.HTTPConnection(host, timeout=seconds)
    else:
        connection = http.client.HTTPSConnection(host, timeout=seconds, context=tls)
    try:
        connection.connect()
        # Or a body that follows its header in a packet of its own waits 40 ms for the header's acknowledgement.
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        connection.close()
        said = (isinstance(error, OSError) and untrusted(error)) or error
        raise NotSent(f"{host} cannot be reached: {said}") from error
    return connection


def _exchanged(
    connection: http.client.HTTPConnection, request: WebHdfsRequest, left: Callable[[], float]
) -> tuple[WebHdfsResponse, bool]:
    """The answer, and whether the connection may be used again."""
    _wait_at_most(connection, left())
    if not isinstance(request.body, bytes):
        request.body.seek(0)
    _send(connection, request)
    return _received(connection, left)


def _send(connection: http.client.HTTPConnection, request: WebHdfsRequest) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    if request.method != "GET":
        length = len(request.body) if isinstance(request.body, bytes) else request.length_bytes
        headers["Content-Length"] = str(length)
    try:
        connection.request(request.method, request.target, request.body or None, headers)
    except (BrokenPipeError, ConnectionResetError):
        pass  # a server that refuses a body answers before it has read it, and closes


def _received(connection: http.client.HTTPConnection, left: Callable[[], float]) -> tuple[WebHdfsResponse, bool]:
    """The answer, and whether the connection may be used again."""
    _wait_at_most(connection, left())
    answer = connection.getresponse()
    pieces: list[bytes] = []
    complete = True
    try:
        while True:
            _wait_at_most(connection, left())
            piece = answer.read(_PIECE_BYTES)  # read1 would leave an empty answer unfinished
            if not piece:
                break
            pieces.append(piece)
    except http.client.IncompleteRead:
        complete = False
    except BaseException:
        answer.close()  # or it keeps the socket open, whatever its connection does
        raise
    body = b"".join(pieces)
    announced = answer.getheader("Content-Length")
    if announced is not None and announced.isdigit() and len(body) < int(announced):
        complete = False
    reusable = complete and not answer.will_close and answer.isclosed()
    return WebHdfsResponse(answer.status, answer.getheader("Location") or "", body, complete), reusable


def _wait_at_most(connection: http.client.HTTPConnection, seconds: float) -> None:
    if seconds <= 0:
        raise TimeoutError("no answer in time")
    if connection.sock is not None:  # http.client drops it once a closing server's answer is whole
        connection.sock.settimeout(seconds)
