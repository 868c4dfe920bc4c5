"""A small HTTP server for status pages and metrics: any WSGI callable over gevent.pywsgi.

Requests are not logged (a scraper would fill the log); failures of the application are.

Nobody holds the port: a request has a deadline from its first line to the last byte of its answer, a connection without
one is closed after a while, and when too many are open the address that holds most loses one (occupancy.py).
"""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from socket import SHUT_RDWR, socket
from typing import Any, Final, final

import gevent
from gevent.pywsgi import WSGIHandler, WSGIServer

from hbtable.runtime.network.occupancy import Occupancy
from hbtable.runtime.network.sockets import listen
from hbtable.switches import switches

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]
"""A WSGI application: (environ, start_response) -> the body's pieces. It runs as a task, and may switch."""

_BACKLOG: Final = 128

_log = logging.getLogger(__name__)


@final
class HttpListener:
    """A listening HTTP port."""

    def __init__(self, host: str, server: WSGIServer) -> None:
        self.host = host
        self.port = int(server.address[1])
        self._server = server

    def close(self) -> None:
        """Stops accepting. Requests under way are finished; idle connections end with the process. Idempotent."""
        self._server.close()


@final
class _ErrorLog:
    """The file-like object that pywsgi writes its complaints to."""

    def write(self, text: str) -> None:
        if text.strip():
            _log.warning("%s", text.strip())

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Logging needs none."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Limits of a page's clients: people, supervisors and scrapers, each with a connection or two."""

    connections: int = 256
    idle_seconds: float = 75.0
    """From the opening, or from an answer, to the end of the next request's first line. Longer than scrapers wait."""
    request_seconds: float = 10.0
    """For the rest of a request, and for taking its answer."""


@final
class _Handler(WSGIHandler):
    """One connection; an occupancy.Guest. Its end is a shutdown of the socket: who reads sees the end of the input, and
    who writes that the client is gone."""

    server: "_Server"
    working = False
    """Always: an answer is short, and who does not take it may be turned out."""

    def __init__(self, sock: socket, address: tuple[str, int], server: "_Server") -> None:
        super().__init__(sock, address, server)
        self.host = str(address[0])
        self.idle_since = time.monotonic()
        self.answered = False
        self._deadline: gevent.Greenlet | None = None

    @switches
    def handle(self) -> None:
        server = self.server
        if not server.occupancy.admit(self, server.options.connections):
            return
        try:
            super().handle()
        except OSError:
            pass  # the client went away, or was turned out: no error of ours
        finally:
            self._end_within(None)
            server.occupancy.leave(self)

    @switches
    def read_requestline(self) -> str:
        options = self.server.options
        self._end_within(options.idle_seconds)
        line = super().read_requestline()
        self._end_within(options.request_seconds)
        return line

    @switches
    def read_request(self, raw_requestline: str) -> Any:
        try:
            return super().read_request(raw_requestline)
        except OSError:  # a reset in the middle, of which pywsgi would print a traceback
            return None

    @switches
    def handle_one_response(self) -> None:
        super().handle_one_response()
        self.answered = True
        self.idle_since = time.monotonic()

    def log_error(self, msg: str, *args: object) -> None:
        """Requests that are none: lines about them would fill the log. The application's failures are logged below."""

    def turn_out(self, most: int) -> None:
        self._end()

    def _end_within(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.kill(block=False)
        self._deadline = None if seconds is None else gevent.spawn_later(seconds, self._end)

    def _end(self) -> None:
        connected = getattr(self, "socket", None)
        if connected is not None:
            with suppress(OSError):
                # The socket below gevent's: its own shutdown raises in whoever reads, and pywsgi prints that.
                connected._sock.shutdown(SHUT_RDWR)


@final
class _Server(WSGIServer):
    handler_class = _Handler
    options: HttpOptions
    occupancy: Occupancy[_Handler]


@switches
def serve_http(host: str, port: int, application: Application, options: HttpOptions | None = None) -> HttpListener:
    """Listens at once. Port 0 is any free port. Unavailable when the port is taken."""
    server = _Server(listen(host, port, _BACKLOG), _guarded(application), log=None, error_log=_ErrorLog())
    server.options = options or HttpOptions()
    server.occupancy = Occupancy()
    server.start()
    return HttpListener(host, server)


def _guarded(application: Application) -> Application:
    """Answers 500 and logs where the application fails; gevent would print a traceback to stderr."""

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            return application(environ, start_response)
        except Exception as error:  # noqa: BLE001  the last resort: a page's failure must not end the connection
            _log.error("%s failed: %s", environ.get("PATH_INFO"), error, exc_info=error)
            start_response("500 Internal Server Error", [("Content-Type", "text/plain")])
            return [b"this page failed; the server's log says why\n"]

    return answer
