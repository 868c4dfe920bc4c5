import socket as _socket
from collections.abc import Callable, Iterable
from typing import Any

class WSGIHandler:
    socket: _socket.socket
    def handle(self) -> None: ...

class WSGIServer:
    socket: _socket.socket
    address: tuple[str, int]
    def __init__(
        self,
        listener: tuple[str, int] | _socket.socket,
        application: Callable[[dict[str, Any], Any], Iterable[bytes]] | None = None,
        backlog: int | None = None,
        spawn: Any = "default",
        log: Any = "default",
        error_log: Any = "default",
        handler_class: type[WSGIHandler] | None = None,
    ) -> None: ...
    def start(self) -> None: ...
    def stop_accepting(self) -> None: ...
    def close(self) -> None: ...
    def stop(self, timeout: float | None = None) -> None: ...
