import socket
from typing import Any

class KazooTimeoutError(Exception): ...

class AsyncResult:
    def get(self, block: bool = ..., timeout: float | None = ...) -> Any: ...

class SequentialThreadingHandler:
    def create_connection(self, *args: Any, **kwargs: Any) -> socket.socket: ...
