"""A port in front of a server, behind which a request or an answer is lost when it is told so, with its connection."""

import socket
import threading
from contextlib import suppress
from typing import Final, Literal, final

Lost = Literal["lost request", "lost answer"]
_CHUNK_BYTES: Final = 65536


@final
class LossyProxy:
    """Passes on what comes at a free port of 127.0.0.1."""

    def __init__(self, target: int) -> None:
        """`target`: a port of this machine."""
        self._target = target
        self._lock = threading.Lock()
        self._to_lose: Lost | None = None
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.lost = {"lost request": 0, "lost answer": 0}
        """The number of those that were lost so far."""
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, what: Lost | None) -> None:
        """The next one that comes, on whichever connection. None: what was asked for and did not come yet is not
        lost."""
        with self._lock:
            self._to_lose = what

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for one in (self._listener, *sockets):
            _end(one)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # no server for a moment
                    near.close()
                    continue
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._sockets |= {near, far}
                for ways in ((near, far, "lost request"), (far, near, "lost answer")):
                    threading.Thread(target=self._pass_on, args=ways, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, kind: Lost) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if self._loses(kind):
                    break
                target.sendall(data)
        for one in (source, target):
            _end(one)

    def _loses(self, kind: Lost) -> bool:
        with self._lock:
            if self._to_lose != kind:
                return False
            self._to_lose = None
            self.lost[kind] += 1
            return True


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
