"""What somebody gets who talks HTTP to this port: one message, after the request was read.

Closing a connection with unread bytes resets it, and the client would see that instead of the message.
"""

from typing import Final

_HEADER_LIMIT: Final = 64 << 10
_BODY_LIMIT: Final = 64 << 20

MESSAGE: Final = (
    "This port speaks HBase's Thrift 1 interface over plain TCP (framed or unframed, binary or compact), not HTTP. "
    'Connect with a Thrift client, for example happybase.Connection("{host}", {port}).\n'
)


class HttpRequest:
    """Fed with what arrives until `complete`."""

    def __init__(self) -> None:
        self._data = b""
        self._body_left = -1
        self.too_large = False

    @property
    def complete(self) -> bool:
        return self.too_large or self._body_left == 0

    def feed(self, data: bytes) -> None:
        if self._body_left >= 0:
            self._body_left = max(0, self._body_left - len(data))
            return
        searched = max(0, len(self._data) - 3)
        self._data += data
        end = self._data.find(b"\r\n\r\n", searched)
        if end < 0:
            self.too_large = len(self._data) > _HEADER_LIMIT
            return
        length = _content_length(self._data[:end])
        self.too_large = end > _HEADER_LIMIT or length > _BODY_LIMIT
        self._body_left = max(0, length - (len(self._data) - end - 4))

    def answer(self, host: str, port: int) -> bytes:
        """Status line, headers and (but for HEAD) the message."""
        method = self._data.split(b" ", 1)[0]
        status = "400 Bad Request"
        if self.too_large:
            status = "413 Content Too Large"
        elif method in (b"TRACE", b"OPTIONS"):
            status = "403 Forbidden"
        elif method == b"POST":
            status = "501 Not Implemented"
        body = MESSAGE.format(host=host, port=port).encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else body)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return 0
