"""A small HTTP server for status pages and metrics: any WSGI callable over gevent.pywsgi.

Requests are not logged (a scraper would fill the log); failures of the application are.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, final

from gevent.pywsgi import WSGIServer

from hbtable.runtime.sockets import listen

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


def serve_http(host: str, port: int, application: Application) -> HttpListener:
    """Listens at once. Port 0 is any free port. Unavailable when the port is taken."""
    server = WSGIServer(listen(host, port, _BACKLOG), _guarded(application), log=None, error_log=_ErrorLog())
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
