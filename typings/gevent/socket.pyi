# gevent's socket module mirrors the standard one; its socket class is compatible, not the same.
import socket as _socket
from socket import gaierror as gaierror

class socket(_socket.socket):
    # What it is made of: the system's socket, and what waits until that can be read (None: closed).
    _sock: _socket.socket
    _read_event: object
    def _wait(self, watcher: object) -> None: ...

def create_connection(
    address: tuple[str, int], timeout: float | None = None, source_address: tuple[str, int] | None = None
) -> socket: ...
def getaddrinfo(
    host: str, port: int, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
) -> list[tuple[_socket.AddressFamily, _socket.SocketKind, int, str, tuple[str, int]]]: ...
