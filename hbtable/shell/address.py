"""HOST:PORT, as people give it."""

from typing import Final

EXAMPLE: Final = "127.0.0.1:9090"


def host_and_port(text: str) -> tuple[str, int]:
    """ValueError with a message."""
    host, _, port = text.removeprefix("thrift://").rstrip("/").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")  # an IPv6 address
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no HOST:PORT: a server's address is written as in {EXAMPLE}")
    return host, int(port)
