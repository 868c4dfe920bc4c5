import socket as _socket
from collections.abc import Callable
from typing import Any

from gevent import socket as _gevent_socket

class StreamServer:
    socket: _socket.socket
    address: tuple[str, int]
    loop: Any
    _timer: Any
    _start_accepting_if_started: Callable[[], None]
    def __init__(
        self,
        listener: tuple[str, int] | _socket.socket,
        handle: Callable[[_gevent_socket.socket, Any], object] | None = None,
        backlog: int | None = None,
        spawn: Any = "default",
    ) -> None: ...
    def start(self) -> None: ...
    def do_read(self) -> tuple[_gevent_socket.socket, Any] | None: ...
    def stop_accepting(self) -> None: ...
    def close(self) -> None: ...
    def stop(self, timeout: float | None = None) -> None: ...
