"""A TCP proxy in threads, whose way can be cut while every socket stays open: what a broken network looks like."""

import socket
import threading
from collections import defaultdict
from contextlib import suppress
from types import TracebackType

_CHUNK = 65536


class TcpProxy:
    """Takes connections at (host, port) and passes them on to `target`, until cut(). mend() lets everything pass again;
    what connected or was sent meanwhile arrives then."""

    def __init__(self, host: str, port: int, target: tuple[str, int]) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._ended = False
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._passed: defaultdict[int, int] = defaultdict(int)
        """Bytes, by the thread that passed them on."""
        self._listener = socket.create_server((host, port))
        self._listener.settimeout(0.1)
        self._begin(self._accept)

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    def passed_bytes(self) -> int:
        """Both ways, in all connections so far."""
        return sum(list(self._passed.values()))

    def __enter__(self) -> "TcpProxy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended = True
        self._open.set()
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()
        self._listener.close()
        for one in self._sockets:
            one.close()

    def _begin(self, function: object, *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._ended:
            self._open.wait()
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._sockets.append(near)
            near.settimeout(None)
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            self._sockets.append(far)
            self._begin(self._pass_on, near, far)
            self._begin(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                self._open.wait()
                target.sendall(data)
                self._passed[threading.get_ident()] += len(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
