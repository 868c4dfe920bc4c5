"""Requests that a proxy may read in another way than this port: refused, because what one takes for a body the other
may take for the next request (request smuggling). h11 takes them, as HTTP lets a server do.

The bytes are looked at as they came: h11 gives out heads that are mended already.
"""

import re
from typing import Final, final

import h11

_LOOSE_LINE: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_FOLDED: Final = re.compile(rb"\n[ \t]")
_NO_REQUEST_LINE: Final = re.compile(rb"(?![!#-'*+.0-9A-Z^_`a-z|~-]+ [^ \r\n]+ HTTP/\d\.\d\r?\n)[^\n]*\n")
_END: Final = b"\r\n\r\n"


@final
class RawRequest:
    """The bytes of the current request that are looked at: its head, and its last ones."""

    __slots__ = ("_in_body", "_looked_at", "_raw")

    def __init__(self) -> None:
        self._raw = bytearray()
        self._in_body = False
        self._looked_at = 0
        """Bytes without an end of a line: a first line may come in 64,000 pieces."""

    def begin(self, rest: bytes) -> None:
        """Another request; `rest` came with the one before."""
        self._raw = bytearray(rest)
        self._in_body = False
        self._looked_at = 0

    def add(self, piece: bytes) -> None:
        """Bytes that came, before they are parsed."""
        if self._in_body:
            del self._raw[: -len(_END)]
        self._raw += piece

    def is_hopeless(self) -> bool:
        """Whether the first line is there, and is none of HTTP: who sends it may wait for an answer to it."""
        if self._in_body or self._raw.find(b"\n", self._looked_at) < 0:
            self._looked_at = len(self._raw)
            return False
        return _NO_REQUEST_LINE.match(self._raw) is not None

    def fault_of_head(self, request: h11.Request, rest: bytes) -> str:
        """A sentence; nothing when there is only one way to read the head. `rest`: what came behind it."""
        head = bytes(self._raw[: len(self._raw) - len(rest)])
        self._raw = bytearray(head[-len(_END) :] + rest)
        self._in_body = True
        if _LOOSE_LINE.search(head):
            return "a line of its head does not end in CR LF"
        if _FOLDED.search(head):
            return "a line of its head begins with a blank"
        lengths = sum(name == b"content-length" for name, _ in request.headers)
        if any(name == b"transfer-encoding" for name, _ in request.headers):
            if lengths:
                return "it has both a Content-Length and a Transfer-Encoding"
            if request.http_version < b"1.1":
                return f"HTTP/{request.http_version.decode()} knows no Transfer-Encoding"
        return ""

    def fault_of_end(self, end: h11.EndOfMessage, rest: bytes) -> str:
        """A sentence about the end of a body in chunks; nothing when there is only one way to read it."""
        if end.headers:
            return "header fields follow its body"
        if bytes(self._raw[: len(self._raw) - len(rest)])[-len(_END) :] != _END:
            return "its last chunk does not end in CR LF"
        return ""
