"""A balancer in threads, as stands before gateways: connections go to the ready ones in turns, by their /readyz."""

import itertools
import socket
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

_CHUNK = 65536
_LOOK_SECONDS = 0.1


class Backend(NamedTuple):
    """Ports of this machine."""

    port: int
    http_port: int


class TcpBalancer:
    """Listens at `port` within the with statement. `passed`: how many connections each backend was given."""

    def __init__(self, backends: list[Backend]) -> None:
        self._backends = backends
        self._ready = set(backends)
        self._ended = threading.Event()
        self._turns = itertools.count()
        self._lock = threading.Lock()
        self.passed = dict.fromkeys(backends, 0)
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> "TcpBalancer":
        for work in (self._look, self._accept):
            self._begin(work)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()
        for one in self._sockets:
            one.close()

    def ready(self) -> set[Backend]:
        """As of the last look."""
        return set(self._ready)

    def _begin(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            for backend in self._backends:
                if is_ready(backend):
                    self._ready.add(backend)
                else:
                    self._ready.discard(backend)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._begin(self._join, near)

    def _join(self, near: socket.socket) -> None:
        far = self._connected()
        if far is None:
            near.close()
            return
        with self._lock:
            self._sockets += [near, far]
        back = threading.Thread(target=_pass_on, args=(far, near), daemon=True)
        back.start()
        _pass_on(near, far)
        back.join()
        near.close()
        far.close()

    def _connected(self) -> socket.socket | None:
        """To the next ready backend; one that takes no connections is passed over."""
        first = next(self._turns)
        for number in range(len(self._backends)):
            backend = self._backends[(first + number) % len(self._backends)]
            if backend in self._ready:
                with suppress(OSError):
                    far = socket.create_connection(("127.0.0.1", backend.port))
                    with self._lock:
                        self.passed[backend] += 1
                    return far
        return None


def is_ready(backend: Backend) -> bool:
    """As its /readyz says now."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{backend.http_port}/readyz", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
