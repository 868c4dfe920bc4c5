"""The messages of a SASL negotiation, as Thrift's TSaslTransport frames them: a status, 4 bytes of length, content."""

import struct
from collections.abc import Callable
from typing import Final, final

from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

START: Final = 1
OK: Final = 2
BAD: Final = 3
"""The client is not let in, however often it tries."""

ERROR: Final = 4
"""The server cannot say now whether it is let in. Clients treat it as BAD unless they know better."""

COMPLETE: Final = 5
RESPONSE_BYTES: Final = 8192
_HEAD: Final = struct.Struct(">BI")


class SaslRefused(Exception):
    """The text is for the client."""


@final
class SaslMessages:
    """The negotiation's frames. All of it must be over in time, however slowly its bytes drip in."""

    def __init__(self, stream: Stream, first: bytes, clock: Callable[[], float], seconds: float) -> None:
        self.rest = first
        self._stream = stream
        self._clock = clock
        self._until = clock() + seconds
        stream.settimeout(seconds)

    @switches
    def receive(self, due: tuple[int, ...], most: int) -> tuple[int, bytes]:
        """(status, content). EOFError: the client left, or gave up. TimeoutError."""
        status, size = _HEAD.unpack(self._take(_HEAD.size))
        if status not in due:
            raise SaslRefused(f"a message of SASL has the status {status}, where {' or '.join(map(str, due))} is due")
        if size > most:
            raise SaslRefused(f"a message of SASL has {size} bytes, and {most} at most are due")
        return status, self._take(size)

    @switches
    def send(self, status: int, content: bytes) -> None:
        self._stream.sendall(_HEAD.pack(status, len(content)) + content)

    @switches
    def _take(self, size: int) -> bytes:
        while len(self.rest) < size:
            if self._clock() >= self._until:
                raise TimeoutError("the negotiation of SASL takes too long")
            piece = self._stream.recv(RESPONSE_BYTES)
            if not piece:
                raise EOFError
            self.rest += piece
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken
