"""Bytes of one connection, message by message, with a limit that holds before memory is taken.

`data` is contiguous and `position` is where decoding goes on. Fast readers index `data` directly and give up when it
ends early; careful readers use take(), which waits for what is missing. Unframed: message ends are known only by
decoding, so every byte that take() waits for is counted. Framed: the length is checked before the frame is read.
"""

from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.hbase.wire import EndOfStream, Malformed, MessageTooLarge

_CHUNK: Final = 65536
_LARGE_CHUNK: Final = 1 << 20


class Stream(Protocol):
    """A connected socket. recv and sendall *switch*; all may raise OSError when the client went away."""

    def recv(self, most: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    def close(self) -> None: ...


@final
class MessageInput:
    """Reads messages of at most `limit_bytes` from `stream`; `first` are bytes that were read already.

    `pause` gives other tasks a turn. A client silent for `stall_seconds` in the middle of a message raises
    TimeoutError; between messages it may be silent for ever.
    """

    __slots__ = (
        "_base", "_elements", "_pause", "_rest", "_stall_seconds", "_stream", "begin", "data", "framed", "limit_bytes",
        "position",
    )  # fmt: skip

    def __init__(
        self,
        stream: Stream,
        limit_bytes: int,
        stall_seconds: float,
        pause: Callable[[], None],
        framed: bool = False,
        first: bytes = b"",
    ) -> None:
        self._stream = stream
        self._stall_seconds = stall_seconds
        self._pause = pause
        self._base = 0  # bytes of this message that were dropped from `data`
        self._elements = 0
        self._rest = first if framed else b""
        self.limit_bytes = limit_bytes
        self.framed = framed
        self.data = b"" if framed else first
        self.position = 0
        self.begin: Callable[[], bool] = self._begin_frame if framed else self._begin_unframed
        """Goes on to the next message; False when the client closed between messages. *Switches.*"""

    def message_bytes(self) -> int:
        """Bytes of the current message decoded so far."""
        return self._base + self.position

    def _begin_unframed(self) -> bool:
        data = self.data
        if self.position < len(data):
            self.data = data[self.position :]  # the client did not wait for our answer to send on
        else:
            self.data = self._stream.recv(_CHUNK)
            if not self.data:
                return False
        self.position = 0
        self._base = 0
        self._elements = 0
        return True

    def _begin_frame(self) -> bool:
        rest = self._rest or self._stream.recv(_CHUNK)
        if not rest:
            return False
        if len(rest) < 4:
            rest = self._gather(rest, 4)
        length = int.from_bytes(rest[:4], "big")
        self.position = 0
        self._base = 0
        self._elements = 0
        if length > self.limit_bytes:
            self.data = rest[4:]  # so that the answer can carry the call's name and number
            raise MessageTooLarge(f"a frame of {length} bytes is over this server's limit of {self.limit_bytes}")
        if len(rest) < 4 + length:
            rest = self._gather(rest, 4 + length)
        self.data = rest[4 : 4 + length]
        self._rest = rest[4 + length :]
        return True

    def take(self, count: int) -> bytes:
        """The next `count` bytes. *Switches* when they have not arrived. Raises WireError, OSError."""
        end = self.position + count
        if end > len(self.data):
            self._fill(count)
            end = self.position + count
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def skip(self, count: int) -> None:
        """Past the next `count` bytes without keeping them."""
        while count > _LARGE_CHUNK:
            self.take(_LARGE_CHUNK)
            count -= _LARGE_CHUNK
        self.take(count)

    def count(self, elements: int) -> None:
        """Announces a container before it is read. MessageTooLarge when it cannot fit, or when the message has more
        elements in all than a sixteenth of its limit in bytes: empty structs of one byte each become objects of a
        hundred, and a message must not cost many times its size."""
        self._elements += elements
        if self._elements > self.limit_bytes // 16:
            raise MessageTooLarge(
                f"a message of {self._elements} elements or more is over this server's limit of "
                f"{self.limit_bytes // 16}; send it in parts"
            )

    def pause(self) -> None:
        """Lets other tasks run; readers of long lists call it now and then. *Switches.*"""
        self._pause()

    def discard(self, most: int, seconds: float) -> None:
        """Reads and forgets until the client stops sending. Closing with unread bytes would reset the connection,
        and the client would never see the answer that tells it why."""
        self._stream.settimeout(seconds)
        try:
            while most > 0:
                chunk = self._stream.recv(_LARGE_CHUNK)
                if not chunk:
                    return
                most -= len(chunk)
        except OSError:
            return

    def _fill(self, count: int) -> None:
        if self._base + self.position + count > self.limit_bytes:
            raise MessageTooLarge(f"the message is over this server's limit of {self.limit_bytes} bytes")
        if self.framed:
            raise Malformed("a message goes on behind the end of its frame")
        rest = self.data[self.position :]
        self._base += self.position
        self.position = 0
        self.data = self._gather(rest, count)

    def _gather(self, have: bytes, count: int) -> bytes:
        """`have` and more, at least `count` bytes. Memory grows only as bytes arrive."""
        pieces = [have]
        missing = count - len(have)
        stream = self._stream
        stream.settimeout(self._stall_seconds)
        while missing > 0:
            piece = stream.recv(_CHUNK if missing < _CHUNK else _LARGE_CHUNK)
            if not piece:
                raise EndOfStream("the client closed the connection in the middle of a message")
            pieces.append(piece)
            missing -= len(piece)
        stream.settimeout(None)
        return b"".join(pieces)
