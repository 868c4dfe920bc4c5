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
from hbtable.thrift.gathered import Gathered, Join
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
def whole_frame(
    have: bytes, limit_bytes: int, gather: Callable[[bytes, int, int], tuple[bytes, bytes]], end_bytes: int = 0
) -> tuple[bytes, bytes, bytes]:
    """(the message, the last `end_bytes` of its frame, what is behind it) of the frame at the beginning of `have`.
    `gather(have, count, first)` is given what is there, waits for `count` bytes at least, and parts the first ones from
    the others. FrameTooLarge before any memory is taken for the frame."""
    if len(have) < 4:
        have = b"".join(gather(have, 4, 4))
    length = int.from_bytes(have[:4], "big")
    if length > limit_bytes:
        raise FrameTooLarge(have, length)
    message_bytes = max(0, length - end_bytes)
    if len(have) >= 4 + length:
        end = 4 + message_bytes
        return have[4:end], have[end : 4 + length] if end_bytes else b"", have[4 + length :]
    message, behind = gather(have[4:], length, message_bytes)
    end = length - message_bytes
    return message, behind[:end], behind[end:]


@final
class Frames:
    """The frames that arrive on one connection. `begin` and `go_on` receive at most so many bytes, b"" at the end: the
    first of a frame, for which one may wait as long as it takes, and the others. `pause` lets other tasks run: a peer
    that sends faster than we receive never makes us wait. `join` puts the pieces of large ones together."""

    __slots__ = ("_begin", "_go_on", "_join", "_pause", "checked", "limit_bytes", "rest", "tags")

    def __init__(
        self,
        begin: Callable[[int], bytes],
        go_on: Callable[[int], bytes],
        limit_bytes: int,
        pause: Callable[[], None],
        join: Join = b"".join,
    ) -> None:
        self._begin = begin
        self._go_on = go_on
        self._pause = pause
        self._join = join
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
        length = len(have) - 4
        if self.checked and self.tags is None and _CHECKSUM_BYTES <= length <= min(CHUNK_BYTES, self.limit_bytes):
            message = have[4:-4]  # the usual one: a small frame that has come whole and alone
            if have.startswith(_NUMBER.pack(length)) and have.endswith(_NUMBER.pack(crc32(message))):
                self.rest = b""
                return message
        try:
            message, end, self.rest = whole_frame(have, self.limit_bytes + TAG_BYTES, self._gather, self._end_bytes())
        except FrameTooLarge as error:
            raise Corruption("a message", 0, f"{error}, more than the {self.limit_bytes} allowed") from error
        except EndOfStream:
            return None
        if self.tags is not None:
            self._check_tag(message, end, self.tags)
        elif self.checked and (message or end) and end != self._checksum_of(message):  # a goodbye has none
            raise Corruption("a message", 0, f"the checksum of its {len(message) + len(end)} bytes does not match")
        return message

    def _end_bytes(self) -> int:
        if self.tags is not None:
            return TAG_BYTES
        return _CHECKSUM_BYTES if self.checked else 0

    @switches
    def outgoing(self, frame: bytes) -> bytes:
        """A plain frame as it is to be sent now: with its tag, its checksum, or as it is."""
        if self.tags is None and not self.checked:
            return frame
        if len(frame) > LARGE_CHUNK_BYTES:
            return self._large_outgoing(frame)
        if self.tags is None:
            return with_checksum(frame)
        message = frame[4:]
        tag = self.tags.sent.next(message, self._pause)
        return b"".join((_NUMBER.pack(len(message) + TAG_BYTES), message, tag))

    @switches
    def _large_outgoing(self, frame: bytes) -> bytes:
        with memoryview(frame) as whole, whole[4:] as message:
            if self.tags is None:
                end = self._checksum_of(message)
            else:
                end = self.tags.sent.next(message, self._pause)
            pieces = [_NUMBER.pack(len(message) + len(end))]
            for first in range(0, len(message), LARGE_CHUNK_BYTES):
                pieces.append(bytes(message[first : first + LARGE_CHUNK_BYTES]))
                self._pause()
        return self._join([*pieces, end])

    def goodbye(self) -> bytes:
        """The frame of a goodbye, to be sent now. It has no checksum. Does not switch."""
        return GOODBYE if self.tags is None else _NUMBER.pack(TAG_BYTES) + self.tags.sent.next_empty()

    @switches
    def _check_tag(self, message: bytes, tag: bytes, tags: TagPair) -> None:
        if not compare_digest(tags.received.next(message, self._pause), tag):
            raise Corruption("a message", 0, f"the tag of its {len(message) + len(tag)} bytes does not match")

    @switches
    def _gather(self, have: bytes, count: int, first: int) -> tuple[bytes, bytes]:
        """The first bytes of `have` and more, and those behind them, `count` at least together. Memory grows as bytes
        arrive."""
        gathered = Gathered(have)
        next_pause = gathered.size + LARGE_CHUNK_BYTES
        while gathered.size < count:
            piece = self._go_on(chunk_bytes(count - gathered.size))
            if not piece:
                raise EndOfStream("the peer ended in the middle of a message")
            gathered.add(piece)
            if gathered.size >= next_pause:
                next_pause = gathered.size + LARGE_CHUNK_BYTES
                self._pause()
        return gathered.split(first, self._join)

    @switches
    def _checksum_of(self, message: bytes | memoryview) -> bytes:
        if len(message) <= LARGE_CHUNK_BYTES:
            return _NUMBER.pack(crc32(message))
        checksum, view = 0, memoryview(message)
        for first in range(0, len(message), LARGE_CHUNK_BYTES):
            checksum = crc32(view[first : first + LARGE_CHUNK_BYTES], checksum)
            self._pause()
        return _NUMBER.pack(checksum)
