"""A port in front of a server, behind which a request or an answer is lost when it is told so, with its connection."""

import socket
import threading
from contextlib import suppress
from typing import Final, Literal, final

Lost = Literal["lost request", "lost answer"]
_Pair = tuple[socket.socket, socket.socket]
"""A client's connection, and the one to the server that is made for it."""
_KINDS: Final[tuple[Lost, Lost]] = ("lost request", "lost answer")
"""The losses of what comes from the first of a pair, and from the second."""
_CHUNK_BYTES: Final = 65536
_AGAIN_SECONDS: Final = 0.05


@final
class LossyProxy:
    """Passes on what comes at a free port of 127.0.0.1."""

    def __init__(self, target: int) -> None:
        """`target`: a port of this machine."""
        self._target = target
        self._lock = threading.Lock()
        self._to_lose: Lost | None = None
        self._closed = threading.Event()
        self._pairs: dict[_Pair, int] = {}
        """The connections, with how many of the two directions go on. Without any it is closed, and not here."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.lost = {"lost request": 0, "lost answer": 0}
        """The number of those that were lost so far."""
        self.answers = 0
        """The number of pieces of answers that were passed on."""
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, what: Lost | None) -> None:
        """The next one that comes, on whichever connection. None: what was asked for and did not come yet is not
        lost."""
        with self._lock:
            self._to_lose = what

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            self._closed.set()
            for one in (self._listener, *(one for pair in self._pairs for one in pair)):
                _end(one)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:  # closed, or the machine has no socket to give for a moment
                self._closed.wait(_AGAIN_SECONDS)
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # no server for a moment
                near.close()
                continue
            self._connect((near, far))

    def _connect(self, pair: _Pair) -> None:
        for one in pair:
            with suppress(OSError):  # it has ended, as _pass_on sees
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs[pair] = 2
            if self._closed.is_set():
                for one in pair:
                    _end(one)
        for source, kind in zip(pair, _KINDS, strict=True):
            threading.Thread(target=self._pass_on, args=(pair, source, kind), daemon=True).start()

    def _pass_on(self, pair: _Pair, source: socket.socket, kind: Lost) -> None:
        target = pair[1] if source is pair[0] else pair[0]
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if self._loses(kind):
                    break
                target.sendall(data)
        with self._lock:
            for one in pair:
                _end(one)
            self._pairs[pair] -= 1
            if not self._pairs[pair]:
                del self._pairs[pair]
                for one in pair:
                    one.close()

    def _loses(self, kind: Lost) -> bool:
        with self._lock:
            if self._to_lose != kind:
                self.answers += kind == "lost answer"
                return False
            self._to_lose = None
            self.lost[kind] += 1
            return True


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
