"""Frames off a socket: a length of 4 bytes, big-endian, then the message; the length is checked before memory is taken.
After both sides agreed on it (handshake.py), the CRC-32 of the message follows, and counts in the length: a byte that
changed on the way, which TCP's own checksum lets pass once in a while, is never taken for what was sent. Between sides
that proved to each other who they are, a tag follows in its place (frame_tags.py).

An empty frame is a server's goodbye (thrift/tabletserver.thrift): it begins nothing more on this connection.
"""

import struct
from collections.abc import Callable
from hmac import compare_digest
from typing import Final, final

from hbtable.crc32 import crc32
from hbtable.errors import Corruption
from hbtable.switches import switches
from hbtable.thrift.frame_tags import TAG_BYTES, TagPair
from hbtable.thrift.wire import EndOfStream

MESSAGE_BYTES: Final = 64 << 20
FRAME_BYTES: Final = MESSAGE_BYTES + (1 << 20)
"""A message of the gateway's largest size, and what surrounds its values here."""
GOODBYE: Final = b"\0\0\0\0"

_CHECKSUM_BYTES: Final = 4
_NUMBER: Final = struct.Struct(">I")
CHUNK_BYTES: Final = 65536
LARGE_CHUNK_BYTES: Final = 1 << 20


def with_checksum(frame: bytes) -> bytes:
    """A plain frame, as it is sent to a peer that checks."""
    message = frame[4:]
    # The new length is that of the whole plain frame: its own four bytes are as many as a checksum has.
    return b"".join((_NUMBER.pack(len(frame)), message, _NUMBER.pack(crc32(message))))


class FrameTooLarge(Exception):
    """A frame is longer than it may be. `have`: the bytes of it that have arrived; `length`: its length."""

    def __init__(self, have: bytes, length: int) -> None:
        super().__init__(f"{have[:16]!r} announces {length} bytes")
        self.have = have
        self.length = length


def chunk_bytes(missing: int) -> int:
    """The number of bytes to receive at a time while so many are missing."""
    return CHUNK_BYTES if missing < CHUNK_BYTES else LARGE_CHUNK_BYTES


@switches
def whole_frame(have: bytes, limit_bytes: int, gather: Callable[[bytes, int], bytes]) -> tuple[bytes, int]:
    """(`have` with a whole frame at its beginning, where that ends). `gather` is given what is there, and returns at
    least so many bytes. FrameTooLarge before any memory is taken for it."""
    if len(have) < 4:
        have = gather(have, 4)
    length = int.from_bytes(have[:4], "big")
    if length > limit_bytes:
        raise FrameTooLarge(have, length)
    end = 4 + length
    return (have if len(have) >= end else gather(have, end)), end


@final
class Frames:
    """The frames that arrive on one connection. `begin` and `go_on` receive at most so many bytes, b"" at the end: the
    first of a frame, for which one may wait as long as it takes, and the others. `pause` lets other tasks run: a peer
    that sends faster than we receive never makes us wait."""

    __slots__ = ("_begin", "_go_on", "_pause", "checked", "limit_bytes", "rest", "tags")

    def __init__(
        self,
        begin: Callable[[int], bytes],
        go_on: Callable[[int], bytes],
        limit_bytes: int,
        pause: Callable[[], None],
    ) -> None:
        self._begin = begin
        self._go_on = go_on
        self._pause = pause
        self.limit_bytes = limit_bytes
        """Of a message."""
        self.checked = False
        """Whether frames end with their checksum."""
        self.tags: TagPair | None = None
        """With them frames end with their tag instead."""
        self.rest = b""
        """Bytes of the next frame that have arrived."""

    @switches
    def next(self) -> bytes | None:
        """*Switches.* None when the peer has ended, also in the middle of a frame. Corruption when the frame says that
        it is too long, or its checksum or its tag does not match: nothing that follows can be read."""
        have = self.rest or self._begin(CHUNK_BYTES)
        if not have:
            return None
        try:
            have, end = whole_frame(have, self.limit_bytes + TAG_BYTES, self._gather)
        except FrameTooLarge as error:
            raise Corruption("a message", 0, f"{error}, more than the {self.limit_bytes} allowed") from error
        except EndOfStream:
            return None
        self.rest = have[end:]
        if self.tags is not None:
            return self._with_right_tag(have[4:end], self.tags)
        if not self.checked or end == 4:
            return have[4:end]
        message = have[4 : end - _CHECKSUM_BYTES]
        if end - 4 < _CHECKSUM_BYTES or self._checksum(message) != _NUMBER.unpack_from(have, end - _CHECKSUM_BYTES)[0]:
            raise Corruption("a message", 0, f"the checksum of its {end - 4} bytes does not match")
        return message

    @switches
    def outgoing(self, frame: bytes) -> bytes:
        """A plain frame as it is to be sent now: with its tag, its checksum, or as it is."""
        if self.tags is not None:
            message = frame[4:]
            tag = self.tags.sent.next(message, self._pause)
            return b"".join((_NUMBER.pack(len(message) + TAG_BYTES), message, tag))
        return with_checksum(frame) if self.checked else frame

    def goodbye(self) -> bytes:
        """The frame of a goodbye, to be sent now. It has no checksum. Does not switch."""
        return GOODBYE if self.tags is None else _NUMBER.pack(TAG_BYTES) + self.tags.sent.next_empty()

    @switches
    def _with_right_tag(self, data: bytes, tags: TagPair) -> bytes:
        message, tag = data[:-TAG_BYTES], data[-TAG_BYTES:]
        if not compare_digest(tags.received.next(message, self._pause), tag):
            raise Corruption("a message", 0, f"the tag of its {len(data)} bytes does not match")
        return message

    @switches
    def _gather(self, have: bytes, count: int) -> bytes:
        """`have` and more, `count` bytes at least. Memory grows as bytes arrive."""
        gathered = bytearray(have)
        next_pause = len(gathered) + LARGE_CHUNK_BYTES
        while len(gathered) < count:
            piece = self._go_on(chunk_bytes(count - len(gathered)))
            if not piece:
                raise EndOfStream("the peer ended in the middle of a message")
            gathered += piece
            if len(gathered) >= next_pause:
                next_pause = len(gathered) + LARGE_CHUNK_BYTES
                self._pause()
        return bytes(gathered)

    @switches
    def _checksum(self, message: bytes) -> int:
        if len(message) <= LARGE_CHUNK_BYTES:
            return crc32(message)
        checksum, view = 0, memoryview(message)
        for first in range(0, len(message), LARGE_CHUNK_BYTES):
            checksum = crc32(view[first : first + LARGE_CHUNK_BYTES], checksum)
            self._pause()
        return checksum
