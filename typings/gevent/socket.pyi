# gevent's socket module mirrors the standard one; its socket class is compatible, not the same.
import socket as _socket
from socket import gaierror as gaierror

class socket(_socket.socket): ...

def create_connection(
    address: tuple[str, int], timeout: float | None = None, source_address: tuple[str, int] | None = None
) -> socket: ...
